import { setTimeout as sleep } from 'node:timers/promises'
import type { SocketModeClient } from '@slack/socket-mode'
import type { Logger, Mask } from '../../src/sink/index.ts'
import { createTransport, QUIET, type Transport, verdictOf } from './client.ts'
import { classifyFault, type Verdict } from './errors.ts'

/** A connection over which Slack reports clicks (https://docs.slack.dev/apis/events-api/using-socket-mode). */
interface SocketMode {
  /** Since when it is not connected, and why; undefined while it is. */
  trouble(): Trouble | undefined
  close(): Promise<void>
}

export interface Trouble {
  sinceMs: number
  detail: string
}

export interface SocketOptions {
  appToken: string
  apiUrl: URL
  timeoutMs: number
  userAgent: string
  proxy?: URL | undefined
  ca?: string | undefined
  mask: Mask
  log: Logger
  now(): number
}

/** The payload of an interaction, and the id of the app that the connection belongs to, if Slack has named it. */
export type OnInteraction = (payload: unknown, appId: string | undefined) => void

/** Slack replaces connections now and then; what lasts for less is no news. */
export const TROUBLE_MS = 120_000
const FIRST_MS = 1_000
const LONGEST_MS = 120_000
/** From the beginning of a connection until Slack's greeting. */
const HELLO_MS = 30_000
/** Until the peer has closed a connection that we close. */
const CLOSE_MS = 1_000
/** Duration of use after which the end of a connection is no failure. */
const USEFUL_MS = 10_000
const PONG_MS = 30_000

/** Keeps a connection until it is closed. Slack replaces each one after hours. It never throws, whatever the peer does. */
function keepConnected(
  options: SocketOptions,
  onInteraction: OnInteraction,
  onConnected: (isConnected: boolean) => void,
): SocketMode {
  const { log, mask, now } = options
  const transport = createTransport(options)
  const closing = new AbortController()
  let trouble: Trouble | undefined = { sinceMs: now(), detail: 'not connected yet' }
  let logged = ''

  function failed(detail: string, isForOperator: boolean): void {
    trouble = { sinceMs: trouble?.sinceMs ?? now(), detail }
    onConnected(false)
    const isNews = isForOperator ? detail !== logged : logged === '' && now() - trouble.sinceMs >= TROUBLE_MS
    if (!isNews) return
    log.warn({ detail }, "Slack's buttons do not work")
    logged = detail
  }

  function connected(): void {
    if (logged !== '') log.info({}, "Slack's buttons work again")
    trouble = undefined
    logged = ''
    onConnected(true)
  }

  async function run(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; ) {
      const startedMs = performance.now()
      const connection = { options, transport, signal: closing.signal, connected, onInteraction }
      const end = await connectOnce(connection).catch((error) => ({ ...LOST, detail: String(error) }))
      if (closing.signal.aborted) return
      failed(mask(end.detail), end.isForOperator)
      log.debug({ detail: mask(end.detail) }, 'the connection for buttons has ended')
      const wasUseful = end.wasConnected && performance.now() - startedMs > USEFUL_MS
      failures = wasUseful || end.isRefresh ? 0 : failures + 1
      await sleep(pauseMs(failures, end), undefined, { signal: closing.signal }).catch(() => {})
    }
  }

  const running = run().catch((error) => failed(mask(String(error)), true))
  return {
    trouble: () => trouble,
    async close() {
      closing.abort()
      await running
      await transport.close()
    },
  }
}

function pauseMs(failures: number, { afterMs = 0 }: End): number {
  if (failures === 0) return afterMs
  const growing = Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1))
  // Several processes must not come back in the same moment.
  return Math.max(afterMs, growing * (0.8 + 0.4 * Math.random()))
}

/** How a connection ended, or that there was none. */
interface End {
  detail: string
  wasConnected: boolean
  /** Slack asked for another connection in its place. */
  isRefresh: boolean
  isForOperator: boolean
  afterMs?: number | undefined
}

const LOST: End = {
  detail: 'the connection was lost',
  wasConnected: false,
  isRefresh: false,
  isForOperator: false,
}

