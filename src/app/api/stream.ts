import type { ServerResponse } from 'node:http'
import type { Redis } from 'ioredis'
import type { HistoryRecord } from '../../model/history-record.ts'
import { beginStream, sendData, sendProblem } from '../../observe/server/answer.ts'
import type { ApiCall } from '../../observe/server/site.ts'
import { createSemaphore } from '../../sink/index.ts'
import type { Keys } from '../../store/keys.ts'
import { StreamQuery } from './contract.ts'
import { recordFilter } from './history.ts'
import {
  isBefore,
  isTrimmed,
  newestPosition,
  type Placed,
  type Position,
  positionAfter,
  readForward,
  readPosition,
  writePosition,
} from './history-tail.ts'
import { ApiError } from './routes.ts'
import { visibleRecord } from './scope.ts'
import { gapText, outgoing, type Portion, portionsOf } from './stream-messages.ts'
import { WorkClock } from './work-clock.ts'

interface StreamParts {
  redis(): Redis
  keys: Keys
}

/** Clients of all callers, and of one. */
const MOST_CLIENTS = 1_000
export const MOST_CLIENTS_OF_ONE = 250
/** What clients have not read is kept up to this, of one and of all; beyond it records are left out. */
const MAX_UNREAD_BYTES = 262_144
const MAX_UNREAD_BYTES_OF_ALL = 32 * 2 ** 20
/** A client that reads nothing for so long is cut off. */
const CUT_MS = 30_000
const COMMENT_MS = 15_000
const POLL_MS = 250
const RETRY_MS = 1_000
/** Reading and sending take at most this part of the time of the process; beyond it records are left out. */
const SHARE = 0.05
const MAX_LAG_MS = 5_000
/** Records of one resume, and resumes at the same time. */
const MOST_RESUMED = 20_000
const MOST_RESUMES = 2

interface Client {
  response: ServerResponse
  /** Clients with the same get the same bytes. */
  key: string
  accepts(record: HistoryRecord): HistoryRecord | undefined
  isStillAllowed(): boolean
  skipped: number
  /** Since when too much is unread. */
  fullMs?: number | undefined
}

/**
 * Streams of the history as it is written: one reader of Redis for all clients, only while there are any. No delivery waits for it, and
 * what clients do not read is left out.
 */
