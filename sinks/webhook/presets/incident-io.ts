import { boundedKey, cutLog, isOver, partsOf, subjectKey } from './parts.ts'
import type { MessagePreset } from './preset.ts'

const MAX_KEY = 255

/** An event for an HTTP alert source of incident.io. One object and rule is one alert, which is resolved when it is over. */
export const incidentIo: MessagePreset = {
  markup: {},
  concurrency: 4,
  maxBytes: 200_000,
  headers: ({ token = '' }) => ({ authorization: `Bearer ${token}` }),
  body(message, _options, cut) {
    const { event, rule, labels, summary } = message
    const { about } = summary
    const parts = partsOf(message)
    const description = [
      parts.text,
      parts.quote,
      cutLog(parts.logs, 4_000, cut),
      parts.changes,
      parts.command,
    ]
      .filter(Boolean)
      .join('\n\n')
    return {
      title: cut(parts.headline, 250),
      status: isOver(message) ? 'resolved' : 'firing',
      deduplication_key: boundedKey(`${subjectKey(message)}/${rule}`, MAX_KEY),
      ...(description && { description: cut(description, 10_000) }),
      ...(parts.links[0] && { source_url: parts.links[0].url }),
      metadata: {
        severity: parts.severity,
        cluster: event.cluster,
        ...(about.namespace && { namespace: about.namespace }),
        kind: about.kind,
        name: cut(about.name, 253),
        rule,
        ...(parts.fields.length > 0 && {
          fields: parts.fields.map(({ title, value }) => `${cut(title, 100)}: ${cut(value, 400)}`),
        }),
        ...(Object.keys(labels).length > 0 && { labels }),
        id: message.id,
      },
    }
  },
}
