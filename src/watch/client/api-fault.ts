import type { Readable } from 'node:stream'
import { type ApiStatus, MAX_RETRY_AFTER_S, statusOf } from '../decode/frame.ts'
import { parseObject } from '../decode/json-bytes.ts'
import type { ClusterResponse, ClusterStream, Headers } from './cluster-client.ts'

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
