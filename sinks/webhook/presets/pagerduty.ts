import type { Outcome, Reply, Severity } from '../../../src/sink/index.ts'
import { memberOf } from './answers.ts'
import { boundedKey, cutLog, isOver, partsOf, subjectKey } from './parts.ts'
import { type MessagePreset, withPath } from './preset.ts'

const MAX_SUMMARY = 1_024
const MAX_KEY = 255
const SEVERITIES: Readonly<Record<Severity, string>> = {
  error: 'error',
  warning: 'warning',
  info: 'info',
  resolved: 'info',
}

/** An event of PagerDuty's Events API v2. One object and rule is one incident, which ends when it is over. */
export const pagerduty: MessagePreset = {
  markup: {},
  url: () => new URL('https://events.pagerduty.com'),
  // Another path is that of a gateway.
  target: (base) => (base.pathname === '/' ? withPath(base, '/v2/enqueue') : base),
  answer: wrongKey,
  concurrency: 4,
  maxBytes: 512_000,
  body(message, { routingKey, action = 'auto' }, cut) {
    const done = action === 'auto' ? (isOver(message) ? 'resolve' : 'trigger') : action
    const event = {
      routing_key: routingKey,
      event_action: done,
      dedup_key: boundedKey(`${subjectKey(message)}/${message.rule}`, MAX_KEY),
    }
    if (done !== 'trigger') return event
    const { event: header, rule } = message
    const { about } = message.summary
    const parts = partsOf(message)
    return {
      ...event,
      client: 'kubeherald',
      payload: {
        summary: cut(parts.headline, MAX_SUMMARY),
        source: cut([header.cluster, about.namespace, about.kind, about.name].filter(Boolean).join('/'), 500),
        severity: SEVERITIES[parts.severity],
        timestamp: header.time,
        component: cut([about.kind, about.name].filter(Boolean).join('/') || rule, 500),
        ...(about.namespace && { group: about.namespace }),
        class: cut(header.event?.reason || header.kind, 200),
        custom_details: {
          cluster: header.cluster,
          rule,
          ...(parts.text && { text: cut(parts.text, 4_000) }),
          ...(parts.quote && { message: cut(parts.quote, 8_000) }),
          ...(parts.logs && { logs: cutLog(parts.logs, 8_000, cut) }),
          ...(parts.changes && { changes: cut(parts.changes, 2_000) }),
          ...(parts.command && { command: cut(parts.command, 500) }),
          ...(parts.fields.length > 0 && {
            fields: parts.fields.map(({ title, value }) => `${cut(title, 100)}: ${cut(value, 1_000)}`),
          }),
          ...(Object.keys(message.labels).length > 0 && { labels: message.labels }),
          ...(message.notice?.kind === 'digest' && { count: message.notice.count }),
          id: message.id,
        },
      },
      ...(parts.links.length > 0 && {
        links: parts.links.map(({ title, url }) => ({ href: url, text: cut(title, 100) })),
      }),
    }
  },
}

/** PagerDuty answers a wrong key with the status of an invalid event. The operator must correct the key, so the sink waits. */
function wrongKey({ status, body }: Reply): Outcome | undefined {
  const errors = String(memberOf(body, 'errors') ?? '')
  if (status !== 400 || !/routing.key/i.test(errors)) return undefined
  return { kind: 'retry', reason: 'config', detail: `HTTP 400: ${body.slice(0, 500)}`, scope: 'sink' }
}
