import type { ScannedObject } from '../../model/change.ts'
import type { ChangeType } from '../../model/event.ts'
import { cutText } from '../../text/redact.ts'
import { parseObject } from './json-bytes.ts'
import { reduceToMetadata } from './oversized.ts'
import { scanObject } from './scan.ts'

/** The fields of the API server's metav1.Status that are used. */
export interface ApiStatus {
  code: number
  reason: string
  message: string
  retryAfterMs?: number
  /** Reasons of `details.causes`, such as `ResourceVersionTooLarge`. */
  causes: readonly string[]
}

type Frame =
  | { kind: 'change'; type: ChangeType; object: ScannedObject }
  | { kind: 'bookmark'; resourceVersion: string; initialEventsEnd: boolean }
  | { kind: 'error'; status: ApiStatus }
  | { kind: 'unreadable' }

/** A frame longer than the limit, from its beginning: a change whose object is reduced to its metadata. */
type LongFrame =
  | Extract<Frame, { kind: 'change' | 'unreadable' }>
  /** A change of an object whose metadata is not in the frame's beginning. */
  | { kind: 'skipped' }

/** One line of a watch stream. Changes are scanned; everything else is rare and parsed. */
export function readFrame(line: Buffer): Frame {
  try {
    return scanChange(line) ?? parseFrame(line)
  } catch {
    // Too deep for JSON.stringify.
    return { kind: 'unreadable' }
  }
}

const HEADS = (['ADDED', 'MODIFIED', 'DELETED'] as const).map((type) => ({
  type,
  bytes: Buffer.from(`{"type":"${type}","object":{`),
}))

/** Reads the beginning of a frame of `length` bytes that was not kept whole. */
export function readLongFrame(line: Buffer, length: number): LongFrame {
  const head = headOf(line)
  if (!head) return { kind: 'unreadable' }
  const start = head.bytes.length - 1
  const reduced = reduceToMetadata(line.subarray(start), length - start - 1)
  const object = reduced && scanObject(reduced)
  return hasVersion(object) ? { kind: 'change', type: head.type, object } : { kind: 'skipped' }
}

function headOf(line: Buffer) {
  return HEADS.find(({ bytes }) => line[9] === bytes[9] && startsWith(line, bytes))
}

function scanChange(line: Buffer): Frame | undefined {
  const head = headOf(line)
  if (!head) return undefined
  const end = endOfObject(line)
  if (end === -1) return undefined
  const object = scanObject(line.subarray(head.bytes.length - 1, end))
  return hasVersion(object) ? { kind: 'change', type: head.type, object } : undefined
}

/** What comes without a position cannot be stored: a stream of it would only be collected. */
function hasVersion(object: ScannedObject | undefined): object is ScannedObject {
  return object !== undefined && object.resourceVersion !== ''
}

function startsWith(line: Buffer, head: Buffer): boolean {
  return line.length > head.length && line.compare(head, 0, head.length, 0, head.length) === 0
}

/** Behind the object's last brace: the frame must end with it and one more. */
function endOfObject(line: Buffer): number {
  let at = line.length - 1
  while (at > 0 && (line[at] === 13 || line[at] === 32)) at--
  return line[at] === 125 && line[at - 1] === 125 ? at : -1
}

function parseFrame(line: Buffer): Frame {
  const frame = parseObject(line) as { type?: string; object?: ParsedObject } | undefined
  const object = frame?.object
  if (!frame || !object) return { kind: 'unreadable' }
  if (frame.type === 'BOOKMARK') return bookmark(object)
  if (frame.type === 'ERROR') return { kind: 'error', status: statusOf(object) }
  if (frame.type !== 'ADDED' && frame.type !== 'MODIFIED' && frame.type !== 'DELETED')
    return { kind: 'unreadable' }
  const scanned = scanObject(Buffer.from(JSON.stringify(object)))
  return hasVersion(scanned) ? { kind: 'change', type: frame.type, object: scanned } : { kind: 'unreadable' }
}

interface ParsedObject {
  metadata?: { resourceVersion?: string; annotations?: Record<string, string> | null }
}

function bookmark({ metadata }: ParsedObject): Frame {
  const resourceVersion = metadata?.resourceVersion
  if (!resourceVersion) return { kind: 'unreadable' }
  const initialEventsEnd = metadata.annotations?.['k8s.io/initial-events-end'] === 'true'
  return { kind: 'bookmark', resourceVersion, initialEventsEnd }
}

/** The longest pause that a server is granted. */
export const MAX_RETRY_AFTER_S = 300

/** Reads a metav1.Status. A member of another type than the API's counts as absent; pauses are bounded. */
export function statusOf(value: unknown, httpCode = 0): ApiStatus {
  const { code, reason, message, details } = membersOf(value)
  const { retryAfterSeconds, causes } = membersOf(details)
  const seconds = Number.isFinite(retryAfterSeconds) ? (retryAfterSeconds as number) : 0
  return {
    code: Number.isInteger(code) ? (code as number) : httpCode,
    reason: textOf(reason),
    message: cutText(textOf(message)),
    causes: Array.isArray(causes)
      ? causes.map((cause) => textOf(membersOf(cause)['reason'])).filter((text) => text !== '')
      : [],
    ...(seconds > 0 && { retryAfterMs: Math.min(seconds, MAX_RETRY_AFTER_S) * 1_000 }),
  }
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
