import { createHash, randomBytes } from 'node:crypto'
import {
  fromStore,
  type KeyValueStore,
  type Logger,
  type Outcome,
  type Severity,
} from '../../src/sink/index.ts'
import type { Rendered } from './markup.ts'
import type { Poster } from './post.ts'
import type { Bucket } from './rate-limit.ts'

/** The message that a group of changes hangs on. */
export interface Thread {
  channelId: string
  ts: string
  severity: Severity
  /** Identifies the state that the message shows; another value means that somebody else has updated it since. */
  rev: string
  /** How many changes came after the first. */
  changes: number
  /** Time and title of the first change, in mrkdwn. */
  sinceMs: number
  title: string
  /** When the message was written last. */
  writtenMs: number
}

/** The threads of a sink, in the store that all processes share. */
export interface Threads {
  find(key: string): Promise<Thread | undefined>
  save(key: string, thread: Thread): Promise<void>
  forget(key: string): Promise<void>
  /** The right to open a thread, for a short time; undefined when another has it. */
  lock(key: string): Promise<{ release(): Promise<void> } | undefined>
}

export function createThreads(store: KeyValueStore, ttlMs: number, lockMs: number): Threads {
  return {
    async find(key) {
      return parsed(await fromStore(store.get(key)))
    },
    save: (key, thread) => fromStore(store.set(key, JSON.stringify(thread), { ttlMs })),
    async forget(key) {
      await fromStore(store.delete(key))
    },
    async lock(key) {
      const name = `lock:${key}`
      const owner = newRev()
      if (!(await fromStore(store.add(name, owner, { ttlMs: lockMs })))) return undefined
      return {
        async release() {
          // It ends by itself.
          await store.delete(name, owner).catch(() => {})
        },
      }
    },
  }
}

/** `thread:<channel>:<hash>` */
export function threadKey(channel: string, group: string): string {
  return `thread:${channel}:${createHash('sha256').update(group).digest('hex').slice(0, 32)}`
}

const RANK: Record<Severity, number> = { resolved: 0, info: 1, warning: 2, error: 3 }

export function isWorse(severity: Severity, than: Severity): boolean {
  return RANK[severity] > RANK[than]
}

export function newRev(): string {
  return randomBytes(8).toString('hex')
}

function parsed(text: string | undefined): Thread | undefined {
  if (text === undefined) return undefined
  try {
    const thread = JSON.parse(text) as Partial<Thread>
    return typeof thread.channelId === 'string' && typeof thread.ts === 'string'
      ? (thread as Thread)
      : undefined
  } catch {
    return undefined
  }
}

/** The new state of a thread's first message. */
interface RootUpdate {
  key: string
  channel: string
  thread: Thread
  rendered: Rendered
  /** The thread is over, and forgotten already. */
  final: boolean
}

/**
 * Keeps the first message of each thread at the newest state: changes within `everyMs` are one update. The changes
 * themselves are delivered as replies. The next change repairs an update that a crash has lost; nothing repairs the
 * last one of a thread that is over.
 */
export interface RootMessages {
  schedule(update: RootUpdate): void
  /** Updates immediately if the rate permits, else soon. */
  now(update: RootUpdate, signal: AbortSignal): Promise<void>
  /** Writes pending updates, within CLOSE_MS. */
  close(): Promise<void>
}

interface RootMessagesParts {
  poster: Poster
  threads: Threads
  /** The limit of updates. */
  bucket: Bucket
  log: Logger
  everyMs: number
}

/** Returns how long to wait after a failure, and whether updates in other channels wait as well. */
function pauseOf(outcome: Outcome | undefined): { afterMs?: number | undefined; isForAll: boolean } {
  if (outcome?.kind !== 'retry') return { isForAll: false }
  const { afterMs, reason, scope } = outcome
  return { afterMs, isForAll: reason === 'rate-limited' || scope === 'sink' }
}

const MOST_WAITING = 1_000
const MOST_TRIES = 5
const AGAIN_MS = 500
const CLOSE_MS = 2_000