export function createStreams({ redis, keys }: StreamParts) {
  const clients = new Set<Client>()
  /** Open streams, also those that are still resumed: of all, and by the caller's name. */
  let open = 0
  const callers = new Map<string, number>()
  const resumes = createSemaphore(MOST_RESUMES)
  /** What was read and sent to all clients; undefined while there are none. */
  let position: Position | undefined
  let starting: Promise<Position> | undefined
  let poll: NodeJS.Timeout | undefined
  let comments: NodeJS.Timeout | undefined
  let isClosed = false
  /** Some clients have records that others do not have yet. */
  let isSending = false

  function schedule(ms: number): void {
    clearTimeout(poll)
    if (open > 0 && !isClosed) poll = setTimeout(() => void read(), ms)
  }

  async function read(): Promise<void> {
    const from = position
    if (!from) return
    try {
      const { placed, isMore, tookMs: readMs } = await readForward(redis(), keys, from)
      const sentMs = await send(from, placed)
      if (sentMs === undefined) return
      if (isMore && isFarBehind(placed)) await skipToEnd()
      // A thousand clients are written to once a second.
      const restMs = Math.max(isMore ? 1 : POLL_MS, Math.min(clients.size, RETRY_MS))
      schedule(Math.max(restMs, (readMs + sentMs) / SHARE))
    } catch {
      schedule(RETRY_MS)
    }
  }

  async function skipToEnd(): Promise<void> {
    const newest = await newestPosition(redis(), keys)
    if (!position) return
    position = newest
    for (const client of clients) write(client, gapText({ why: 'behind' }), 0)
  }

  /**
   * Sends records to all clients, in slices; clients that join meanwhile get them too. Then the position is behind them. Returns how long the
   * process worked on it; undefined if all clients left.
   */
  async function send(from: Position, placed: readonly Placed[]): Promise<number | undefined> {
    if (position !== from) return undefined
    const clock = new WorkClock()
    const made = new Map<string, readonly Portion[]>()
    const records = outgoing(from, placed)
    isSending = true
    try {
      for (const client of clients) {
        const portions = made.get(client.key) ?? portionsOf(records, client.accepts)
        made.set(client.key, portions)
        for (const { bytes, count } of portions) write(client, bytes, count)
        if (!clock.isDue()) continue
        await clock.pause()
        if (position !== from) return undefined
      }
    } finally {
      isSending = false
    }
    position = positionAfter(from, placed)
    return clock.end()
  }

  function mostUnread(): number {
    return Math.min(MAX_UNREAD_BYTES, MAX_UNREAD_BYTES_OF_ALL / open)
  }

  /** Writes, unless too much is unread: then the records are counted, and a `gap` before the next one has their number. */
  function write(client: Client, bytes: Buffer | string, count: number): void {
    const { response } = client
    if (response.destroyed) return
    if (response.writableLength > mostUnread()) {
      client.skipped += count
      client.fullMs ??= performance.now()
      return
    }
    if (client.skipped > 0) response.write(gapText({ why: 'slow', skipped: client.skipped }))
    client.skipped = 0
    client.fullMs = undefined
    response.write(bytes)
  }

  function comment(): void {
    const nowMs = performance.now()
    for (const client of clients) {
      const isStuck = client.fullMs !== undefined && nowMs - client.fullMs > CUT_MS
      if (isStuck || !client.isStillAllowed()) client.response.destroy()
      // The position of all is behind that of clients that have got the records of now.
      else if (position) write(client, isSending ? ': on\n\n' : `: on\nid: ${writePosition(position)}\n\n`, 0)
    }
  }

  /** The first client waits until the position is known; the others come after it. */
  async function start(): Promise<void> {
    if (position) return
    starting ??= newestPosition(redis(), keys).finally(() => {
      starting = undefined
    })
    const newest = await starting
    if (position || open === 0) return
    position = newest
    comments ??= setInterval(comment, COMMENT_MS)
    schedule(POLL_MS)
  }

  function stop(): void {
    clearTimeout(poll)
    clearInterval(comments)
    position = undefined
    comments = undefined
  }

  /** Sends what came since a position, until the client is where the others are, and joins them. */
  async function resume(client: Client, from: Position): Promise<void> {
    const { response } = client
    if (await isTrimmed(redis(), keys, from)) write(client, gapText({ why: 'trimmed' }), 0)
    let at = from
    for (let sent = 0; !response.destroyed; ) {
      const { placed } = await readForward(redis(), keys, at)
      const tail = position
      if (!tail) return
      // What is behind the tail comes to all clients.
      const own = placed.filter((it) => isBefore(it, tail))
      if (own.length === 0 || sent > MOST_RESUMED) {
        if (sent > MOST_RESUMED) write(client, gapText({ why: 'behind' }), 0)
        clients.add(client)
        return
      }
      for (const { bytes, count } of portionsOf(outgoing(at, own), client.accepts)) {
        await drained(response, mostUnread() / 2)
        write(client, bytes, count)
      }
      at = positionAfter(at, own)
      sent += own.length
    }
  }

  return {
    async serve(call: ApiCall): Promise<void> {
      const { request, response, caller } = call
      const query = StreamQuery.safeParse(Object.fromEntries(call.query))
      if (!query.success)
        throw new ApiError(400, `query: ${query.error.issues[0]?.message ?? 'is not valid'}`)
      const last = request.headers['last-event-id']
      const from = last === undefined || last === '' ? undefined : readPosition(String(last))
      if (last && !from) throw new ApiError(400, 'Last-Event-ID is not the id of an event of this stream')
      if (request.method === 'HEAD')
        return sendData(request, response, { status: 200, type: 'text/event-stream', body: Buffer.alloc(0) })
      const own = callers.get(caller.name) ?? 0
      if (open >= MOST_CLIENTS || own >= MOST_CLIENTS_OF_ONE)
        return sendProblem(request, response, 503, 'too many streams are open', { 'retry-after': '10' })
      const client = clientOf(call, query.data)
      const gone = new AbortController()
      open++
      callers.set(caller.name, own + 1)
      response.once('close', () => {
        gone.abort()
        clients.delete(client)
        const left = (callers.get(caller.name) ?? 1) - 1
        if (left > 0) callers.set(caller.name, left)
        else callers.delete(caller.name)
        if (--open === 0) stop()
      })
      try {
        await start()
        if (response.destroyed || !position) return
        beginStream(response)
        if (from) return await resumes.run(() => resume(client, from), gone.signal)
        write(client, `retry: ${RETRY_MS}\nid: ${writePosition(position)}\n\n`, 0)
        clients.add(client)
      } catch (error) {
        // Without the headers of the stream there is still a problem to be answered.
        if (!response.headersSent) throw error
        response.destroy()
      }
    },
    close() {
      isClosed = true
      for (const { response } of clients) response.destroy()
      stop()
    },
  }
}

function clientOf({ response, caller, isStillAllowed }: ApiCall, query: StreamQuery): Client {
  const wanted = recordFilter(query)
  return {
    ...{ response, isStillAllowed, skipped: 0 },
    key: JSON.stringify([query, caller.namespaces]),
    accepts(record) {
      const visible = visibleRecord(caller, record)
      return visible && wanted(visible) ? visible : undefined
    },
  }
}

function isFarBehind(placed: readonly Placed[]): boolean {
  return (placed.at(-1)?.record.atMs ?? 0) < Date.now() - MAX_LAG_MS
}

/** Resolves when little is unread; a client that reads nothing for long is cut off. */
async function drained(response: ServerResponse, bytes: number): Promise<void> {
  if (response.destroyed || response.writableLength < bytes) return
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => response.destroy(), CUT_MS)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    response.once('drain', end).once('close', end)
  })
}
