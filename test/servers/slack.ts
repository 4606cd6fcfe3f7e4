import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSocketMode, type FakeSocketMode, TEAM_ID } from './slack/socket-mode.ts'
import { type Answered, type Channel, createWorkspace, type Posted } from './slack/workspace.ts'

/** A call as it came, and what was answered; `error` is '' for success. */
export interface Call {
  method: string
  args: Record<string, any>
  userAgent: string
  status: number
  error: string
  atMs: number
}

/** A fault, once for each time that `times` says. */
export interface Fault {
  /** Only for this API method, or `webhook`. */
  method?: string
  /** Only for calls to this channel. */
  channel?: string
  /** How often; default once. */
  times?: number
  status?: number
  headers?: Record<string, string>
  body?: string
  /** An error as Slack names it, in a 200. */
  error?: string
  more?: object
  delayMs?: number
  /** Never answers; or begins to. */
  hang?: 'before-headers' | 'in-body'
  /** Cuts the connection before or after the message was taken. */
  reset?: 'before' | 'after'
  /** Answers with so many bytes. */
  bytes?: number
  /** Announces more of the body than it sends. */
  cut?: boolean
}

export interface SlackOptions {
  /** Messages a second and channel, and how many at once. Slack: about 1, short bursts. */
  perSecond?: number
  burst?: number
  updatesPerMinute?: number
  /** Serves https with it. */
  tls?: { cert: string; key: string }
}

export interface FakeSlack extends AsyncDisposable {
  readonly apiUrl: string
  readonly token: string
  readonly webhookUrl: string
  /** Messages as they stand now, in the order in which they came. */
  readonly messages: Posted[]
  readonly calls: Call[]
  /** Clicks on buttons, and the connections over which they are reported. */
  readonly clicks: FakeSocketMode
  /** Of the token; may be changed. */
  readonly scopes: Set<string>
  channel(name: string, parts?: Partial<Channel>): Channel
  fault(fault: Fault): void
  /** Ends all faults; calls that hang are cut. */
  mend(): void
  /** What replies to a message. */
  repliesTo(ts: string): Posted[]
  /** Takes a message away, as a user may. */
  remove(ts: string): void
  /** The token that is taken from now on. */
  rotate(token: string): void
  tellScopes: boolean
  webhookError?: { status: number; body: string } | undefined
}

const FIRST_TOKEN = 'xoxb-1111111111-fake-token-abcdef'

