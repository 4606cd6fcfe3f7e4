import type { Logger, Mask, Note, Outcome } from '../../src/sink/index.ts'
import { spelled } from './channels.ts'
import type { SlackApi, Transport } from './client.ts'
import {
  classifyCode,
  classifyFault,
  classifyStatus,
  throttled,
  unexpectedBody,
  type Verdict,
} from './errors.ts'
import type { Rendered } from './markup.ts'
import type { Thread } from './thread-store.ts'

export type Sent =
  | { kind: 'sent'; channelId: string; ts: string; note?: Note }
  /** The message to reply to or to update no longer exists. */
  | { kind: 'gone'; code: string }
  | { kind: 'failed'; outcome: Outcome }

/** Sends messages. One that Slack refuses is sent once more as plain text. */
export interface Poster {
  post(channel: string, rendered: Rendered, signal: AbortSignal, threadTs?: string): Promise<Sent>
  update(channel: string, thread: Thread, rendered: Rendered, signal: AbortSignal): Promise<Sent>
}

interface PosterParts {
  failing: FailingChannels
  onFallback(): void
}

const QUIET = { unfurl_links: false, unfurl_media: false, parse: 'none' }

export function createApiPoster(api: SlackApi, parts: PosterParts): Poster {
  function sender(method: string, channel: string, args: object, threaded: boolean, signal: AbortSignal) {
    return async (body: object): Promise<Sent | Verdict> => {
      const about = { channel: spelled(channel), threaded }
      const called = await api.call(method, { ...args, ...body }, about, signal)
      if (!called.ok) return called.verdict
      const { channel: channelId, ts } = called.answer
      return { kind: 'sent', channelId: String(channelId ?? ''), ts: String(ts ?? '') }
    }
  }

  return {
    post(channel, rendered, signal, threadTs) {
      const args = {
        ...QUIET,
        channel: spelled(channel),
        ...(threadTs !== undefined && { thread_ts: threadTs }),
      }
      const send = sender('chat.postMessage', channel, args, threadTs !== undefined, signal)
      return sendTwice(send, rendered, channel, parts, signal)
    },
    update(channel, { channelId, ts }, rendered, signal) {
      const send = sender('chat.update', channel, { channel: channelId, ts, parse: 'none' }, true, signal)
      return sendTwice(send, rendered, channel, parts, signal)
    },
  }
}

export function createWebhookPoster(
  options: { url: URL; timeoutMs: number; userAgent: string; mask: Mask },
  fetching: Transport,
  parts: PosterParts,
): Poster {
  return {
    post(channel, rendered, signal) {
      const send = async (body: object): Promise<Sent | Verdict> => {
        const verdict = await postToWebhook(options, fetching, { ...QUIET, ...body }, signal)
        return verdict ?? { kind: 'sent', channelId: '', ts: '' }
      }
      return sendTwice(send, rendered, channel, parts, signal)
    },
    async update() {
      return { kind: 'gone', code: 'webhook' }
    },
  }
}

async function sendTwice(
  send: (body: object) => Promise<Sent | Verdict>,
  { text, attachments, metadata, plain, truncated }: Rendered,
  channel: string,
  { failing, onFallback }: PosterParts,
  signal: AbortSignal,
): Promise<Sent> {
  let answer = await send({ text, attachments, ...(metadata && { metadata }) })
  let note: Note | undefined = truncated ? 'truncated' : undefined
  if (answer.kind === 'payload' && !signal.aborted) {
    onFallback()
    note = 'fallback'
    const first = answer.detail
    // An update keeps attachments that it does not name.
    answer = await send({ text: plain, attachments: [] })
    if (answer.kind === 'payload') {
      const detail = `Slack refuses it, in plain text too: ${first}; ${answer.detail}`
      return { kind: 'failed', outcome: { kind: 'rejected', reason: 'rejected', detail } }
    }
  }
  if (answer.kind === 'sent') {
    failing.passed(channel)
    return note ? { ...answer, note } : answer
  }
  if (answer.kind === 'thread') return { kind: 'gone', code: answer.code }
  if (answer.kind === 'gone' || answer.kind === 'failed') return answer
  if (signal.aborted) return { kind: 'failed', outcome: STOPPED }
  if (answer.kind === 'retry') return { kind: 'failed', outcome: answer.outcome }
  if (answer.kind === 'payload') return { kind: 'failed', outcome: STOPPED }
  const { scope, reason, code, detail } = answer
  const afterMs = failing.failed(scope === 'target' ? channel : '*', code, detail)
  return { kind: 'failed', outcome: { kind: 'retry', reason, detail, scope, afterMs } }
}

