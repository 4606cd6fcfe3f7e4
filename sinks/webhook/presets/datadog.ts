import { ARRAY, JSON_TYPE, writtenAs } from '../batch-format.ts'
import { acceptedMs, mapOf } from './log-entry.ts'
import { clean } from './parts.ts'
import type { LogPreset } from './preset.ts'

/** Datadog takes logs that are at most 18 hours old. */
const OLDEST_MS = 17 * 3_600_000
const STATUSES = { error: 'error', warning: 'warn', info: 'info', resolved: 'ok' } as const

/** The logs intake of Datadog, version 2. Datadog shortens an entry of more than 1 MB, so none is. */
export const datadog: LogPreset = {
  markup: {},
  concurrency: 8,
  maxBytes: 900_000,
  // Its limits are 1,000 entries and 5 MB before compression.
  batch: { max: 1_000, maxBytes: 4_500_000 },
  url: ({ site = 'datadoghq.com' }) => new URL(`https://http-intake.logs.${site}/api/v2/logs`),
  headers: ({ apiKey = '' }) => ({ 'dd-api-key': apiKey }),
  format: (_options, clock) => ({
    part(entry) {
      const { event, content, summary } = entry.message
      const { namespace, kind } = summary.about
      const tags = { kube_cluster_name: event.cluster, kube_namespace: namespace, kind }
      const log = {
        ddsource: 'kubeherald',
        service: 'kubeherald',
        hostname: clean(event.cluster),
        ddtags: Object.entries(tags)
          .flatMap(([name, value]) => (value ? [`${name}:${clean(value).replaceAll(',', '_')}`] : []))
          .join(','),
        status: STATUSES[content.severity],
        timestamp: acceptedMs(entry, clock.now(), OLDEST_MS),
        ...texts(mapOf(entry.value)),
      }
      return { bytes: Buffer.from(JSON.stringify(log)) }
    },
    body: (items) => writtenAs(JSON_TYPE, items, ARRAY),
  }),
}

/** Attributes are texts by the API's definition. */
function texts(entry: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(entry).map(([name, it]) => [name, typeof it === 'number' ? String(it) : it]),
  )
}
