import type { Mask, Outcome, Reason } from '../../src/sink/index.ts'

/** The class of a failed call. */
export type Verdict =
  | { kind: 'retry'; outcome: Retry }
  /** An operator has to act; `scope`: for the channel or the whole sink. */
  | { kind: 'operator'; scope: 'target' | 'sink'; reason: Reason; code: string; detail: string }
  /** Slack does not take this message as it is: a plainer one may do. */
  | { kind: 'payload'; detail: string }
  /** The message to reply to, or to update, cannot be used any more. */
  | { kind: 'thread'; code: string }

type Retry = Extract<Outcome, { kind: 'retry' }>

export interface Circumstances {
  /** In readable form: `#shop`. */
  channel: string
  /** A reply or an update: it depends on an earlier message. */
  threaded: boolean
  mask: Mask
}

const MAX_WAIT_MS = 3_600_000
/** The pause if Slack gives none. */
const WAIT_MS = 30_000

const TRANSIENT: Record<string, readonly [reason: Reason, scope: Retry['scope']]> = {
  ratelimited: ['rate-limited', 'target'],
  rate_limited: ['rate-limited', 'target'],
  message_limit_exceeded: ['rate-limited', 'sink'],
  service_unavailable: ['server-error', 'sink'],
  team_added_to_org: ['server-error', 'sink'],
  external_channel_migrating: ['server-error', 'target'],
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
  'attachment_payload_limit_exceeded',
  'metadata_too_large',
  'metadata_must_be_sent_from_app',
  'invalid_metadata_format',
  'invalid_metadata_schema',
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
  // Slack's own codes are short; an HTML page or an empty body comes from an intermediary.
  if (/^[a-z][a-z0-9_]{1,60}$/.test(code)) return retry('unknown', `Slack answered ${mask(code)}`, 'event')
  return unexpectedBody(code, mask)
}

/** A body that is no answer of Slack's; the message may have arrived. */
export function unexpectedBody(body: string, mask: Mask): Verdict {
  const start = mask(body.slice(0, 200), body.length > 200)
  const detail = body.trim() === '' ? 'an empty answer' : `an answer that is not Slack's: ${start}`
  return retry('server-error', detail, 'sink', undefined, true)
}

/** The peer asks to slow down: for as long as it asks, else half a minute, at most an hour. */
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

/** Errors that one channel has; the others go on. */
const CHANNEL_ERRORS: ReadonlySet<string> = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'channel_is_archived',
  'is_inactive',
  'messages_tab_disabled',
  'access_denied',
  'action_prohibited',
  'posting_to_general_channel_denied',
  'user_not_found',
])

const TOKEN_ERRORS: Record<string, string> = {
  invalid_auth: 'Slack does not know this token: copy the Bot User OAuth Token from the app once more',
  not_authed: 'Slack got no token: is a proxy dropping the authorization header?',
  token_revoked: 'the token was revoked: reinstall the app and take its new Bot User OAuth Token',
  token_expired: 'the token has expired: renew it, or switch token rotation off for the app',
  account_inactive: 'the app was removed from the workspace: install it again and take its new token',
  not_allowed_token_type: 'this kind of token cannot post: use the Bot User OAuth Token (xoxb-)',
  invalid_token: 'the webhook was withdrawn: add a new one to the app and put its URL into url',
}

const SINK_ERRORS: Record<string, string> = {
  no_permission: "the app lacks the permission to post: check its scopes and the workspace's settings",
  ekm_access_denied: "the workspace's administrators have suspended posting (Enterprise Key Management)",
  team_access_not_granted:
    'the app is not granted to this workspace: ask an administrator of the organisation',
  org_login_required: 'the workspace is being moved into an organisation: wait, or install the app again',
  no_service: 'the webhook was removed or switched off: add a new one to the app and put its URL into url',
  no_service_id: 'url is not complete: copy the whole address of the webhook',
  no_team: 'url names no workspace: copy the whole address of the webhook',
  team_disabled: 'the workspace is disabled',
  no_active_hooks: 'the webhook is switched off: switch it on or add a new one',
  invalid_url: 'url is not an address of a webhook: copy it once more',
}

/** Returns what an operator can do about an error; undefined if nothing. */
function adviceFor(code: string, channel: string, needed?: string): string | undefined {
  if (code === 'missing_scope') {
    const scope = needed || 'chat:write'
    return `missing_scope: add the scope ${scope} to the app (OAuth & Permissions) and reinstall it`
  }
  const known = forChannel(code, channel) ?? own(TOKEN_ERRORS, code) ?? own(SINK_ERRORS, code)
  return known === undefined ? undefined : `${code}: ${known}`
}

function isTokenError(code: string): boolean {
  return Object.hasOwn(TOKEN_ERRORS, code) || code === 'missing_scope' || code === 'no_permission'
}

function forChannel(code: string, channel: string): string | undefined {
  switch (code) {
    case 'channel_not_found':
      return `there is no ${channel}, or it is private and the app is not in it: correct the name, or /invite the app there`
    case 'not_in_channel':
      return `the app is not in ${channel}: /invite it there, or give it chat:write.public`
    case 'is_archived':
    case 'channel_is_archived':
      return `${channel} is archived: unarchive it, or choose another channel`
    // The answer to an update, where a new message gets is_archived.
    case 'is_inactive':
      return `${channel} is archived, frozen or deleted: unarchive it, or choose another channel`
    case 'messages_tab_disabled':
      return `the app takes no direct messages in ${channel}: switch on its Messages Tab (App Home)`
    case 'access_denied':
    case 'action_prohibited':
    case 'posting_to_general_channel_denied':
      return `the workspace's settings keep the app from posting to ${channel}`
    case 'user_not_found':
      return `${channel} belongs to a user who is gone: choose another channel`
    default:
      return code.startsWith('restricted_action')
        ? `${channel} or the workspace restricts who may post: allow the app, or choose another channel`
        : undefined
  }
}

function own(texts: Record<string, string>, code: string): string | undefined {
  return Object.hasOwn(texts, code) ? texts[code] : undefined
}
