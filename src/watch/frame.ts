import type { ScannedObject } from '../change.ts'
import type { ChangeType } from '../event.ts'
import { cutText } from '../redact.ts'
import { scanObject } from './scan.ts'

/** What the API server says when something is wrong (metav1.Status), as far as we act on it. */
export interface ApiStatus {
  code: number
  reason: string
  message: string
  retryAfterMs?: number
  /** Reasons of `details.causes`, such as `ResourceVersionTooLarge`. */
  causes: readonly string[]
}

export type Frame =
  | { kind: 'change'; type: ChangeType; object: ScannedObject }
  | { kind: 'bookmark'; resourceVersion: string; initialEventsEnd: boolean }
  | { kind: 'error'; status: ApiStatus }
  | { kind: 'unreadable' }

/** One line of a watch stream. Changes are scanned; everything else is rare and parsed. */
export function readFrame(line: Buffer): Frame {
  return scanChange(line) ?? parseFrame(line)
}

const HEADS = (['ADDED', 'MODIFIED', 'DELETED'] as const).map((type) => ({
  type,
  bytes: Buffer.from(`{"type":"${type}","object":{`),
}))

function scanChange(line: Buffer): Frame | undefined {
  const head = HEADS.find(({ bytes }) => line[9] === bytes[9] && startsWith(line, bytes))
  if (!head) return undefined
  const end = endOfObject(line)
  if (end === -1) return undefined
  const object = scanObject(line.subarray(head.bytes.length - 1, end))
  return object && { kind: 'change', type: head.type, object }
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
  const frame = parse(line)
  const object = frame?.object
  if (!frame || !object) return { kind: 'unreadable' }
  if (frame.type === 'BOOKMARK') return bookmark(object)
  if (frame.type === 'ERROR') return { kind: 'error', status: statusOf(object) }
  if (frame.type !== 'ADDED' && frame.type !== 'MODIFIED' && frame.type !== 'DELETED')
    return { kind: 'unreadable' }
  const scanned = scanObject(Buffer.from(JSON.stringify(object)))
  return scanned ? { kind: 'change', type: frame.type, object: scanned } : { kind: 'unreadable' }
}

function parse(line: Buffer): { type?: string; object?: ParsedObject } | undefined {
  try {
    const value = JSON.parse(line.toString()) as unknown
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
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

/** Reads a metav1.Status; of anything else, what can be said of it. */
export function statusOf(value: unknown, httpCode = 0): ApiStatus {
  const status = (typeof value === 'object' && value !== null ? value : {}) as {
    code?: number
    reason?: string
    message?: string
    details?: { retryAfterSeconds?: number; causes?: { reason?: string }[] } | null
  }
  const retryAfterSeconds = status.details?.retryAfterSeconds
  return {
    code: status.code ?? httpCode,
    reason: status.reason ?? '',
    message: cutText(status.message ?? ''),
    causes: (status.details?.causes ?? []).flatMap(({ reason }) => reason ?? []),
    ...(retryAfterSeconds ? { retryAfterMs: retryAfterSeconds * 1_000 } : {}),
  }
}
