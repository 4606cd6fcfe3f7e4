import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServerSocket } from './websocket.ts'
import type { Answered, Posted } from './workspace.ts'

export const APP_ID = 'A0000000001'
export const TEAM_ID = 'T00000001'
const FIRST_TOKEN = 'xapp-1-A0000000001-1111111111-fakeapptoken'
/** Slack's limits: acknowledgements, connections of an app, answers to one click. */
const ACK_MS = 3_000
const MOST_CONNECTIONS = 10
const MOST_ANSWERS = 5
const ANSWER_MS = 30 * 60_000

/** A click as a user makes it: the button by its label. */
export interface Click {
  user?: string
  username?: string
  team?: string
  /** Replaces parts of the payload. */
  forged?: object
  /** Replaces the value of the button. */
  value?: string
  /** How long ago it was, for one that Slack delivers late; undefined: now. */
  agoMs?: number
}

/** What only the user who clicked sees. */
export interface EphemeralAnswer {
  user: string
  text: string
}

export interface FakeSocketMode {
  /** Of the app; clicks come only to connections with it. */
  readonly appToken: string
  /** Connections that were greeted and live. */
  readonly connections: number
  /** Connections that were ever greeted. */
  readonly greeted: number
  readonly answers: EphemeralAnswer[]
  /** What Slack would not accept: missing acknowledgements, wrong ones. */
  readonly faults: string[]
  /** How many connections the app may have. */
  limit: number
  /** Refuses tokens, as after they were revoked. */
  refusal: string | undefined
  /** Clicks a button of a message, and resolves with its envelope's acknowledgement. Rejects as Slack shows a warning: not connected, or not acknowledged. */
  click(message: Posted, label: string, click?: Click): Promise<void>
  /** Sends any text to one connection. */
  say(text: string): void
  /** Asks every connection to be replaced. */
  refresh(reason?: string): void
  /** Cuts every connection. */
  cut(): void
  ping(): Promise<void>
}

interface SocketModeParts {
  origin(): string
}

/** Slack's Socket Mode, as documented: https://docs.slack.dev/apis/events-api/using-socket-mode. */
export function createSocketMode({ origin }: SocketModeParts) {
  const tickets = new Set<string>()
  const sockets: ServerSocket[] = []
  const refused = new Set<ServerSocket>()
  const waiting = new Map<string, () => void>()
  const responses = new Map<string, { user: string; left: number }>()
  const api = {
    appToken: FIRST_TOKEN,
    limit: MOST_CONNECTIONS,
    refusal: undefined as string | undefined,
    greeted: 0,
    answers: [] as EphemeralAnswer[],
    faults: [] as string[],
    get connections() {
      return sockets.length
    },

    /** apps.connections.open */
    open(bearer: string): Answered {
      if (bearer.startsWith('xoxb-') || bearer.startsWith('xoxp-')) return { error: 'not_allowed_token_type' }
      if (api.refusal !== undefined) return { error: api.refusal }
      if (bearer !== api.appToken) return { error: 'invalid_auth' }
      const ticket = randomUUID()
      tickets.add(ticket)
      return { url: `${origin().replace('http', 'ws')}/link/?ticket=${ticket}&app_id=${APP_ID}` }
    },

    upgrade(request: IncomingMessage, socket: Duplex): void {
      const url = new URL(request.url ?? '', 'http://fake')
      // A ticket is good for one connection.
      if (url.pathname !== '/link/' || !tickets.delete(url.searchParams.get('ticket') ?? '')) {
        socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n')
        return
      }
      const it = new ServerSocket(request, socket)
      if (sockets.length >= api.limit) {
        refused.add(it)
        it.send(JSON.stringify({ type: 'disconnect', reason: 'too_many_websockets', debug_info: {} }))
        return
      }
      sockets.push(it)
      api.greeted++
      it.on('end', () => void sockets.splice(sockets.indexOf(it), sockets.includes(it) ? 1 : 0))
      it.on('text', acknowledged)
      const debug_info = { host: 'fake', approximate_connection_time: 18_060 }
      const connection_info = { app_id: APP_ID }
      it.send(JSON.stringify({ type: 'hello', num_connections: sockets.length, debug_info, connection_info }))
    },

    async click(message: Posted, label: string, click: Click = {}): Promise<void> {
      const payload = payloadOf(message, label, click, (user) => {
        const path = `/actions/${APP_ID}/${randomUUID()}/fake`
        responses.set(path, { user, left: (click.agoMs ?? 0) > ANSWER_MS ? 0 : MOST_ANSWERS })
        return origin() + path
      })
      const it = sockets.shift()
      if (!it) throw new Error('the app is not connected')
      sockets.push(it)
      const envelope_id = randomUUID()
      const acked = Promise.withResolvers<void>()
      const limit = setTimeout(() => {
        api.faults.push(`no acknowledgement of ${label} within ${ACK_MS} ms`)
        acked.reject(new Error('the app did not respond'))
      }, ACK_MS)
      waiting.set(envelope_id, acked.resolve)
      it.send(JSON.stringify({ envelope_id, type: 'interactive', accepts_response_payload: false, payload }))
      await acked.promise.finally(() => {
        clearTimeout(limit)
        waiting.delete(envelope_id)
      })
    },

    say: (text: string) => sockets[0]?.send(text),

    refresh(reason = 'refresh_requested') {
      // Those are replaced: clicks come to the new ones only.
      for (const it of sockets.splice(0))
        it.send(JSON.stringify({ type: 'disconnect', reason, debug_info: {} }))
    },

    cut() {
      for (const it of [...sockets.splice(0), ...refused]) it.cut()
      refused.clear()
    },

    async ping() {
      await Promise.all(
        sockets.map((it) => {
          const answered = Promise.withResolvers<void>()
          it.once('pong', () => answered.resolve())
          it.ping()
          return answered.promise
        }),
      )
    },

    /** chat.postEphemeral */
    answer({ user, text }: Record<string, any>): Answered {
      if (typeof user !== 'string' || typeof text !== 'string' || text === '') return { error: 'no_text' }
      api.answers.push({ user, text })
      return { message_ts: '1.1' }
    },

    /** An answer to a click's response_url; undefined if that is none. */
    respond(path: string, args: Record<string, any>): { status: number; text: string } | undefined {
      if (!path.startsWith('/actions/')) return undefined
      const it = responses.get(path)
      if (!it || it.left-- <= 0) return { status: 404, text: 'expired_url' }
      const { response_type, replace_original, text } = args
      if (typeof text !== 'string' || text === '') return { status: 400, text: 'no_text' }
      if (response_type !== 'ephemeral' || replace_original !== false)
        api.faults.push(
          `an answer that everybody sees, or that replaces the message: ${JSON.stringify(args)}`,
        )
      api.answers.push({ user: it.user, text })
      return { status: 200, text: 'ok' }
    },
  }

  function acknowledged(text: string): void {
    const { envelope_id: id, payload, ...rest } = JSON.parse(text) as Record<string, unknown>
    if (typeof id !== 'string' || !waiting.has(id)) api.faults.push(`acknowledges what was not sent: ${text}`)
    // No response payload is accepted for clicks; an empty one is none.
    if (Object.keys((payload as object) ?? {}).length > 0 || Object.keys(rest).length > 0)
      api.faults.push(`says more than it may: ${text}`)
    waiting.get(String(id))?.()
  }

  return api
}

