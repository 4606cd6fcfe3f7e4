import { setMaxListeners } from 'node:events'
import type { Logger } from '../../observe/log.ts'
import { type Message, type Outcome, renderFault, type Sink } from '../../sink/index.ts'
import { NOTES, REASONS, type Reason, SCOPES } from '../../sink/sink.ts'
import { cutText } from '../../text/redact.ts'

/** Time that a sink gets after the abort to report what it had sent already. */
const REPORT_AFTER_ABORT_MS = 1_000
/** Calls that begin within this time share a deadline: a timer and a signal for each would cost more than the call. */
const SHARED_MS = 500
/** Calls share a timer only if none loses more than this part of its deadline. */
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
    deadline.timers.push(setTimeout(late, REPORT_AFTER_ABORT_MS))
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
        const fault = renderFault(error)
        if (fault) return messages.length === 1 ? [fault] : messages.map(renderOutcome)
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

/** A message that cannot be rendered is rejected; those that were in a call with it are tried again without it. */
function renderOutcome(message: Message): Outcome {
  const others: Outcome = {
    kind: 'retry',
    reason: 'render',
    detail: 'another message of the call could not be rendered',
    scope: 'event',
  }
  try {
    void message.content
    return others
  } catch (error) {
    return renderFault(error) ?? others
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

const isReason = isOneOf(REASONS)
const isScope = isOneOf(SCOPES)
const isNote = isOneOf(NOTES)
/** The longest pause that a sink can request. */
const MAX_PAUSE_MS = 3_600_000
/** For a sink that requests a pause without its length. */
const PAUSE_MS = 1_000

/** Makes of whatever a sink answered one good outcome per message: what cannot be used must not keep the rest from counting. */
function checkedOutcomes(answer: unknown, length: number): Outcome[] {
  const outcomes: unknown[] = Array.isArray(answer) ? answer : []
  return Array.from({ length }, (_, i) => {
    try {
      return checked(outcomes[i]) ?? failure('unknown', 'the sink gave no outcome for this message')
    } catch {
      return failure('unknown', 'the sink gave an outcome that cannot be read')
    }
  })
}

/** A retry that is the sink's fault as a whole. */
function failure(reason: Reason, detail: string): Outcome {
  return { kind: 'retry', reason, detail: cutText(detail), scope: 'sink' }
}

function checked(outcome: unknown): Outcome | undefined {
  const { kind, note, reason, detail, scope, afterMs, ambiguous } = (outcome ?? {}) as Record<string, unknown>
  const why = {
    reason: isReason(reason) ? reason : ('unknown' as const),
    detail: typeof detail === 'string' ? cutText(detail) : '',
  }
  const pauseMs = typeof afterMs === 'number' && afterMs >= 0 ? Math.min(afterMs, MAX_PAUSE_MS) : undefined
  if (kind === 'delivered') return isNote(note) ? { kind, note } : { kind }
  if (kind === 'later') return { kind, afterMs: pauseMs ?? PAUSE_MS }
  if (kind === 'rejected') return { kind, ...why }
  if (kind !== 'retry') return undefined
  return {
    kind,
    ...why,
    scope: isScope(scope) ? scope : 'sink',
    ...(pauseMs !== undefined && { afterMs: pauseMs }),
    ...(ambiguous === true && { ambiguous }),
  }
}

function isOneOf<const T extends string>(closed: readonly T[]): (value: unknown) => value is T {
  const known = new Set<unknown>(closed)
  return (value): value is T => known.has(value)
}
