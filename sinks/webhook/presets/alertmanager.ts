import { partsOf } from './parts.ts'
import type { Preset } from './preset.ts'
import { isOver } from './subject.ts'

const DAY_MS = 86_400_000

/**
 * An alert for Alertmanager's API v2. Its labels name rule and object and nothing that changes, so that the alert that ends is
 * the one that began.
 */
export const alertmanager: Preset = {
  markup: {},
  concurrency: 8,
  maxBytes: 1_000_000,
  body(message, { resolveAfterMs = DAY_MS, labels = {} }, cut) {
    const { event, rule } = message
    const { about } = message.words
    const parts = partsOf(message)
    const over = isOver(message)
    const timeMs = Date.parse(event.time)
    const endsAt = over ? event.time : new Date(timeMs + resolveAfterMs).toISOString()
    const told = {
      summary: cut(parts.headline, 1_000),
      severity: parts.severity,
      description: cut([parts.text, parts.quote].filter(Boolean).join('\n'), 8_000),
      changes: cut(parts.changes, 2_000),
      command: cut(parts.command, 500),
      reason: event.event?.reason ?? '',
      id: message.id,
      ...Object.fromEntries(parts.links.slice(1).map((it, i) => [`link_${i + 2}`, `${it.title}: ${it.url}`])),
    }
    return [
      {
        labels: present({
          alertname: rule,
          cluster: event.cluster,
          namespace: about.namespace ?? '',
          kind: about.kind,
          name: about.name,
          ...labels,
        }),
        annotations: present(told),
        // Of an alert that ends only its end is told: when it began is known there.
        ...(!over && { startsAt: event.time }),
        endsAt,
        ...(parts.links[0] && { generatorURL: parts.links[0].url }),
      },
    ]
  },
}

function present(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''))
}