/** Slack, as strict as its documentation, on loopback. */
export async function startSlack(options: SlackOptions = {}): Promise<FakeSlack> {
  const { perSecond = 1, burst = 5, updatesPerMinute = 50, tls } = options
  const workspace = createWorkspace()
  const calls: Call[] = []
  const faults: Fault[] = []
  const scopes = new Set(['chat:write', 'chat:write.public', 'channels:read'])
  const hanging = new Set<ServerResponse>()
  const socketMode = createSocketMode({ origin: () => origin })
  const limits = new Map<string, { tokens: number; atMs: number }>()
  let token = FIRST_TOKEN

  /** Seconds to wait, or 0. */
  function limited(name: string, rate: number, most: number): number {
    const now = performance.now()
    const it = limits.get(name) ?? { tokens: most, atMs: now }
    it.tokens = Math.min(most, it.tokens + ((now - it.atMs) * rate) / 1_000)
    it.atMs = now
    limits.set(name, it)
    if (it.tokens < 0.95) return Math.max(1, Math.ceil((1 - it.tokens) / rate))
    it.tokens -= 1
    return 0
  }

  function answerTo(
    method: string,
    args: Record<string, any>,
    bearer: string | undefined,
  ): Answered | number {
    if (bearer === undefined) return { error: 'not_authed' }
    if (method === 'apps.connections.open') return socketMode.open(bearer)
    if (bearer === socketMode.appToken) return { error: 'not_allowed_token_type' }
    if (bearer !== token) return { error: 'invalid_auth' }
    const needs = (scope: string) =>
      scopes.has(scope)
        ? undefined
        : { error: 'missing_scope', needed: scope, provided: [...scopes].join(',') }
    switch (method) {
      case 'auth.test':
        return {
          url: 'https://fake.slack.com/',
          team: 'Fake',
          user: 'kubeherald',
          team_id: TEAM_ID,
          bot_id: 'B0000001',
        }
      case 'chat.postMessage': {
        const channel = workspace.find(String(args['channel'] ?? ''))
        const waitS = channel ? limited(`post:${channel.id}`, perSecond, burst) : 0
        return waitS > 0 ? waitS : (needs('chat:write') ?? workspace.post(args, scopes))
      }
      case 'chat.update': {
        const waitS = limited('update', updatesPerMinute / 60, updatesPerMinute)
        return waitS > 0 ? waitS : (needs('chat:write') ?? workspace.update(args))
      }
      case 'chat.postEphemeral':
        return needs('chat:write') ?? socketMode.answer(args)
      case 'conversations.info': {
        const channel = workspace.channels.find((it) => it.id === args['channel'])
        return (
          needs('channels:read') ?? (channel ? { channel: shown(channel) } : { error: 'channel_not_found' })
        )
      }
      case 'conversations.list': {
        const visible = workspace.channels.filter(
          (it) => !it.private || (it.member && scopes.has('groups:read')),
        )
        const from = Number(args['cursor'] || 0)
        const size = Math.min(Number(args['limit'] ?? 100), 2)
        const next = from + size < visible.length ? String(from + size) : ''
        const page = visible.slice(from, from + size).map(shown)
        return needs('channels:read') ?? { channels: page, response_metadata: { next_cursor: next } }
      }
      default:
        return { error: 'unknown_method' }
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await read(request)
    const path = new URL(request.url ?? '', 'http://fake').pathname
    const method = path.startsWith('/api/') ? path.slice('/api/'.length) : 'webhook'
    const args = argsOf(request.headers['content-type'] ?? '', body)
    const userAgent = request.headers['user-agent'] ?? ''
    const call: Call = { method, args, userAgent, status: 0, error: '', atMs: performance.now() }
    calls.push(call)
    const fault = takeFault(faults, method, args)
    if (fault?.delayMs) await new Promise((resolve) => setTimeout(resolve, fault.delayMs))
    if (fault?.reset === 'before') return void request.socket.destroy()
    if (fault?.hang === 'before-headers') return void hanging.add(response)
    if (fault && isAnswer(fault)) return answerFault(fault, call, response)
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    const responded = socketMode.respond(path, args)
    if (responded) {
      call.status = responded.status
      return void response.writeHead(responded.status).end(responded.text)
    }
    if (method === 'webhook') return answerWebhook(path, args, call, response)
    const answered = args['__invalid'] ? { error: 'invalid_arguments' } : answerTo(method, args, bearer)
    if (fault?.reset === 'after') return void request.socket.destroy()
    const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' }
    if (bearer === token && api.tellScopes) headers['x-oauth-scopes'] = [...scopes].join(',')
    if (typeof answered === 'number') {
      call.status = 429
      call.error = 'ratelimited'
      response.writeHead(429, { ...headers, 'retry-after': String(answered) })
      return void response.end(JSON.stringify({ ok: false, error: 'ratelimited' }))
    }
    call.status = 200
    call.error = answered.error ?? ''
    const json = JSON.stringify({ ok: answered.error === undefined, ...answered })
    if (fault?.cut) {
      response.writeHead(200, { ...headers, 'content-length': String(json.length + 100) })
      response.write(json, () => response.destroy())
      return
    }
    if (fault?.hang === 'in-body') {
      hanging.add(response)
      response.writeHead(200, headers).write(json.slice(0, 10))
      return
    }
    response.writeHead(200, headers).end(json)
  }

  function answerWebhook(
    path: string,
    args: Record<string, any>,
    call: Call,
    response: ServerResponse,
  ): void {
    const end = (status: number, text: string) => {
      call.status = status
      call.error = text === 'ok' ? '' : text
      response.writeHead(status, { 'content-type': 'text/html' }).end(text)
    }
    if (api.webhookError) return end(api.webhookError.status, api.webhookError.body)
    if (path !== WEBHOOK_PATH) return end(404, 'no_service')
    const channel = workspace.channels[0]
    if (!channel || args['__invalid']) return end(400, 'invalid_payload')
    if (channel.archived) return end(410, 'channel_is_archived')
    if (limited(`post:${channel.id}`, perSecond, burst) > 0) return end(429, 'rate_limited')
    const answered = workspace.put(channel, args)
    if (answered.error === undefined) return end(200, 'ok')
    end(400, answered.error === 'invalid_blocks' ? 'invalid_blocks' : answered.error)
  }

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    handle(request, response).catch(() => response.destroy())
  }
  const server = tls ? createTlsServer(tls, answer) : createServer(answer)
  server.on('upgrade', (request, socket) => socketMode.upgrade(request, socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`
  const api: FakeSlack = {
    apiUrl: `${origin}/api/`,
    token: FIRST_TOKEN,
    webhookUrl: `${origin}${WEBHOOK_PATH}`,
    messages: workspace.messages,
    calls,
    clicks: socketMode,
    scopes,
    tellScopes: true,
    channel: workspace.channel,
    fault: (fault) => void faults.push({ ...fault }),
    mend() {
      faults.splice(0)
      for (const response of hanging) response.destroy()
      hanging.clear()
    },
    repliesTo: (ts) => workspace.messages.filter((it) => it.threadTs === ts),
    remove(ts) {
      const at = workspace.messages.findIndex((it) => it.ts === ts)
      if (at >= 0) workspace.messages.splice(at, 1)
    },
    rotate(next) {
      token = next
    },
    async [Symbol.asyncDispose]() {
      for (const response of hanging) response.destroy()
      const closed = once(server, 'close')
      server.close()
      socketMode.cut()
      server.closeAllConnections()
      await closed
    },
  }
  return api
}

const WEBHOOK_PATH = '/services/T00000001/B00000001/abcdefghijklmnopqrstuvwx'

function shown({ id, name, private: is_private, member: is_member, archived: is_archived }: Channel) {
  return { id, name, is_private, is_member, is_archived }
}

function takeFault(faults: Fault[], method: string, args: Record<string, any>): Fault | undefined {
  const at = faults.findIndex(
    (it) =>
      (it.method === undefined || it.method === method) &&
      (it.channel === undefined || it.channel === String(args['channel']).replace(/^#/, '')),
  )
  const fault = faults[at]
  if (!fault) return undefined
  fault.times = (fault.times ?? 1) - 1
  if (fault.times <= 0) faults.splice(at, 1)
  return fault
}

function isAnswer({ status, body, error, bytes }: Fault): boolean {
  return status !== undefined || body !== undefined || error !== undefined || bytes !== undefined
}

function answerFault(fault: Fault, call: Call, response: ServerResponse): void {
  const { status = 200, headers = {}, bytes, error, more } = fault
  call.status = status
  call.error = error ?? 'fault'
  if (bytes !== undefined) {
    response.writeHead(status, headers)
    let left = bytes
    const chunk = Buffer.alloc(64 * 1024, ' ')
    const write = () => {
      while (left > 0 && !response.destroyed) {
        left -= chunk.length
        if (!response.write(chunk)) return void response.once('drain', write)
      }
      response.end()
    }
    return write()
  }
  const body = error === undefined ? (fault.body ?? '') : JSON.stringify({ ok: false, error, ...more })
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}

/** Form fields whose values may be JSON, or JSON as a whole. */
function argsOf(contentType: string, body: string): Record<string, any> {
  try {
    if (contentType.startsWith('application/json')) return JSON.parse(body)
    const args: Record<string, any> = Object.fromEntries(new URLSearchParams(body))
    for (const key of ['blocks', 'attachments', 'metadata'])
      if (args[key] !== undefined) args[key] = JSON.parse(args[key])
    return args
  } catch {
    return { __invalid: true }
  }
}

async function read(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
