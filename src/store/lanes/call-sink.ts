import { setMaxListeners } from 'node:events'
import type { Logger } from '../log.ts'
import type { Message, Outcome, Sink } from '../sink/index.ts'
import { checkedOutcomes, failure } from './checked-outcomes.ts'

/** A sink gets a moment after the abort to say what it had sent already. */
const LAST_WORDS_MS = 1_000
/** Calls that begin within this time share a deadline: a timer and a signal for each would cost more than the call. */
const SHARED_MS = 500
/** Of the deadline, at most: no call loses more of its time. */
const SHARED_PART = 0.05

/** One deadline for the calls of a moment. */
interface Deadline {
  controller: AbortController
  startedMs: number
  calls: Set<() => void>
  timers: NodeJS.Timeout[]
}

/** Calls sinks, each with a deadline. Never throws, never takes longer, gives one outcome per message. */
export interface Caller {
  call(sink: Sink, messages: readonly Message[]): Promise<Outcome[]>
  /** Aborts what is under way; what is called from now on is aborted already. */
  abort(): void
  readonly aborted: boolean
}

export function createCaller({ deliverTimeoutMs, log }: { deliverTimeoutMs: number; log: Logger }): Caller {
  const sharedMs = Math.min(SHARED_MS, SHARED_PART * deliverTimeoutMs)
  const deadlines = new Set<Deadline>()
  let current: Deadline | undefined
  let aborted = false

  const isShared = ({ controller, startedMs }: Deadline) =>
    !controller.signal.aborted && performance.now() - startedMs < sharedMs

  function expire(deadline: Deadline, reason: unknown): void {
    if (deadline.controller.signal.aborted) return
    const late = () => {
      for (const giveUp of deadline.calls) giveUp()
    }
    deadline.timers.push(setTimeout(late, LAST_WORDS_MS))
    deadline.controller.abort(reason)
    if (deadline.calls.size === 0) end(deadline)
  }

  function begin(): Deadline {
    if (current && isShared(current)) return current
    if (current?.calls.size === 0) end(current)
    const controller = new AbortController()
    setMaxListeners(0, controller.signal)
    const deadline: Deadline = { controller, startedMs: performance.now(), calls: new Set(), timers: [] }
    const out = () => expire(deadline, new DOMException('out of time', 'TimeoutError'))
    deadline.timers.push(setTimeout(out, deliverTimeoutMs))
    deadlines.add(deadline)
    current = deadline
    return deadline
  }

  /** Nothing of a deadline outlives its last call for long, or it would keep the batch in memory. */
  function end(deadline: Deadline): void {
    for (const timer of deadline.timers) clearTimeout(timer)
    deadlines.delete(deadline)
    if (current === deadline) current = undefined
  }

  return {
    get aborted() {
      return aborted
    },
    async call(sink, messages) {
      const deadline = begin()
      const { signal } = deadline.controller
      const late = Promise.withResolvers<undefined>()
      const giveUp = () => late.resolve(undefined)
      deadline.calls.add(giveUp)
      if (aborted) expire(deadline, new DOMException('stopped', 'AbortError'))
      try {
        const answer = await Promise.race([sink.deliver(messages, signal), late.promise])
        if (answer === undefined && signal.aborted)
          return messages.map(() => failure('timeout', 'the sink did not answer in time'))
        return checkedOutcomes(answer, messages.length)
      } catch (error) {
        log.error({ error }, 'a sink threw; its deliveries will be tried again')
        return messages.map(() => failure('unknown', `the sink threw: ${messageOf(error)}`))
      } finally {
        deadline.calls.delete(giveUp)
        if (deadline.calls.size === 0 && (deadline !== current || !isShared(deadline))) end(deadline)
      }
    },
    abort() {
      aborted = true
      for (const deadline of deadlines) expire(deadline, new DOMException('stopped', 'AbortError'))
    },
  }
}

/** Anything can be thrown. */
function messageOf(error: unknown): string {
  try {
    return String((error as Error)?.message ?? error)
  } catch {
    return 'something that cannot be read'
  }
}
