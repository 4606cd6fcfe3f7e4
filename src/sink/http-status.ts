import { detailOf, type Outcome, type Reason, type Scope } from './sink.ts'

/**
 * Maps a status, and the text of a 400, to an outcome. A sink that is throttled, misconfigured or unavailable fails as a whole. 500 and its rarer
 * relatives may be caused by the event, so they count as its failure where others succeed.
 */
export function outcomeOfStatus(
  status: number,
  retryAfter: string | string[] | undefined,
  text: string,
  nowMs: number,
): Outcome {
  const detail = detailOf(`HTTP ${status}${text && `: ${text}`}`)
  const [reason, scope] = policyOf(status, text)
  if (scope === undefined) return { kind: 'rejected', reason, detail }
  const afterMs = retryAfterMs(retryAfter, nowMs) ?? (status === 410 ? GONE_PAUSE_MS : undefined)
  return {
    kind: 'retry',
    reason,
    detail,
    scope,
    ...(afterMs !== undefined && { afterMs }),
    ...(status === 504 && { ambiguous: true }),
  }
}

/** nginx answers so where it wants a client certificate, or another one. */
const CERTIFICATE_FAULT = /SSL certificate error|No required SSL certificate/i
/** nginx, Go, Apache and Tomcat answer so to a request without TLS. */
const PLAIN_HTTP_FAULT =
  /plain HTTP request was sent to HTTPS|HTTP request to an HTTPS server|plain HTTP to an SSL-enabled|host and port requires TLS/i

function policyOf(status: number, text: string): readonly [reason: Reason, retryScope?: Scope] {
  if (status >= 300 && status < 400) return ['config', 'sink']
  // Of the connection, not of the event, although the status is that of a bad request.
  if (status === 400 && CERTIFICATE_FAULT.test(text)) return ['auth', 'sink']
  if (status === 400 && PLAIN_HTTP_FAULT.test(text)) return ['config', 'sink']
  if (status === 429) return ['rate-limited', 'sink']
  // 402: the account's plan does not permit it.
  if (status === 401 || status === 402 || status === 403 || status === 407) return ['auth', 'sink']
  if (status === 410) return ['gone', 'sink']
  // A page in place of the receiver, such as that of a maintenance, or a proxy that does not lead there.
  if (status === 404 || status === 405 || status === 421 || status === 426) return ['config', 'sink']
  // All requests of a sink have the same media type and compression.
  if (status === 406 || status === 415) return ['config', 'sink']
  if (status === 408) return ['timeout', 'sink']
  if (status === 409) return ['server-error', 'event']
  if (status === 425 || status === 502 || status === 503 || status === 504) return ['server-error', 'sink']
  if (status >= 500) return ['server-error', 'event']
  return ['rejected']
}

const MAX_RETRY_AFTER_MS = 3_600_000
/** A receiver that is gone needs no frequent retries. */
const GONE_PAUSE_MS = 900_000

/** Seconds, also with a fraction, or an HTTP date (RFC 9110 §10.2.3), at most an hour; undefined when it is neither. */
export function retryAfterMs(value: string | string[] | undefined, nowMs: number): number | undefined {
  const text = String((Array.isArray(value) ? value.at(-1) : value) ?? '').trim()
  const isNumber = /^\d+(\.\d+)?$/.test(text)
  // Date.parse makes a date of `-1`, too.
  if (!isNumber && !/[a-z]/i.test(text)) return undefined
  const ms = isNumber ? Math.ceil(Number(text) * 1_000) : Date.parse(text) - nowMs
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : undefined
}
