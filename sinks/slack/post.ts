import type { Mask, Note, Outcome } from '../../src/sink/index.ts'
import type { Rendered } from './blocks.ts'
import { spelled } from './channel.ts'
import type { Verdict } from './classify.ts'
import type { SlackApi } from './client.ts'
import type { Fetching } from './fetch.ts'
import type { Thread } from './thread.ts'
import type { Troubles } from './troubles.ts'
import { postToWebhook } from './webhook.ts'

export type Sent =
  | { kind: 'sent'; channelId: string; ts: string; note?: Note }
  /** What it was to reply to, or to update, is not there any more. */
  | { kind: 'gone'; code: string }
  | { kind: 'failed'; outcome: Outcome }

/** Sends messages; one that Slack does not take as it is goes once more as plain text. */
export interface Poster {
  post(channel: string, rendered: Rendered, signal: AbortSignal, threadTs?: string): Promise<Sent>
  update(channel: string, thread: Thread, rendered: Rendered, signal: AbortSignal): Promise<Sent>
}

export interface PosterParts {
  troubles: Troubles
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
  fetching: Fetching,
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
  { text, attachments, plain, truncated }: Rendered,
  channel: string,
  { troubles, onFallback }: PosterParts,
  signal: AbortSignal,
): Promise<Sent> {
  let answer = await send({ text, attachments })
  let note: Note | undefined = truncated ? 'truncated' : undefined
  if (answer.kind === 'payload' && !signal.aborted) {
    onFallback()
    note = 'fallback'
    const first = answer.detail
    // An update keeps what it is not told about: no attachments have to be said, too.
    answer = await send({ text: plain, attachments: [] })
    if (answer.kind === 'payload') {
      const detail = `Slack refuses it, in plain text too: ${first}; ${answer.detail}`
      return { kind: 'failed', outcome: { kind: 'rejected', reason: 'rejected', detail } }
    }
  }
  if (answer.kind === 'sent') {
    troubles.passed(channel)
    return note ? { ...answer, note } : answer
  }
  if (answer.kind === 'thread') return { kind: 'gone', code: answer.code }
  if (answer.kind === 'gone' || answer.kind === 'failed') return answer
  if (signal.aborted) return { kind: 'failed', outcome: STOPPED }
  if (answer.kind === 'retry') return { kind: 'failed', outcome: answer.outcome }
  if (answer.kind === 'payload') return { kind: 'failed', outcome: STOPPED }
  const { scope, reason, code, detail } = answer
  const afterMs = troubles.failed(scope === 'target' ? channel : '*', code, detail)
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
