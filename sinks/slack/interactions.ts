import type { Health, KeyValueStore, Mask, Message, SinkContext } from '../../src/sink/index.ts'
import { createActionHandler, sinkOfPayload } from './actions.ts'
import { buttonsOf } from './buttons.ts'
import { createSlackApi, type SlackApi, type Transport } from './client.ts'
import type { SlackConfig } from './config.ts'
import type { ActionsBlock } from './markup.ts'
import type { Poster } from './post.ts'
import type { Bucket } from './rate-limit.ts'
import { adviceFor, listenToSlack, TROUBLE_MS } from './socket-mode.ts'
import type { Threads } from './thread-store.ts'

interface InteractionParts {
  config: SlackConfig
  context: SinkContext
  api: SlackApi
  poster: Poster
  threads: Threads
  fetching: Transport
  /** The limit of updates. */
  updates: Bucket
  mask: Mask
}

/** The buttons of a sink: of its messages, and what clicks on them do. */
interface Interactions {
  buttonsOf(message: Message): ActionsBlock | undefined
  /** Remembers the channels of messages: there the buttons work. */
  poster: Poster
  /** A missing connection is a warning: messages are sent all the same. Without actions the token is checked alone. */
  health(signal: AbortSignal): Promise<Health>
  /** The same without a question to anybody. */
  warnings(): readonly string[]
  close(): Promise<void>
}

/** Returns undefined if the section has no `actions`. */
export function openInteractions(parts: InteractionParts): Interactions | undefined {
  const { config, context, mask, api, threads, updates, fetching } = parts
  const { actions: options, apiUrl, timeout: timeoutMs, proxy, ca } = config
  if (!options) return undefined
  const { name: sink, cluster, userAgent, log, clock, store, actions } = context
  const { appToken } = options
  // `check` and `send-test` act on nothing, so they must not get clicks either.
  if (!actions)
    return {
      buttonsOf: () => undefined,
      poster: parts.poster,
      health: (signal) => checkAppToken({ config, appToken, userAgent, mask }, fetching, signal),
      warnings: () => [],
      async close() {},
    }
  const written = createWrittenChannels(store, () => clock.now())
  const handler = createActionHandler({
    sink,
    cluster,
    config: options,
    apiUrl,
    actions,
    api,
    threads,
    updates,
    log,
    poster: parts.poster,
    transport: fetching,
    wroteTo: written.has,
    now: () => clock.now(),
  })
  const help = 'Whether the connection for buttons is there: 1 or 0.'
  const connected = context.metrics.gauge('buttons_connected', help)
  const socket = listenToSlack(
    {
      appToken,
      apiUrl,
      timeoutMs,
      userAgent,
      proxy,
      ca,
      mask,
      log,
      now: () => clock.now(),
    },
    { sink, handle: handler.handle, onConnected: (isConnected) => connected(isConnected ? 1 : 0) },
    sinkOfPayload,
  )
  function warnings(): string[] {
    const trouble = socket.trouble()
    const forMs = trouble ? clock.now() - trouble.sinceMs : 0
    if (!trouble || forMs < TROUBLE_MS) return []
    return [`buttons have not worked for ${Math.floor(forMs / 60_000)} min: ${trouble.detail}`]
  }

  return {
    buttonsOf: (message) => buttonsOf(message, { sink, actions: options, of: actions.of }),
    poster: {
      ...parts.poster,
      async post(channel, rendered, signal, threadTs) {
        const sent = await parts.poster.post(channel, rendered, signal, threadTs)
        if (sent.kind === 'sent')
          await written
            .add(sent.channelId)
            .catch((error) => log.debug({ error }, 'a channel could not be remembered for its buttons'))
        return sent
      },
    },
    async health() {
      const found = warnings()
      return found.length > 0 ? { ok: true, warnings: found } : { ok: true }
    },
    warnings,
    async close() {
      await socket.close()
      await handler.close()
    },
  }
}

interface CheckParts {
  config: SlackConfig
  appToken: string
  userAgent: string
  mask: Mask
}

/** Asks for the address of a connection, and opens none. */
async function checkAppToken(
  { config, appToken, userAgent, mask }: CheckParts,
  fetching: Transport,
  signal: AbortSignal,
): Promise<Health> {
  const { apiUrl, timeout: timeoutMs } = config
  const api = await createSlackApi({ token: appToken, apiUrl, timeoutMs, userAgent, mask }, fetching)
  const about = { channel: 'the workspace', threaded: false }
  const called = await api.call('apps.connections.open', {}, about, signal)
  if (called.ok) return { ok: true }
  const { verdict } = called
  if (verdict.kind !== 'operator')
    return { ok: true, warnings: ['Slack did not answer for the appToken: not checked'] }
  const detail = adviceFor(verdict.code) ?? verdict.detail
  return { ok: false, reason: verdict.reason, detail: `actions: ${detail}` }
}

/** Messages may stay in a channel for longer than anybody clicks on them. */
const KEEP_MS = 30 * 86_400_000
const REFRESH_MS = 86_400_000
const MOST_KNOWN = 1_000

/** The ids of the channels that a sink has written to, for all its processes. A click names the id only, and rules choose channels too. */
function createWrittenChannels(store: KeyValueStore, now: () => number) {
  const writtenMs = new Map<string, number>()
  const keyOf = (channelId: string) => `channel:${channelId}`
  return {
    async add(channelId: string): Promise<void> {
      if ((writtenMs.get(channelId) ?? Number.NEGATIVE_INFINITY) > now() - REFRESH_MS) return
      await store.set(keyOf(channelId), '1', { ttlMs: KEEP_MS })
      if (writtenMs.size >= MOST_KNOWN) writtenMs.clear()
      writtenMs.set(channelId, now())
    },
    has: async (channelId: string) => (await store.get(keyOf(channelId))) !== undefined,
  }
}
