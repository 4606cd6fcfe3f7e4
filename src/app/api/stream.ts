import type { Redis } from 'ioredis'
import { beginStream, sendData, sendProblem } from '../../observe/server/answer.ts'
import type { ApiCall } from '../../observe/server/site.ts'
import { createSemaphore, type Semaphore } from '../../sink/index.ts'
import type { Keys } from '../../store/keys.ts'
import { type StreamGap, StreamQuery } from './contract.ts'
import {
  createHistoryPages,
  newestPosition,
  type Placed,
  type Position,
  readForward,
  readPosition,
  writePosition,
} from './history-tail.ts'
import { ApiError } from './routes.ts'
import { type Client, clientOf, drained, isStuck } from './stream-client.ts'
import { countFrom, gapText, type Outgoing, outgoing, portionAt } from './stream-messages.ts'
import { createWorkShare, type WorkClock } from './work-share.ts'

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
const COMMENT_MS = 15_000
const POLL_MS = 250
const RETRY_MS = 1_000
/** Reading and sending take at most this part of the time of the process; beyond it records are left out. */
const SHARE = 0.03
const MAX_LAG_MS = 5_000
/** Records of one resume. */
const MOST_RESUMED = 20_000

/** What the streams of one caller share. */
interface CallerStreams {
  open: number
  /** For one portion of a resume at a time: each caller gets as many as others. */
  turns: Semaphore
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
  /** Between two portions of resumes what is new is sent. */
  const resumes = createSemaphore(1)
  const share = createWorkShare(SHARE)
  const pages = createHistoryPages(redis, keys)
  let resuming = 0
  /** What was read and sent to all clients; undefined while there are none. */
  let position: Position | undefined
  let starting: Promise<Position> | undefined
  let poll: NodeJS.Timeout | undefined
  let comments: NodeJS.Timeout | undefined
  const closing = new AbortController()
  /** While some clients have records that others do not have yet: the others, by their keys. */
  let unsent: Map<string, [Client, ...Client[]]> | undefined

  function schedule(ms: number): void {
    clearTimeout(poll)
    if (open > 0 && !closing.signal.aborted) poll = setTimeout(() => void read(), ms)
  }

  async function read(): Promise<void> {
    const from = position
    if (!from) return
    try {
      const isMore = await share.run((clock) => advance(from, clock), closing.signal)
      // A thousand clients are written to once a second.
      if (isMore !== undefined) schedule(isMore ? 1 : Math.max(POLL_MS, Math.min(clients.size, RETRY_MS)))
    } catch {
      schedule(RETRY_MS)
    }
  }

  /** Sends what is new to all clients. Returns whether there is more; undefined if all clients left. */
  async function advance(from: Position, clock: WorkClock): Promise<boolean | undefined> {
    if (position !== from) return undefined
    const { placed, end, isMore } = await readForward(redis(), keys, from, clock)
    if (position !== from || !(await send(from, outgoing(from, placed), end, clock))) return undefined
    if (isMore && isFarBehind(placed)) await skipToEnd(clock)
    return isMore
  }

  async function skipToEnd(clock: WorkClock): Promise<void> {
    const newest = await clock.wait(newestPosition(redis(), keys))
    if (!position) return
    position = newest
    for (const client of clients) if (client.isLive) writeGap(client, { why: 'behind' })
  }

  /**
   * Sends records to all clients, in slices; clients that join meanwhile get them too. Then the position is behind them. Returns false if all
   * clients left.
   */
  async function send(
    from: Position,
    records: readonly Outgoing[],
    end: Position,
    clock: WorkClock,
  ): Promise<boolean> {
    unsent = new Map()
    try {
      for (const client of clients) if (client.isLive) add(client, unsent)
      for (const [key, group] of unsent) {
        unsent.delete(key)
        await sendTo(group, records, clock)
        if (position !== from) return false
      }
      position = end
      return true
    } finally {
      unsent = undefined
    }
  }

  /** Sends records to clients with the same key: each portion to all of them before the next one is made. */
  async function sendTo(
    group: readonly [Client, ...Client[]],
    records: readonly Outgoing[],
    clock: WorkClock,
  ): Promise<void> {
    const { accepts } = group[0]
    for (let next = 0; next < records.length; ) {
      if (!group.some(hasRoom)) {
        const count = countFrom(records, next, accepts)
        for (const client of group) skip(client, count)
        return
      }
      const { bytes, count, passed } = portionAt(records, next, accepts)
      next += passed
      for (const client of group) {
        write(client, bytes, count)
        if (clock.isDue()) await clock.pause()
      }
    }
  }

