import type { Mask } from '../../src/sink/index.ts'
import {
  classifyCode,
  classifyFault,
  classifyStatus,
  throttled,
  unexpectedBody,
  type Verdict,
} from './classify.ts'
import type { Fetching } from './fetch.ts'

export interface WebhookOptions {
  url: URL
  timeoutMs: number
  userAgent: string
  mask: Mask
}

/** Posts to an incoming webhook, once; undefined when Slack took it. */
export async function postToWebhook(
  { url, timeoutMs, userAgent, mask }: WebhookOptions,
  fetching: Fetching,
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
    return judge(response.status, response.headers.get('retry-after'), text, mask)
  } catch (error) {
    return classifyFault(error, mask)
  }
}

function judge(status: number, retryAfter: string | null, text: string, mask: Mask): Verdict | undefined {
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
