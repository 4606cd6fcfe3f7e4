import type { Message, Outcome, Reply } from '../../../src/sink/index.ts'
import { JSON_TYPE } from '../batch-format.ts'
import type { Item } from '../batches.ts'
import { targetFault } from './answers.ts'
import { acceptedMs } from './log-entry.ts'
import { clean } from './parts.ts'
import { type LogPreset, withPath } from './preset.ts'

/**
 * Loki refuses a line that is more than an hour older than the newest of its stream (half of `max_chunk_age`): what waited longer than
 * that, while newer lines of its stream arrived, could never be stored.
 */
const OLDEST_MS = 30 * 60_000

/**
 * The push API of Loki. The labels of a stream are those with few values: cluster, namespace, kind, severity; everything else is in the
 * line, as JSON.
 */
export const loki: LogPreset = {
  markup: {},
  concurrency: 8,
  // A line must have at most 256 KiB (`max_line_size`).
  maxBytes: 250_000,
  batch: { max: 1_000, maxBytes: 1_000_000 },
  target: (base) => withPath(base, '/loki/api/v1/push'),
  answer: outcomeOfAnswer,
  format({ labels = {} }, clock) {
    return {
      part(entry) {
        const ms = acceptedMs(entry, clock.now(), OLDEST_MS)
        const line = typeof entry.value === 'string' ? entry.value : JSON.stringify(entry.value)
        return {
          bytes: Buffer.from(JSON.stringify([`${ms}000000`, line])),
          group: JSON.stringify({ ...streamOf(entry.message), ...labels }),
        }
      },
      body: (items) => ({ body: streamsOf(items), headers: { 'content-type': JSON_TYPE } }),
    }
  },
}

/** Loki answers 204, a gateway perhaps 200. It stores nothing, and answers 260, while an operator blocks the ingestion of the tenant. */
function outcomeOfAnswer(reply: Reply): Outcome | undefined {
  const { status } = reply
  if (status > 204 && status < 300) {
    const detail = `HTTP ${status}: Loki stores nothing while the ingestion of the tenant is blocked`
    return { kind: 'retry', reason: 'config', detail, scope: 'sink' }
  }
  // No entry is newer than our clock: it is ahead of Loki's by more than `creation_grace_period`.
  return targetFault(reply, /has timestamp too new/)
}

/** Those of the watched object, not of the one that an Event regards: an author of Events can invent kinds. */
function streamOf({ event, content }: Message): Record<string, string> {
  const { cluster, namespace, kind } = event
  return {
    service_name: 'kubeherald',
    cluster: clean(cluster),
    ...(namespace && { namespace: clean(namespace) }),
    kind: clean(kind),
    severity: content.severity,
  }
}

function streamsOf(items: readonly Item[]): Buffer {
  const streams = Map.groupBy(items, ({ group = '{}' }) => group)
  const parts = [...streams].map(([labels, lines]) => {
    const values = lines.map(({ bytes }) => bytes.toString()).join(',')
    return `{"stream":${labels},"values":[${values}]}`
  })
  return Buffer.from(`{"streams":[${parts.join(',')}]}`)
}