type Json = any

/** As documented for a button in an attachment: https://docs.slack.dev/reference/interaction-payloads/block_actions-payload. */
function payloadOf(
  message: Posted,
  label: string,
  click: Click,
  responseUrl: (user: string) => string,
): object {
  const { user = 'U0000000001', username = 'alice', team = TEAM_ID, value, forged, agoMs = 0 } = click
  const block: Json = message.attachments[0].blocks.find((it: Json) => it.type === 'actions')
  const button: Json = block?.elements.find((it: Json) => it.text.text === label)
  if (!button) throw new Error(`there is no button ${label}`)
  const attachments = message.attachments.map((it: Json, i: number) => ({
    id: i + 1,
    fallback: it.fallback,
    color: it.color.replace('#', ''),
    blocks: it.blocks.map((one: Json, j: number) => ({ block_id: `b${j}`, ...one })),
  }))
  const thread = message.threadTs === undefined ? {} : { thread_ts: message.threadTs }
  return {
    type: 'block_actions',
    user: { id: user, username, name: username, team_id: team },
    api_app_id: APP_ID,
    token: 'deprecated-verification-token',
    container: {
      type: 'message_attachment',
      message_ts: message.ts,
      attachment_id: 1,
      channel_id: message.channelId,
      is_ephemeral: false,
      is_app_unfurl: false,
      ...thread,
    },
    trigger_id: '1.2.3',
    team: { id: TEAM_ID, domain: 'fake' },
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: message.channelId, name: message.channel },
    message: {
      type: 'message',
      subtype: 'bot_message',
      bot_id: 'B0000001',
      app_id: APP_ID,
      text: message.text,
      ts: message.ts,
      ...thread,
      attachments,
    },
    state: { values: {} },
    response_url: responseUrl(user),
    actions: [
      {
        action_id: button.action_id,
        block_id: block.block_id,
        text: { ...button.text, emoji: true },
        ...(button.url === undefined ? { value: value ?? button.value } : { url: button.url }),
        type: 'button',
        ...(Number.isNaN(agoMs) ? {} : { action_ts: ((Date.now() - agoMs) / 1_000).toFixed(6) }),
      },
    ],
    ...forged,
  }
}