/** It may have been sent. */
const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was answered',
  scope: 'sink',
  ambiguous: true,
}

interface WebhookOptions {
  url: URL
  timeoutMs: number
  userAgent: string
  mask: Mask
}

/** Posts to an incoming webhook, once; undefined when Slack took it. */
async function postToWebhook(
  { url, timeoutMs, userAgent, mask }: WebhookOptions,
  fetching: Transport,
  payload: object,
  signal: AbortSignal,
): Promise<Verdict | undefined> {
  try {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', 'user-agent': userAgent },
      body: JSON.stringify(payload),
      signal: AbortSignal.timeout(timeoutMs),
    }
    const response = await fetching.fetch(url, init, signal)
    const text = (await response.text()).trim()
    return verdictOf(response.status, response.headers.get('retry-after'), text, mask)
  } catch (error) {
    return classifyFault(error, mask)
  }
}

function verdictOf(status: number, retryAfter: string | null, text: string, mask: Mask): Verdict | undefined {
  if (status === 429) return throttled(retryAfter === null ? undefined : Number(retryAfter))
  if (status === 200 && text === 'ok') return undefined
  const word = wordOf(text)
  const about = { channel: "the webhook's channel", threaded: false, mask }
  if (word !== undefined && (status < 500 || word === 'rollup_error')) return classifyCode(word, {}, about)
  return status === 200 ? unexpectedBody(text, mask) : classifyStatus(status)
}

/** `invalid_payload`, or the same in JSON. */
function wordOf(text: string): string | undefined {
  if (/^[a-z][a-z0-9_]{1,60}$/.test(text)) return text
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    return typeof error === 'string' ? error : undefined
  } catch {
    return undefined
  }
}

/**
 * Failures that an operator has to fix, by channel or for the whole sink ('*'). They are retried with growing
 * pauses and logged once.
 */
interface FailingChannels {
  /** Records a failure and returns the pause in milliseconds: a minute, doubled each time, at most 15 minutes. */
  failed(target: string, code: string, detail: string): number
  /** It works again. */
  passed(target: string): void
}

const FIRST_MS = 60_000
const LONGEST_MS = 15 * 60_000
const MANY = 1_000

export function createFailingChannels(
  log: Logger,
  now: () => number,
  count: (n: number) => void,
): FailingChannels {
  const known = new Map<string, { code: string; waitMs: number; untilMs: number }>()
  // Reset the gauge: the sink may have been reopened with other options, such as a new token.
  count(0)
  return {
    failed(target, code, detail) {
      const before = known.get(target)
      const same = before?.code === code
      if (!same) log.warn({ target, detail }, 'Slack needs an operator; messages to this target wait')
      // Other messages that fail during the pause do not extend it.
      const leftMs = same ? Math.min(before.untilMs - now(), before.waitMs) : 0
      if (leftMs > 0) return Math.ceil(leftMs)
      const waitMs = same ? Math.min(before.waitMs * 2, LONGEST_MS) : FIRST_MS
      if (known.size >= MANY) known.clear()
      known.set(target, { code, waitMs, untilMs: now() + waitMs })
      count(known.size)
      return waitMs
    },
    passed(target) {
      for (const it of [target, '*']) {
        if (!known.delete(it)) continue
        log.info({ target: it }, 'Slack takes messages again')
        count(known.size)
      }
    },
  }
}
