import type { Logger } from '../../src/sink/index.ts'
import type { Rendered } from './blocks.ts'
import type { Bucket } from './bucket.ts'
import type { Poster } from './post.ts'
import type { Thread, Threads } from './thread.ts'

/** What the first message of a thread shall show. */
export interface RootUpdate {
  key: string
  channel: string
  thread: Thread
  rendered: Rendered
  /** The thread is over, and forgotten already. */
  final: boolean
}

/**
 * Keeps the first message of each thread at the newest state: several changes within `everyMs` are one update. The changes
 * themselves are delivered as replies; what is lost here by a crash is made up for by the next change.
 */
export interface Roots {
  schedule(update: RootUpdate): void
  /** At once, if the limit of updates allows; else soon. */
  now(update: RootUpdate, signal: AbortSignal): Promise<void>
  /** Writes what waits, for a moment at most. */
  close(): Promise<void>
}

export interface RootsParts {
  poster: Poster
  threads: Threads
  /** The limit of updates. */
  bucket: Bucket
  log: Logger
  everyMs: number
}

const MOST_WAITING = 1_000
const MOST_TRIES = 5
const AGAIN_MS = 500
const CLOSE_MS = 2_000

interface Waiting extends RootUpdate {
  dueMs: number
  tries: number
}

export function createRoots({ poster, threads, bucket, log, everyMs }: RootsParts): Roots {
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
      again(it, sent.outcome.kind === 'retry' ? sent.outcome.afterMs : undefined)
    } catch (error) {
      log.debug({ error }, 'the first message of a thread could not be updated')
      again(it, undefined)
    }
  }

  function again(it: Waiting, afterMs: number | undefined): void {
    if (closed || it.tries + 1 >= MOST_TRIES || waiting.has(nameOf(it))) return
    if (afterMs !== undefined) bucket.pause(afterMs)
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
