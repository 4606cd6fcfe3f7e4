import { type Message, timeOf } from '../../../src/sink/index.ts'
import { cutLog, isOver, partsOf } from './parts.ts'
import type { MessagePreset } from './preset.ts'

const DAY_MS = 86_400_000
/** How far Alertmanager's clock may be behind ours. */
const CLOCKS_DIFFER_MS = 60_000

/**
 * An alert for Alertmanager's API v2. Its labels name rule and object and nothing that changes, so that the alert that ends is
 * the one that began.
 */
export const alertmanager: MessagePreset = {
  markup: {},
  concurrency: 8,
  maxBytes: 1_000_000,
  body(message, { resolveAfterMs = DAY_MS, labels = {} }, cut, nowMs) {
    const { event, rule, suppressed } = message
    const { about } = message.summary
    const parts = partsOf(message)
    const over = isOver(message)
    // Alertmanager takes an alert that ends in the past as one that is resolved, and notifies nobody: it lasts from its delivery on.
    const fromMs = Math.max(Date.parse(timeOf(message)), nowMs)
    // One that ends in the future, by Alertmanager's clock, does not end the one that it has: the later end counts.
    const overMs = Math.min(Date.parse(timeOf(message)), nowMs - CLOCKS_DIFFER_MS)
    const endsAt = new Date(over ? overMs : fromMs + resolveAfterMs).toISOString()
    const content = {
      summary: cut(parts.headline, 1_000),
      severity: parts.severity,
      description: cut([parts.text, parts.quote].filter(Boolean).join('\n'), 8_000),
      logs: cutLog(parts.logs, 4_000, cut),
      changes: cut(parts.changes, 2_000),
      command: cut(parts.command, 500),
      reason: event.event?.reason ?? '',
      suppressed: suppressed ? String(suppressed.count) : '',
      id: message.id,
      ...Object.fromEntries(parts.links.slice(1).map((it, i) => [`link_${i + 2}`, `${it.title}: ${it.url}`])),
    }
    return [
      {
        labels: present({
          ...labelsOf(message),
          alertname: rule,
          cluster: event.cluster,
          namespace: about.namespace ?? '',
          kind: about.kind,
          name: about.name,
          ...labels,
        }),
        annotations: present(content),
        // Alertmanager knows when a resolved alert began.
        ...(!over && { startsAt: event.time }),
        endsAt,
        ...(parts.links[0] && { generatorURL: parts.links[0].url }),
      },
    ]
  },
}

/**
 * Returns the rule's labels with valid Prometheus names, and the group key of a digest, which has no single object.
 */
function labelsOf({ labels, notice }: Message): Record<string, string> {
  const group =
    notice?.kind === 'digest' ? notice.by.map(([name, value]) => `${name}=${value}`).join(', ') : ''
  const ours = Object.entries(labels).map(([name, value]) => [labelName(name), value])
  return { ...Object.fromEntries(ours), group }
}

function labelName(name: string): string {
  return name.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d)/, '_')
}

function present(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''))
}
