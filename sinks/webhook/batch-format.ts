import { TemplateFault } from '../../src/sink/index.ts'
import type { BatchOptions } from './batch-options.ts'
import type { BatchFormat, Item } from './batches.ts'
import type { Written } from './request.ts'

export const BATCH_DEFAULTS = { max: 100, maxBytes: 1_000_000, waitMs: 0 }

/** How many bytes and events a request has, as configured or by default. */
export function limitsOf(
  batch: BatchOptions | undefined,
  defaults: Partial<typeof BATCH_DEFAULTS> = {},
): typeof BATCH_DEFAULTS {
  const usual = { ...BATCH_DEFAULTS, ...defaults }
  return {
    max: batch?.max ?? usual.max,
    maxBytes: batch?.maxBytes ?? usual.maxBytes,
    waitMs: batch?.wait ?? usual.waitMs,
  }
}

/** A batch of CloudEvents: a JSON array of structured ones. */
export function cloudEventsBatch(batch: BatchOptions | undefined): BatchFormat {
  return {
    ...limitsOf(batch),
    item: (message) => ({ message, bytes: message.cloudEvent, size: message.cloudEvent.length + 1 }),
    body: (items) => writtenAs('application/cloudevents-batch+json; charset=utf-8', items, ARRAY),
  }
}

/** Separators of the bodies of events. */
export interface Joints {
  before: string
  separator: string
  after: string
}

export const ARRAY: Joints = { before: '[', separator: ',', after: ']' }
/** Newline-delimited JSON, with a newline after the last line too. */
export const LINES: Joints = { before: '', separator: '\n', after: '\n' }

/** The events of a request one after the other, as one body. */
export function writtenAs(contentType: string, items: readonly Item[], joints: Joints): Written {
  const separator = Buffer.from(joints.separator)
  const parts = items.flatMap(({ bytes }, i) => (i === 0 ? [bytes] : [separator, bytes]))
  const body = Buffer.concat([Buffer.from(joints.before), ...parts, Buffer.from(joints.after)])
  return { body, headers: { 'content-type': contentType } }
}

/** Returns the format of requests that contain many events, each rendered by the template `batch.each`. */
export function templateBatch(batch: BatchOptions, contentType: string | undefined): BatchFormat {
  const { each, separator, before, after } = batch
  if (!each) throw new Error('batch.each is missing')
  const joints: Joints = {
    before: before ?? LINES.before,
    separator: separator ?? LINES.separator,
    after: after ?? LINES.after,
  }
  const hasLines = joints.separator.includes('\n')
  const type = contentType ?? (each.json ? (hasLines ? NDJSON : JSON_TYPE) : 'text/plain; charset=utf-8')
  const mustCheck = !each.json && /^application\/(\S+\+)?(x-nd)?json\b/.test(type)
  return {
    ...limitsOf(batch),
    item(message) {
      const text = each.write(message)
      if (mustCheck) checkJson(text, hasLines)
      const bytes = Buffer.from(text)
      return { message, bytes, size: bytes.length + Buffer.byteLength(joints.separator) }
    },
    body: (items) => writtenAs(type, items, joints),
  }
}

export const NDJSON = 'application/x-ndjson'
export const JSON_TYPE = 'application/json; charset=utf-8'

/** Throws if a document is not JSON: the receiver would reject the whole request. */
function checkJson(text: string, inLines: boolean): void {
  const documents = inLines ? text.split('\n') : [text]
  for (const [i, document] of documents.entries()) {
    try {
      JSON.parse(document)
    } catch {
      const where = inLines ? `line ${i + 1} of what it makes` : 'what it makes'
      throw new TemplateFault(`batch.each: ${where} is not JSON: write values with | json, or each as a tree`)
    }
  }
}
