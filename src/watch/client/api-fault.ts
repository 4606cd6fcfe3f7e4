import type { Readable } from 'node:stream'
import { cutText } from '../../text/redact.ts'
import { parseObject } from '../decode/json-bytes.ts'
import type { ClusterResponse, ClusterStream, Headers } from './cluster-client.ts'

/** The fields of the API server's metav1.Status that are used. */
export interface ApiStatus {
  code: number
  reason: string
  message: string
  retryAfterMs?: number
  /** Reasons of `details.causes`, such as `ResourceVersionTooLarge`. */
  causes: readonly string[]
}

/** An answer of the API server that is not what was asked for. */
export class ApiFault extends Error {
  override name = 'ApiFault'
  readonly status: ApiStatus

  constructor(status: ApiStatus) {
    super(`${status.code} ${status.reason}${status.message && `: ${status.message}`}`.trim())
    this.status = status
  }
}

/** Advice for a 401, whose answer has no further detail. */
export const UNAUTHORIZED_ADVICE =
  'it does not accept the credentials: a token may have expired, sign in again'

/** A stream that said something unreadable, or ended before it was complete. */
export class BrokenStream extends Error {
  override name = 'BrokenStream'
}

export function faultOf({ status, headers, body }: ClusterResponse): ApiFault {
  const parsed = statusOf(parseObject(body) ?? { message: body.toString('utf8', 0, 200) }, status)
  const retryAfterMs = retryAfterOf(headers) ?? parsed.retryAfterMs
  return new ApiFault({ ...parsed, code: status, ...(retryAfterMs !== undefined && { retryAfterMs }) })
}

/** The longest pause that a server is granted. */
const MAX_RETRY_AFTER_S = 300

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

/** Returns whether the API server answered that this object does not exist. A proxy in front of it may answer 404 to anything. */
export function isNotFound(
  { status, body }: Pick<ClusterResponse, 'status' | 'body'>,
  name: string,
): boolean {
  if (status !== 404) return false
  const { kind, reason, details } = membersOf(parseObject(body))
  return kind === 'Status' && reason === 'NotFound' && (membersOf(details)['name'] ?? name) === name
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

const ERROR_BODY_MS = 10_000
const MAX_ERROR_BYTES = 1024 * 1024

/** The fault of an answer that is not a stream, from the beginning of its body; does not wait long for the body's end. */
export async function faultOfStream({ status, headers, body }: ClusterStream): Promise<ApiFault> {
  return faultOf({ status, headers, body: await beginningOf(body) })
}

async function beginningOf(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  const tooLong = setTimeout(() => body.destroy(), ERROR_BODY_MS)
  let bytes = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > MAX_ERROR_BYTES) break
    }
  } catch {
    // The status is enough.
  } finally {
    clearTimeout(tooLong)
  }
  return Buffer.concat(chunks)
}

function retryAfterOf(headers: Headers): number | undefined {
  const text = String(headers['retry-after'] ?? '')
  return /^\d+$/.test(text) ? Math.min(Number(text), MAX_RETRY_AFTER_S) * 1_000 : undefined
}

export function isExpired({ code, reason }: ApiStatus): boolean {
  return code === 410 || reason === 'Expired' || reason === 'Gone'
}
