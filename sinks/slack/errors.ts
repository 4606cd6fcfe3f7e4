import type { Mask, Outcome, Reason } from '../../src/sink/index.ts'
import { adviceFor, CHANNEL_ERRORS, isTokenError } from './advice.ts'

/** What a failed call means for the message. */
export type Verdict =
  | { kind: 'retry'; outcome: Retry }
  /** An operator has to act; `scope` tells whether for the channel or for all of the sink. */
  | { kind: 'operator'; scope: 'target' | 'sink'; reason: Reason; code: string; detail: string }
  /** Slack does not take this message as it is: a plainer one may do. */
  | { kind: 'payload'; detail: string }
  /** The message to reply to, or to update, cannot be used any more. */
  | { kind: 'thread'; code: string }

type Retry = Extract<Outcome, { kind: 'retry' }>

export interface Circumstances {
  /** As people write it: `#shop`. */
  channel: string
  /** A reply or an update: it depends on an earlier message. */
  threaded: boolean
  mask: Mask
}

const MAX_WAIT_MS = 3_600_000
/** When Slack says "later" without saying when. */
const WAIT_MS = 30_000

const TRANSIENT: Record<string, readonly [reason: Reason, scope: Retry['scope']]> = {
  ratelimited: ['rate-limited', 'target'],
  rate_limited: ['rate-limited', 'target'],
  message_limit_exceeded: ['rate-limited', 'sink'],
  service_unavailable: ['server-error', 'sink'],
  team_added_to_org: ['server-error', 'sink'],
  // The rest may be this message's fault alone.
  internal_error: ['server-error', 'event'],
  fatal_error: ['server-error', 'event'],
  request_timeout: ['timeout', 'event'],
}

const PAYLOAD = new Set([
  'invalid_blocks',
  'invalid_blocks_format',
  'invalid_attachments',
  'invalid_arguments',
  'invalid_payload',
  'msg_too_long',
  'msg_blocks_too_long',
  'no_text',
  'too_many_attachments',
  'metadata_too_large',
  'cannot_reply_to_message',
])

const THREAD = new Set([
  'message_not_found',
  'cant_update_message',
  'edit_window_closed',
  'thread_not_found',
  'invalid_thread_ts',
  'cannot_reply_to_message',
  'restricted_action_thread_locked',
  'restricted_action_non_threadable_channel',
])

/** An error that Slack names, of an API call or of a webhook. */
export function classifyCode(
  code: string,
  { needed, messages = [] }: { needed?: string | undefined; messages?: readonly string[] | undefined },
  { channel, threaded, mask }: Circumstances,
): Verdict {
  if (threaded && THREAD.has(code)) return { kind: 'thread', code }
  if (PAYLOAD.has(code)) {
    const why = mask(messages.slice(0, 5).join('; ').slice(0, 1_000))
    return { kind: 'payload', detail: why ? `${code}: ${why}` : code }
  }
  const detail = adviceFor(code, channel, needed === undefined ? undefined : mask(needed))
  if (CHANNEL_ERRORS.has(code) || code.startsWith('restricted_action'))
    return { kind: 'operator', scope: 'target', reason: 'config', code, detail: detail ?? code }
  if (detail !== undefined)
    return { kind: 'operator', scope: 'sink', reason: isTokenError(code) ? 'auth' : 'config', code, detail }
  const known = Object.hasOwn(TRANSIENT, code) ? TRANSIENT[code] : undefined
  if (known) {
    const [reason, scope] = known
    return retry(reason, code, scope, reason === 'rate-limited' ? WAIT_MS : undefined)
  }
  // Slack's own words are short; a page or nothing comes from something in between.
  if (/^[a-z][a-z0-9_]{1,60}$/.test(code)) return retry('unknown', `Slack says ${mask(code)}`, 'event')
  return unexpectedBody(code, mask)
}

/** A body that is no answer of Slack's; the message may have arrived. */
export function unexpectedBody(body: string, mask: Mask): Verdict {
  const start = mask(body.slice(0, 200), body.length > 200)
  const detail = body.trim() === '' ? 'an empty answer' : `an answer that is not Slack's: ${start}`
  return retry('server-error', detail, 'sink', undefined, true)
}

/** Slow down: for as long as the peer says, else half a minute; at most an hour. */
export function throttled(seconds: number | undefined): Verdict {
  const ms = seconds === undefined ? WAIT_MS : Math.min(Math.max(seconds * 1_000, 1_000), MAX_WAIT_MS)
  return retry('rate-limited', 'Slack asks to slow down', 'target', ms)
}

/** A status other than 200 and 429. */
export function classifyStatus(status: number): Verdict {
  if (status >= 500) {
    const scope = status === 502 || status === 503 || status === 504 ? 'sink' : 'event'
    return retry('server-error', `HTTP ${status}`, scope)
  }
  if (status === 401 || status === 403 || status === 407)
    return retry('auth', `HTTP ${status}: is a proxy in between?`, 'sink')
  if (status >= 300 && status < 400)
    return retry('config', `HTTP ${status}: a redirect, which is not followed`, 'sink')
  if (status === 413) return { kind: 'payload', detail: 'HTTP 413' }
  return retry('server-error', `HTTP ${status}`, 'event')
}

/** The connection failed, or nothing came in time. */
export function classifyFault(error: unknown, mask: Mask): Verdict {
  const chain = causesOf(error)
  if (chain.some(({ name }) => name === 'TimeoutError'))
    return retry('timeout', 'no answer in time', 'event', undefined, true)
  if (chain.some(({ message }) => /redirect/i.test(String(message))))
    return retry('config', 'a redirect, which is not followed; is apiUrl right?', 'sink')
  const code = chain.map((it) => it.code).findLast((it) => typeof it === 'string')
  const text = chain.map((it) => String(it.message ?? '')).findLast((it) => it !== '')
  const said = mask((text ?? '').slice(0, 300))
  const detail = code ? `${code}${said && said !== code ? `: ${said}` : ''}` : said || 'the connection failed'
  const neverLeft = code !== undefined && BEFORE_SENDING.test(code)
  return retry('network', detail, 'sink', undefined, !neverLeft)
}

/** Nothing was sent yet. */
const BEFORE_SENDING =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|UNABLE_TO_|CERT_|DEPTH_ZERO|SELF_SIGNED|ERR_TLS)/

function causesOf(error: unknown): { name?: string; message?: string; code?: string }[] {
  const chain: Error[] = []
  for (
    let it = error;
    it instanceof Error && chain.length < 8;
    it = it.cause ?? (it as { original?: unknown }).original
  )
    chain.push(it)
  return chain
}

function retry(
  reason: Reason,
  detail: string,
  scope: Retry['scope'],
  afterMs?: number,
  ambiguous?: boolean,
): Verdict {
  return {
    kind: 'retry',
    outcome: {
      kind: 'retry',
      reason,
      detail,
      scope,
      ...(afterMs !== undefined && { afterMs }),
      ...(ambiguous && { ambiguous: true as const }),
    },
  }
}
