import type { WebClient } from '@slack/web-api'
import type { Mask } from '../../src/sink/index.ts'
import {
  type Circumstances,
  classifyCode,
  classifyFault,
  classifyStatus,
  throttled,
  unexpectedBody,
  type Verdict,
} from './classify.ts'
import type { Fetching } from './fetch.ts'

export type Answer = Record<string, unknown>

export type Called = { ok: true; answer: Answer } | { ok: false; verdict: Verdict }

/** Slack's Web API: one attempt for each call, every failure judged. */
export interface SlackApi {
  call(
    method: string,
    args: Record<string, unknown>,
    about: Omit<Circumstances, 'mask'>,
    signal: AbortSignal,
  ): Promise<Called>
}

export interface ApiOptions {
  token: string
  apiUrl: URL
  timeoutMs: number
  userAgent: string
  mask: Mask
}

const QUIET = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  setName() {},
  getLevel: () => 'error' as never,
}

/** It is CommonJS: bundled, it has nothing but a default export. */
async function loadClient(): Promise<typeof import('@slack/web-api')> {
  const loaded: object = await import('@slack/web-api')
  return 'default' in loaded ? (loaded.default as typeof import('@slack/web-api')) : (loaded as never)
}

/** Loads Slack's client: a configuration without Slack never does. */
export async function createSlackApi(options: ApiOptions, fetching: Fetching): Promise<SlackApi> {
  const { WebClient, ErrorCode } = await loadClient()
  const clients = new WeakMap<AbortSignal, WebClient>()

  /** The client has no signal for a call, so each signal has a client. */
  function clientFor(signal: AbortSignal): WebClient {
    const known = clients.get(signal)
    if (known) return known
    const client = new WebClient(options.token, {
      slackApiUrl: options.apiUrl.href,
      timeout: options.timeoutMs,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      logger: QUIET,
      headers: { 'User-Agent': options.userAgent },
      fetch: ((url: string, init: never) => fetching.fetch(url, init, signal)) as never,
    })
    clients.set(signal, client)
    return client
  }

  function judge(error: unknown, about: Circumstances): Verdict {
    const { code, data, retryAfter, statusCode, message } = (error ?? {}) as Failure
    if (code === ErrorCode.RateLimitedError) return throttled(retryAfter)
    if (/^Retry header did not contain a valid timeout/.test(String(message))) return throttled(undefined)
    if (code === ErrorCode.PlatformError) {
      const { error: word, needed, response_metadata: more } = data ?? {}
      return classifyCode(
        String(word ?? ''),
        { needed: textOf(needed), messages: textsOf(data?.errors) ?? textsOf(more?.messages) },
        about,
      )
    }
    if (code === ErrorCode.HTTPError) return classifyStatus(Number(statusCode))
    // `null` and the like: the client stumbles over an answer that is JSON but no object.
    if (error instanceof TypeError && code === undefined && error.cause === undefined)
      return unexpectedBody('null', about.mask)
    return classifyFault(error, about.mask)
  }

  return {
    async call(method, args, about, signal) {
      try {
        const answer = await clientFor(signal).apiCall(method, args)
        return { ok: true, answer: answer as unknown as Answer }
      } catch (error) {
        return { ok: false, verdict: judge(error, { ...about, mask: options.mask }) }
      }
    },
  }
}

interface Failure {
  code?: string
  message?: string
  retryAfter?: number
  statusCode?: number
  data?: {
    error?: unknown
    needed?: unknown
    errors?: unknown
    response_metadata?: { messages?: unknown }
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function textsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.length > 0 ? value.map(String) : undefined
}
