import { createSemaphore } from '../../src/sink/index.ts'
import { openSession, type Session, type SessionOptions } from './connection.ts'

/** Sessions that messages share: at most `concurrency` at the same time. */
export interface Sessions {
  /** Runs `work` with a session of its own; a new one if none is free. Throws a SmtpFault. */
  run<T>(work: (session: Session, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>
  close(): Promise<void>
}

/** Servers close sessions that are idle for longer; some only after minutes. */
const IDLE_MS = 15_000
/** A session that was idle for so long may be gone without a sign. */
const UNSURE_MS = 1_000
/** Servers limit the messages of a session, by 100 and more. */
const MAX_MESSAGES = 100

export function createSessions(options: SessionOptions, concurrency: number): Sessions {
  const slots = createSemaphore(concurrency)
  const closing = new AbortController()
  const idle: Session[] = []
  const running = new Set<Promise<unknown>>()
  let timer: NodeJS.Timeout | undefined

  async function take(signal: AbortSignal): Promise<Session> {
    for (let session = idle.pop(); session; session = idle.pop()) {
      if (!session.isAlive()) continue
      if (performance.now() - session.lastMs < UNSURE_MS) return session
      try {
        await session.probe(signal)
        return session
      } catch (error) {
        if (signal.aborted) throw error
      }
    }
    return openSession(options, signal)
  }

  function giveBack(session: Session): void {
    if (!session.isAlive()) return
    if (session.sent >= MAX_MESSAGES || closing.signal.aborted) session.quit()
    else idle.push(session)
    timer ??= setInterval(endIdle, IDLE_MS / 3).unref()
  }

  function endIdle(): void {
    const now = performance.now()
    for (const session of idle.splice(0)) {
      if (now - session.lastMs > IDLE_MS) session.quit()
      else if (session.isAlive()) idle.push(session)
    }
    if (idle.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    async run(work, signal) {
      const stop = AbortSignal.any([signal, closing.signal])
      const done = slots.run(async () => {
        const session = await take(stop)
        try {
          return await work(session, stop)
        } finally {
          giveBack(session)
        }
      }, stop)
      const quiet = done.catch(() => {})
      running.add(quiet)
      void quiet.finally(() => running.delete(quiet))
      return done
    },
    async close() {
      closing.abort()
      await Promise.all(running)
      clearInterval(timer)
      timer = undefined
      for (const session of idle.splice(0)) session.quit()
    },
  }
}