  /** From now on the client gets what all get, also what is being sent to them. */
  function join(client: Client): void {
    client.isLive = true
    if (unsent) add(client, unsent)
  }

  function mostUnread(): number {
    return Math.min(MAX_UNREAD_BYTES, MAX_UNREAD_BYTES_OF_ALL / open)
  }

  function hasRoom({ response }: Client): boolean {
    return !response.destroyed && response.writableLength <= mostUnread()
  }

  function skip(client: Client, count: number): void {
    client.skipped += count
    client.fullMs ??= performance.now()
  }

  /** Few bytes, which are written also if much is unread. */
  function writeGap({ response }: Client, gap: StreamGap): void {
    if (!response.destroyed) response.write(gapText(gap))
  }

  /** Writes, unless too much is unread: then the records are counted, and a `gap` before the next one has their number. */
  function write(client: Client, bytes: Buffer | string, count: number): void {
    const { response } = client
    if (response.destroyed || bytes.length === 0) return
    if (!hasRoom(client)) return skip(client, count)
    if (client.skipped > 0) response.write(gapText({ why: 'slow', skipped: client.skipped }))
    client.skipped = 0
    client.fullMs = undefined
    response.write(bytes)
  }

  function comment(): void {
    const nowMs = performance.now()
    for (const client of clients) {
      if (isStuck(client, nowMs) || !client.isStillAllowed()) client.response.destroy()
      else if (!client.isLive) {
        // It may wait long for its turn. One that has something to read needs no comment.
        if (client.response.writableLength === 0) write(client, ': on\n\n', 0)
      }
      // The position of all is behind that of clients that have got the records of now.
      else if (position) write(client, unsent ? ': on\n\n' : `: on\nid: ${writePosition(position)}\n\n`, 0)
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
   * Sends what came since a position, until the client is where the others are, and joins them. The client waits for a turn for each
   * portion, and only when it has read the last one: what it does not read keeps nobody waiting.
   */
  async function resume(client: Client, from: Position, turns: Semaphore, gone: AbortSignal): Promise<void> {
    let at = from
    let checked: Position | undefined
    let sent = 0

    /** Sends a portion. Returns whether that was the last one. */
    async function advanceOne(clock: WorkClock): Promise<boolean> {
      const tail = position
      if (!tail) return true
      if (!client.isStillAllowed()) {
        client.response.destroy()
        return true
      }
      // What is behind the tail comes to all clients.
      const { placed, end, isMore, isCut } = await pages.read(at, tail, clock)
      if (isCut.some((it, i) => it && at[i] !== checked?.[i])) writeGap(client, { why: 'trimmed' })
      checked = at
      const records = outgoing(at, placed)
      let next = 0
      while (next < records.length && sent < MOST_RESUMED && hasRoom(client)) {
        const { bytes, count, passed } = portionAt(records, next, client.accepts)
        write(client, bytes, count)
        next += passed
        sent += passed
        at = records[next - 1]?.end ?? at
        if (clock.isDue()) break
      }
      const isAll = next === records.length && !isMore
      if (!isAll && sent < MOST_RESUMED) {
        if (next === records.length) at = end
        return false
      }
      if (!isAll) writeGap(client, { why: 'behind' })
      join(client)
      return true
    }

    resuming++
    try {
      do await drained(client, mostUnread() / 2, gone)
      while (!(await turns.run(() => resumes.run(() => share.run(advanceOne, gone), gone), gone)))
    } finally {
      if (--resuming === 0) pages.clear()
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
      // The client left while the API was loaded: nothing emits `close` any more.
      if (response.destroyed) return
      const own = callers.get(caller.name) ?? { open: 0, turns: createSemaphore(1) }
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
        if (from) return await resume(client, from, own.turns, gone.signal)
        write(client, `retry: ${RETRY_MS}\nid: ${writePosition(position)}\n\n`, 0)
        join(client)
      } catch (error) {
        if (response.destroyed) return
        // Without the headers of the stream there is still a problem to be answered.
        if (!response.headersSent) throw error
        response.destroy()
      }
    },
    close() {
      closing.abort()
      for (const { response } of clients) response.destroy()
      stop()
    },
  }
}

function isFarBehind(placed: readonly Placed[]): boolean {
  const last = placed.at(-1)
  return last !== undefined && last.record.atMs < Date.now() - MAX_LAG_MS
}

function add(client: Client, groups: Map<string, [Client, ...Client[]]>): void {
  const group = groups.get(client.key)
  if (group) group.push(client)
  else groups.set(client.key, [client])
}
