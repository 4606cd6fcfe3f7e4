import type { ServerResponse } from 'node:http'
import type { Redis } from 'ioredis'
import type { HistoryRecord } from '../../model/history-record.ts'
import { beginStream, sendData, sendProblem } from '../../observe/server/answer.ts'
import type { ApiCall } from '../../observe/server/site.ts'
import { createSemaphore, type Semaphore } from '../../sink/index.ts'
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
  /** Resolves when Redis is connected. Rejects if it is not, after a time. */
  ready(): Promise<void>
  keys: Keys
}

/** Clients of all callers, and of one. */
export const MOST_CLIENTS = 1_000
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
/** Records of one resume. */
const MOST_RESUMED = 20_000
/** Portions that are read from Redis at the same time, of all resumes and of those of one caller. */
const MOST_READS = 2
const MOST_READS_OF_ONE = 1

interface Client {
  response: ServerResponse
  /** Clients with the same get the same bytes. */
  key: string
  accepts(record: HistoryRecord): HistoryRecord | undefined
  isStillAllowed(): boolean
  /** False while it resumes: it does not get what is written meanwhile. */
  isLive: boolean
  skipped: number
  /** Since when too much is unread, or the client has last read any of it. */
  fullMs?: number | undefined
  /** Bytes that were unread at the last check. */
  unreadBytes: number
}

/** What the streams of one caller share. */
interface CallerStreams {
  open: number
  reads: Semaphore
}

/**
 * Streams of the history as it is written: one reader of Redis for all clients, only while there are any. No delivery waits for it, and
 * what clients do not read is left out.
 */
export function createStreams({ redis, ready, keys }: StreamParts) {
  /** Those that resume, too. */
  const clients = new Set<Client>()
  /** Open streams of all, also those that have no position yet; and by the caller's name. */
  let open = 0
  const callers = new Map<string, CallerStreams>()
  const reads = createSemaphore(MOST_READS)
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
    for (const client of clients) if (client.isLive) write(client, gapText({ why: 'behind' }), 0)
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
        if (!client.isLive) continue
        const portions = made.get(client.key) ?? [...portionsOf(records, client.accepts)]
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

  /** From now on the client gets what all get, also what is being sent to them. */
  function join(client: Client): void {
    client.isLive = true
    clients.delete(client)
    clients.add(client)
  }

  function mostUnread(): number {
    return Math.min(MAX_UNREAD_BYTES, MAX_UNREAD_BYTES_OF_ALL / open)
  }

  /** Writes, unless too much is unread: then the records are counted, and a `gap` before the next one has their number. */
  function write(client: Client, bytes: Buffer | string, count: number): void {
    const { response } = client
    if (response.destroyed || bytes.length === 0) return
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
      if (isStuck(client, nowMs) || !client.isStillAllowed()) client.response.destroy()
      // The position of all is behind that of clients that have got the records of now.
      else if (client.isLive && position)
        write(client, isSending ? ': on\n\n' : `: on\nid: ${writePosition(position)}\n\n`, 0)
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

  /**
   * Sends what came since a position, until the client is where the others are, and joins them. The client takes a place of `reads` only
   * while a portion is read: what it does not take from its socket keeps nobody waiting, and is read again later.
   */
  async function resume(client: Client, from: Position, own: Semaphore, gone: AbortSignal): Promise<void> {
    const { response } = client
    const queued = <T>(read: () => Promise<T>) => own.run(() => reads.run(read, gone), gone)
    if (await queued(() => isTrimmed(redis(), keys, from))) write(client, gapText({ why: 'trimmed' }), 0)
    let at = from
    for (let sent = 0; ; ) {
      await drained(client, mostUnread() / 2)
      if (response.destroyed) return
      if (!client.isStillAllowed()) return void response.destroy()
      const { placed } = await queued(() => readForward(redis(), keys, at))
      const tail = position
      if (!tail) return
      // What is behind the tail comes to all clients.
      const missed = placed.filter((it) => isBefore(it, tail))
      if (missed.length === 0 || sent > MOST_RESUMED) {
        if (sent > MOST_RESUMED) write(client, gapText({ why: 'behind' }), 0)
        return join(client)
      }
      for (const { bytes, count, end, passed } of portionsOf(outgoing(at, missed), client.accepts)) {
        if (response.writableLength > mostUnread()) break
        write(client, bytes, count)
        at = end
        sent += passed
      }
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
      const own = callers.get(caller.name) ?? { open: 0, reads: createSemaphore(MOST_READS_OF_ONE) }
      if (open >= MOST_CLIENTS || own.open >= MOST_CLIENTS_OF_ONE)
        return sendProblem(request, response, 503, 'too many streams are open', { 'retry-after': '10' })
      const client = clientOf(call, query.data)
      const gone = new AbortController()
      open++
      own.open++
      callers.set(caller.name, own)
      response.once('close', () => {
        gone.abort()
        clients.delete(client)
        if (--own.open === 0) callers.delete(caller.name)
        if (--open === 0) stop()
      })
      try {
        await ready()
        await start()
        if (response.destroyed || !position) return
        beginStream(response)
        clients.add(client)
        if (from) return await resume(client, from, own.reads, gone.signal)
        write(client, `retry: ${RETRY_MS}\nid: ${writePosition(position)}\n\n`, 0)
        join(client)
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
    ...{ response, isStillAllowed, isLive: false, skipped: 0, unreadBytes: 0 },
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

/** Whether a client of which too much is unread has read nothing for long. */
function isStuck(client: Client, nowMs: number): boolean {
  const unreadBytes = client.response.writableLength
  if (client.fullMs !== undefined && unreadBytes < client.unreadBytes) client.fullMs = nowMs
  client.unreadBytes = unreadBytes
  return client.fullMs !== undefined && nowMs - client.fullMs > CUT_MS
}

/** Resolves when everything is read, if more than some bytes were unread, or the client is gone: one that reads nothing for long is cut off. */
async function drained(client: Client, bytes: number): Promise<void> {
  const { response } = client
  if (response.destroyed || response.writableLength < bytes) return
  client.fullMs = performance.now()
  await new Promise<void>((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end)
      resolve()
    }
    response.once('drain', end).once('close', end)
  })
  client.fullMs = undefined
}