interface ConnectionParts {
  options: SocketOptions
  transport: Transport
  signal: AbortSignal
  connected(): void
  onInteraction: OnInteraction
}

/** Resolves when the connection has ended. The library's own reconnection gives up at network errors, by a rejection that nobody handles. */
async function connectOnce(parts: ConnectionParts): Promise<End> {
  const { options, transport, signal, connected, onInteraction } = parts
  const end = { ...LOST }
  const ended = Promise.withResolvers<void>()
  const client = await createClient(options, transport, signal)
  let appId: string | undefined
  onMessage(client, ({ type, reason, connection_info: info }) => {
    if (type === 'hello') {
      appId = textOf((info as { app_id?: unknown } | undefined)?.app_id)
      end.wasConnected = true
      connected()
    }
    if (type === 'disconnect') {
      Object.assign(end, endOf(textOf(reason) ?? ''))
      // The library waits for the peer to close; the next connection need not.
      ended.resolve()
    }
  })
  client.on('disconnected', () => ended.resolve())
  client.on('error', (error) => Object.assign(end, endOfFault(classifyFault(error, options.mask))))
  client.on('slack_event', ({ ack, type, body }) => {
    // Slack takes an acknowledgement within 3 s, whatever the click leads to.
    Promise.resolve(ack()).catch(() => {})
    if (type === 'interactive') onInteraction(body, appId)
  })
  const helloLimit = setTimeout(() => {
    end.detail = 'Slack did not greet in time'
    ended.resolve()
  }, HELLO_MS)
  const stop = () => ended.resolve()
  signal.addEventListener('abort', stop, { once: true })
  try {
    const started = client.start().then(
      () => clearTimeout(helloLimit),
      async (error: unknown) => {
        if (error !== undefined)
          Object.assign(end, endOfFault(await verdictOf(error, { ...NOT_OF_A_CHANNEL, mask: options.mask })))
        ended.resolve()
      },
    )
    await ended.promise
    await Promise.race([started, sleep(CLOSE_MS)])
  } finally {
    clearTimeout(helloLimit)
    signal.removeEventListener('abort', stop)
    await closeClient(client)
  }
  return end
}

const NOT_OF_A_CHANNEL = { channel: 'the workspace', threaded: false }

/** The reasons that Slack documents, and what an operator can do about them. */
function endOf(reason: string): Partial<End> {
  switch (reason) {
    case 'warning':
    case 'refresh_requested':
      return { detail: `Slack asked for a new connection (${reason})`, isRefresh: true }
    case 'link_disabled':
      return {
        detail: 'link_disabled: Socket Mode is switched off: switch it on for the app',
        isForOperator: true,
      }
    case 'too_many_websockets':
      return {
        detail: 'too_many_websockets: an app has 10 connections at most: give fewer processes its appToken',
        isForOperator: true,
      }
    default:
      return { detail: `Slack ended the connection: ${reason.slice(0, 100)}` }
  }
}

function endOfFault(verdict: Verdict): Partial<End> {
  if (verdict.kind === 'operator')
    return { detail: adviceFor(verdict.code) ?? verdict.detail, isForOperator: true }
  if (verdict.kind === 'retry') return { detail: verdict.outcome.detail, afterMs: verdict.outcome.afterMs }
  return { detail: verdict.kind === 'payload' ? verdict.detail : verdict.code }
}

const APP_TOKEN = 'copy the app-level token once more (Basic Information → App-Level Tokens)'

/** Returns advice on error codes that concern the app-level token instead of the bot token; undefined for other codes. */
export function adviceFor(code: string): string | undefined {
  if (/^(invalid_auth|not_authed|token_revoked|token_expired)$/.test(code))
    return `${code}: Slack does not take the appToken: ${APP_TOKEN}`
  if (code === 'not_allowed_token_type') return `${code}: appToken is not an app-level token: ${APP_TOKEN}`
  if (code === 'missing_scope')
    return `${code}: the appToken lacks the scope connections:write: create another one with it`
  return undefined
}