interface Waiting extends RootUpdate {
  dueMs: number
  tries: number
}

export function createRootMessages({
  poster,
  threads,
  bucket,
  log,
  everyMs,
}: RootMessagesParts): RootMessages {
  const waiting = new Map<string, Waiting>()
  const writtenMs = new Map<string, number>()
  const stop = new AbortController()
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined

  const nameOf = ({ thread }: RootUpdate) => `${thread.channelId}:${thread.ts}`

  function put(update: RootUpdate, dueMs: number, tries: number): void {
    const name = nameOf(update)
    waiting.delete(name)
    if (waiting.size >= MOST_WAITING) waiting.delete(waiting.keys().next().value as string)
    waiting.set(name, { ...update, dueMs, tries })
    arm()
  }

  function arm(): void {
    clearTimeout(timer)
    if (closed || running || waiting.size === 0) return
    const dueMs = Math.min(...[...waiting.values()].map((it) => it.dueMs))
    timer = setTimeout(run, Math.max(0, dueMs - performance.now()))
    timer.unref()
  }

  function run(): void {
    running = writeDue().finally(() => {
      running = undefined
      arm()
    })
  }

  async function writeDue(): Promise<void> {
    for (const [name, it] of waiting) {
      if (closed) return
      if (it.dueMs > performance.now()) continue
      const waitMs = bucket.take()
      if (waitMs > 0) {
        it.dueMs = performance.now() + waitMs
        return
      }
      waiting.delete(name)
      await write(it, stop.signal)
    }
  }

  async function write(it: Waiting, signal: AbortSignal): Promise<void> {
    const { key, channel, thread, rendered, final } = it
    try {
      if (!final && (await threads.find(key))?.rev !== thread.rev) return
      remember(nameOf(it))
      const sent = await poster.update(channel, thread, rendered, signal)
      if (sent.kind === 'sent') return
      if (sent.kind === 'gone') {
        log.debug({ channel, code: sent.code }, 'the first message of a thread is gone')
        // The next change opens a new one.
        if (!final && (await threads.find(key))?.ts === thread.ts) await threads.forget(key)
        return
      }
      again(it, sent.outcome)
    } catch (error) {
      log.debug({ error }, 'the first message of a thread could not be updated')
      again(it, undefined)
    }
  }

  function again(it: Waiting, outcome: Outcome | undefined): void {
    if (closed || it.tries + 1 >= MOST_TRIES || waiting.has(nameOf(it))) return
    const { afterMs, isForAll } = pauseOf(outcome)
    // The bucket is for the updates of all channels.
    if (afterMs !== undefined && isForAll) bucket.pause(afterMs)
    put(it, performance.now() + (afterMs ?? AGAIN_MS * 2 ** it.tries), it.tries + 1)
  }

  function remember(name: string): void {
    writtenMs.delete(name)
    if (writtenMs.size >= MOST_WAITING) writtenMs.delete(writtenMs.keys().next().value as string)
    writtenMs.set(name, performance.now())
  }

  function schedule(update: RootUpdate): void {
    if (closed) return
    const last = writtenMs.get(nameOf(update)) ?? performance.now()
    const before = waiting.get(nameOf(update))
    put(update, before?.dueMs ?? Math.max(performance.now(), last + everyMs), 0)
  }

  return {
    schedule,
    async now(update, signal) {
      waiting.delete(nameOf(update))
      if (bucket.take() > 0) return schedule(update)
      await write({ ...update, dueMs: 0, tries: 0 }, signal)
    },
    async close() {
      if (closed) return
      closed = true
      clearTimeout(timer)
      const enough = setTimeout(() => stop.abort(), CLOSE_MS)
      const rest = [...waiting.values()].map((it) => ({ ...it, tries: MOST_TRIES }))
      waiting.clear()
      await Promise.all([running, ...rest.map((it) => write(it, stop.signal))])
      clearTimeout(enough)
    },
  }
}
