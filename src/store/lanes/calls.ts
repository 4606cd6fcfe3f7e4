import { setMaxListeners } from 'node:events'
import type { Logger } from '../../observe/log.ts'
import { type Message, type Outcome, renderFault, type Sink } from '../../sink/index.ts'
import { NOTES, REASONS, type Reason, SCOPES } from '../../sink/sink.ts'
import { cutText } from '../../text/redact.ts'
import type { Probe } from './circuit-breaker.ts'
import type { Item } from './lane-entries.ts'
import type { SinkState } from './sink-state.ts'

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

/** A call of the sink that is under way. */
export interface Call {
  items: readonly Item[]
  /** By a clock that never jumps. */
  startedMs: number
  /** Set if the open breaker admitted it. */
  probe: Probe | undefined
  /** The breaker was informed of its success or failure. */
  noted: boolean
}

/** A delivery under way that was handed over to its chain's own lane. */
export interface InFlight {
  /** The event's id. */
  id: string
  startedMs: number
  outcome: Promise<Outcome>
}

/** What a call came to, without the deliveries that were handed over. */
interface Ended {
  items: Item[]
  outcomes: Outcome[]
  handedOver: Item[]
}

interface HandedOver {
  chains: Set<string>
  answer: PromiseWithResolvers<readonly Outcome[]>
}

/** A call that takes longer waits for a slow object or a slow sink, and no longer counts. */
export const SLOW_MS = 3_000
/** Maximum number of deliveries of a lane that are under way, or finished and not acknowledged: a crash repeats them. */
const MOST_BEGUN = 20
/** Maximum number of calls of a lane whose sink sends several deliveries in one request. */
const JOINED_CALLS = 4
const MOST_SLOW_CALLS = 8
const MOST_CALLS = 128

/** The calls of a lane that are under way, and how much more may begin. */
export class LaneCalls {
  readonly #calls = new Set<Call>()
  readonly #handedOver = new Map<Call, HandedOver>()
  #unacknowledged = 0

  get size(): number {
    return this.#calls.size
  }

  add(call: Call): void {
    this.#calls.add(call)
  }

  [Symbol.iterator](): Iterator<Call> {
    return this.#calls.values()
  }

  /** From now on the outcomes of this chain's deliveries are no longer the lane's. */
  handOver(call: Call, chain: string): InFlight[] {
    const it = this.#handedOver.get(call) ?? { chains: new Set(), answer: Promise.withResolvers() }
    this.#handedOver.set(call, it)
    it.chains.add(chain)
    const { startedMs } = call
    return call.items.flatMap((item, i) => {
      if (item.chain !== chain) return []
      const outcome = it.answer.promise.then((outcomes) => outcomes[i] as Outcome)
      return [{ id: item.delivery.event.id, startedMs, outcome }]
    })
  }

  end(call: Call, outcomes: readonly Outcome[]): Ended {
    this.#calls.delete(call)
    const it = this.#handedOver.get(call)
    this.#handedOver.delete(call)
    it?.answer.resolve(outcomes)
    const isOwn = ({ chain }: Item) => !it?.chains.has(chain)
    return {
      items: call.items.filter(isOwn),
      outcomes: outcomes.filter((_, i) => isOwn(call.items[i] as Item)),
      handedOver: call.items.filter((item) => !isOwn(item)),
    }
  }

  /** `n` more deliveries are finished and not acknowledged; negative when they are acknowledged. */
  acknowledging(n: number): void {
    this.#unacknowledged += n
  }

  /** How many deliveries may begin. A sink that gets many in one request decides by its batches. */
  room({ ordered, joins }: SinkState, nowMs: number): number {
    if (ordered || joins) return Number.POSITIVE_INFINITY
    let begun = this.#unacknowledged
    for (const { items, startedMs } of this.#calls) if (startedMs > nowMs - SLOW_MS) begun += items.length
    return MOST_BEGUN - begun
  }

  /** Returns true if one more call may begin. Calls that take long do not count, as long as the sink answers others. */
  isFree(state: SinkState, nowMs: number): boolean {
    const since = nowMs - SLOW_MS
    let young = 0
    for (const { startedMs } of this.#calls) if (startedMs > since) young++
    const most = state.ordered ? 1 : state.joins ? JOINED_CALLS : MOST_BEGUN
    if (young >= most || this.room(state, nowMs) <= 0 || this.#calls.size >= MOST_CALLS) return false
    return this.#calls.size - young < MOST_SLOW_CALLS || state.passedMs > since
  }

  /** When the next call no longer counts; undefined when none does. */
  slowMs(nowMs: number): number | undefined {
    // They are in the order in which they began.
    for (const { startedMs } of this.#calls) if (startedMs > nowMs - SLOW_MS) return startedMs + SLOW_MS
    return undefined
  }
}