async function createClient(
  { appToken, apiUrl, timeoutMs, userAgent, proxy, ca }: SocketOptions,
  transport: Transport,
  signal: AbortSignal,
): Promise<SocketModeClient> {
  const loaded: object = await import('@slack/socket-mode')
  const { SocketModeClient } = (
    'default' in loaded ? loaded.default : loaded
  ) as typeof import('@slack/socket-mode')
  return new SocketModeClient({
    appToken,
    logger: QUIET,
    autoReconnectEnabled: false,
    clientPingTimeout: PONG_MS,
    // Its own one ends the sockets of peers that do not answer.
    ...((proxy || ca !== undefined) && { dispatcher: transport.dispatcher }),
    clientOptions: {
      slackApiUrl: apiUrl.href,
      timeout: timeoutMs,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      headers: { Authorization: `Bearer ${appToken}`, 'User-Agent': userAgent },
      fetch: ((url: string, init: never) => transport.fetch(url, init, signal)) as never,
    },
  })
}

/** Calls `read` with each JSON object before the library's listeners. Errors of both are ignored: they would be unhandled rejections. */
function onMessage(client: SocketModeClient, read: (message: Record<string, unknown>) => void): void {
  const own = client.listeners('ws_message')
  client.removeAllListeners('ws_message')
  client.on('ws_message', async (data: unknown, isBinary: unknown) => {
    try {
      const message: unknown = JSON.parse(String(data))
      if (typeof message !== 'object' || message === null) return
      read(message as Record<string, unknown>)
      for (const listener of own) await listener(data, isBinary)
    } catch {
      // Not of Slack.
    }
  })
}

/** The first call asks the peer to close, a second one ends the connection. */
async function closeClient(client: SocketModeClient): Promise<void> {
  const closed = client.disconnect().catch(() => {})
  await Promise.race([closed, sleep(CLOSE_MS)])
  await Promise.race([client.disconnect().catch(() => {}), sleep(CLOSE_MS)])
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

interface Listener {
  /** The name of the sink. */
  sink: string
  handle: OnInteraction
  /** Called with each state of the connection, and first with that of the time. */
  onConnected(isConnected: boolean): void
}

interface Shared {
  socket: SocketMode
  /** While a sink is replaced, the new one is last. */
  listeners: Listener[]
}

/** Sinks of one app share a connection: Slack sends a click to any connection of the app. */
const shared = new Map<string, Shared>()

/**
 * Listens for interactions of an app. `sinkOf` returns the sink that an interaction is for; one for an unknown sink goes to any of
 * the app's.
 */
export function listenToSlack(
  options: SocketOptions,
  listener: Listener,
  sinkOf: (payload: unknown) => string | undefined,
): SocketMode {
  const { appToken, apiUrl, proxy, ca } = options
  const key = JSON.stringify([appToken, apiUrl.href, proxy?.href, ca])
  const dispatch: OnInteraction = (payload, appId) => {
    const listeners = shared.get(key)?.listeners ?? []
    const name = sinkOf(payload)
    const chosen = listeners.findLast((it) => it.sink === name) ?? listeners.at(-1)
    chosen?.handle(payload, appId)
  }
  const entry = shared.get(key) ?? openShared(options, dispatch)
  entry.listeners.push(listener)
  shared.set(key, entry)
  listener.onConnected(entry.socket.trouble() === undefined)
  let isClosed = false
  return {
    trouble: entry.socket.trouble,
    async close() {
      if (isClosed) return
      isClosed = true
      entry.listeners.splice(entry.listeners.indexOf(listener), 1)
      if (entry.listeners.length > 0) return
      shared.delete(key)
      await entry.socket.close()
    },
  }
}

function openShared(options: SocketOptions, onInteraction: OnInteraction): Shared {
  const listeners: Listener[] = []
  const socket = keepConnected(options, onInteraction, (isConnected) => {
    for (const { onConnected } of listeners) onConnected(isConnected)
  })
  return { socket, listeners }
}
