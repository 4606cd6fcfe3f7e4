import { createHash } from 'node:crypto'
import {
  detailOf,
  type Message,
  type Outcome,
  outcomeOfStatus,
  type Template,
  TemplateFault,
} from '../../../src/sink/index.ts'
import { LINES, NDJSON, writtenAs } from '../batch-format.ts'
import { mapOf } from './log-entry.ts'
import { type LogPreset, withPath } from './preset.ts'

/** Maximum size of a document's id. */
const MAX_ID_BYTES = 512
/** 1,000 answers with a reason each. */
const MAX_REPLY_BYTES = 4_000_000

const FILTER_PATH =
  'errors,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by.reason'

/**
 * The bulk API of Elasticsearch and OpenSearch. `create` with our own id stores an event exactly once: a repeat is a conflict (409), so
 * the event is there. It is also what data streams take. Each event has its own answer.
 */
export const elasticsearch: LogPreset = {
  markup: {},
  concurrency: 8,
  maxBytes: 1_000_000,
  batch: { max: 500, maxBytes: 5_000_000 },
  target: (base) => {
    const url = withPath(base, '/_bulk')
    // The answer of a large request would be larger than what is read of it.
    if (!url.searchParams.has('filter_path')) url.searchParams.set('filter_path', FILTER_PATH)
    return url
  },
  format({ index }) {
    return {
      part({ message, time, value }) {
        const action = { create: { _index: indexOf(index, message), _id: idOf(message) } }
        const entry = { '@timestamp': time, ...mapOf(value) }
        return { bytes: Buffer.from(`${JSON.stringify(action)}\n${JSON.stringify(entry)}`) }
      },
      body: (items) => writtenAs(NDJSON, items, LINES),
      answers: (reply, items) => answersIn(reply, items.length),
      maxReplyBytes: MAX_REPLY_BYTES,
    }
  },
}

/** By default an index for each day of events. */
function indexOf(template: Template | undefined, message: Message): string {
  if (!template) return `kubeherald-${message.event.time.slice(0, 10).replaceAll('-', '.')}`
  const name = template.render(message).trim()
  if (name === '') throw new TemplateFault('index: what is filled in makes no name')
  return name
}

function idOf({ id }: Message): string {
  if (id.length <= MAX_ID_BYTES && /^[\x21-\x7e]+$/.test(id)) return id
  return createHash('sha256').update(id).digest('hex')
}

/** Returns undefined for an answer that is not that of a bulk request. */
function answersIn(reply: string, count: number): Outcome[] | undefined {
  const items = (parsed(reply) as { items?: unknown } | undefined)?.items
  if (!Array.isArray(items) || items.length !== count) return undefined
  return items.map((it: unknown) => outcomeOf(Object.values(mapOf(it))[0]))
}

function parsed(reply: string): unknown {
  try {
    return JSON.parse(reply)
  } catch {
    return undefined
  }
}

/**
 * The index takes no document, cannot be made because there is no room for its shards, names a pipeline that does not exist, takes no more
 * fields, or has a field of dates since an object was named like one (`date_detection`). Elasticsearch answers with the status of a bad
 * document.
 */
const INDEX_FAULT =
  /^index_closed_exception|^strict_dynamic_mapping_exception|pipeline with id \[.{1,300}?\] does not exist|Limit of total fields|this action would add .{1,40} shards?\b.* maximum .{0,20}shards open|no write index is defined|failed to parse field \[.{1,300}?\] of type \[date\]/

interface Fault {
  type?: string
  reason?: string
  caused_by?: { reason?: string }
}

function outcomeOf(answer: unknown): Outcome {
  const { status, error } = mapOf(answer) as { status?: unknown; error?: unknown }
  if (typeof status !== 'number') return outcomeOfStatus(502, undefined, 'an item without a status', 0)
  if (status < 300 || status === 409) return { kind: 'delivered' }
  const { type = '', reason = '', caused_by } = mapOf(error) as Fault
  const text = [type, reason, caused_by?.reason].filter(Boolean).join(': ')
  // Not a limit of the rate: an index without disk space takes nothing until an operator mends it.
  if (status === 429 && type === 'cluster_block_exception')
    return { kind: 'retry', reason: 'server-error', detail: detailOf(`HTTP 429: ${text}`), scope: 'event' }
  if (status === 400 && INDEX_FAULT.test(text))
    return { kind: 'retry', reason: 'config', detail: detailOf(`HTTP 400: ${text}`), scope: 'event' }
  const outcome = outcomeOfStatus(status, undefined, text, 0)
  // One index may be closed or missing while others take events; a full queue is that of the node.
  return outcome.kind === 'retry' && status !== 429 ? { ...outcome, scope: 'event' } : outcome
}
