import { createSemaphore } from '../../src/sink/index.ts'
import { openSession, type Session, type SessionOptions } from './connection.ts'

/** Sessions that messages share: at most `concurrency` at the same time. */
export interface Sessions {
  /**
   * Runs `work` with a session of its own; a new one if none is free. Throws a SmtpFault. Resolves to undefined without a call of `work` if
   * `begin` aborts before its turn comes.
   */
  run<T>(
    work: (session: Session, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
    begin?: AbortSignal,
  ): Promise<T | undefined>
  close(): Promise<void>
}

/** Servers close sessions that are idle for longer; some only after minutes. */
const IDLE_MS = 15_000
/** Idle time after which the server may have closed a session without a sign. */
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
        // What cut this one off has cut off those that are idle for longer: each would cost a timeout.
        for (const it of idle.splice(0)) it.destroy()
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
    async run(work, signal, begin) {
      const stop = AbortSignal.any([signal, closing.signal])
      const mayWait = begin ? AbortSignal.any([stop, begin]) : stop
      const done = slots.run(async () => {
        const session = await take(stop)
        try {
          return await work(session, stop)
        } finally {
          giveBack(session)
        }
      }, mayWait)
      const quiet = done.catch(() => {})
      running.add(quiet)
      void quiet.finally(() => running.delete(quiet))
      try {
        return await done
      } catch (error) {
        if (begin?.aborted && error === begin.reason) return undefined
        throw error
      }
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
