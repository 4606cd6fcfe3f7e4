import { type Message, type Note, type Outcome, orderOf, renderFault } from '../../src/sink/index.ts'
import type { Written } from './request.ts'

/** One event as a part of a request. */
export interface Item {
  message: Message
  /** Its part of the body. */
  bytes: Buffer
  /** What it adds to the body, in bytes: its own, and those of a separator. */
  size: number
  /** Items with the same key are written together, such as those of one stream of a log store. */
  group?: string
  note?: Note
}

/** How many events become one request, and how its answer is read. */
export interface BatchFormat {
  max: number
  /** Maximum size of the body before compression. An event that is larger is sent alone. */
  maxBytes: number
  /** How long a request that is not full waits for events of other lanes. */
  waitMs: number
  /** Throws a TemplateFault. */
  item(message: Message): Item
  body(items: readonly Item[]): Written
  /**
   * Returns the outcome of each event by the body of a success; undefined if that has none. Where it is present, a request has at
   * most one event of each object: with two, the second could be accepted before the first.
   */
  answers?(reply: string, items: readonly Item[]): readonly Outcome[] | undefined
}

export interface BatchReply {
  outcome: Outcome
  status: number
  /** The outcome of each event, where the receiver answers so. */
  each?: readonly Outcome[] | undefined
  /** The answer was longer than what is read of it: one for fewer events is shorter. */
  isCut?: boolean
}

/** `calledMs` is when the call of the sink began, by `performance.now()`. */
type Request = (items: readonly Item[], signal: AbortSignal, calledMs: number) => Promise<BatchReply>
type Send = (items: readonly Item[], signal: AbortSignal, calledMs: number) => Promise<readonly Outcome[]>

/**
 * Delivers messages in requests of many, in the order of each object. Events of an object that failed do not overtake it; nothing is
 * sent any more once the whole sink failed.
 */
export function createBatches(format: BatchFormat, request: Request) {
  const divided: Send = (items, signal, calledMs) =>
    sendDivided(items, (some, stop) => request(some, stop, calledMs), signal)
  const send = format.waitMs > 0 ? joined(format, divided) : divided

  return async (messages: readonly Message[], signal: AbortSignal): Promise<Outcome[]> => {
    const calledMs = performance.now()
    const outcomes = new Map<Message, Outcome>()
    const held = new Held()
    let waiting = messages
    for (;;) {
      if (signal.aborted) held.add(undefined, STOPPED)
      waiting = waiting.filter((message) => {
        const outcome = outcomes.get(message) ?? held.of(message)
        if (outcome) outcomes.set(message, outcome)
        return outcome === undefined
      })
      if (waiting.length === 0) return messages.map((message) => outcomes.get(message) as Outcome)
      const items = takeItems(waiting, format, outcomes)
      if (items.length === 0) continue
      for (const [i, outcome] of (await send(items, signal, calledMs)).entries()) {
        const { message, note } = items[i] as Item
        outcomes.set(message, outcome.kind === 'delivered' && note ? { kind: 'delivered', note } : outcome)
        held.add(message, outcome)
      }
    }
  }
}

/** Returns the events of the next request. Adds the outcomes of those that cannot be rendered. */
function takeItems(
  messages: readonly Message[],
  { max, maxBytes, item, answers }: BatchFormat,
  outcomes: Map<Message, Outcome>,
): Item[] {
  const items: Item[] = []
  const objects = new Set<string>()
  let bytes = 0
  for (const message of messages) {
    const object = answers && orderOf(message)
    if (object !== undefined && objects.has(object)) continue
    const made = attempt(() => item(message))
    if ('fault' in made) {
      outcomes.set(message, made.fault)
      continue
    }
    if (items.length > 0 && bytes + made.size > maxBytes) break
    items.push(made)
    if (object !== undefined) objects.add(object)
    bytes += made.size
    if (items.length >= max) break
  }
  return items
}

function attempt(make: () => Item): Item | { fault: Outcome } {
  try {
    return make()
  } catch (error) {
    const fault = renderFault(error)
    if (!fault) throw error
    return { fault }
  }
}

type TimedRequest = (items: readonly Item[], signal: AbortSignal) => Promise<BatchReply>

/** Answers that may be the fault of one event among many, or of their number. */
const DIVISIBLE = [400, 413, 422]

/** Sends a request. One that is refused for its size or content, or whose answer is too long, is sent again in halves, until an event is alone. */
async function sendDivided(
  items: readonly Item[],
  request: TimedRequest,
  signal: AbortSignal,
): Promise<Outcome[]> {
  const { outcome, status, each, isCut } = await tried(items, request, signal)
  if (each) return [...each]
  const isDivisible = isCut || (outcome.kind === 'rejected' && DIVISIBLE.includes(status))
  if (items.length === 1 || !isDivisible) return items.map(() => outcome)
  const middle = items.length >> 1
  const first = await sendDivided(items.slice(0, middle), request, signal)
  const held = new Held()
  for (const [i, it] of first.entries()) held.add((items[i] as Item).message, it)
  const second = items.slice(middle)
  const free = second.filter(({ message }) => held.of(message) === undefined)
  const sent = free.length > 0 ? await sendDivided(free, request, signal) : []
  return [...first, ...second.map((it) => held.of(it.message) ?? (sent[free.indexOf(it)] as Outcome))]
}

/** An exception, such as an abort before the semaphore is free, must not affect outcomes of earlier requests. */
async function tried(
  items: readonly Item[],
  request: TimedRequest,
  signal: AbortSignal,
): Promise<BatchReply> {
  try {
    return await request(items, signal)
  } catch (error) {
    if (signal.aborted) return { outcome: STOPPED, status: 0 }
    const detail = String((error as Error)?.message ?? error)
    return { outcome: { kind: 'retry', reason: 'unknown', detail, scope: 'event' }, status: 0 }
  }
}

/** Events that are not sent because of an earlier failure: those of the same object, or all once the sink failed or no time is left. */
class Held {
  #all: Outcome | undefined
  readonly #ofObjects = new Map<string, Outcome>()

  add(message: Message | undefined, outcome: Outcome): void {
    if (outcome.kind !== 'retry' && outcome.kind !== 'later') return
    const notSent = { ...outcome }
    if (notSent.kind === 'retry') delete notSent.ambiguous
    const isOfAll = outcome.kind === 'later' || outcome.scope === 'sink'
    if (!message || isOfAll) this.#all ??= notSent
    else this.#ofObjects.set(orderOf(message), notSent)
  }

  of(message: Message): Outcome | undefined {
    return this.#ofObjects.size === 0 ? this.#all : (this.#ofObjects.get(orderOf(message)) ?? this.#all)
  }
}

/** Events of several calls that wait to become one request. */
interface Open {
  items: Item[]
  bytes: number
  /** Time of the oldest call. */
  calledMs: number
  stop: AbortController
  timer: NodeJS.Timeout
  sent: PromiseWithResolvers<readonly Outcome[]>
}

/** Lets calls wait for each other, until a request is full or `waitMs` are over. */
function joined({ max, maxBytes, waitMs }: BatchFormat, send: Send): Send {
  let open: Open | undefined

  function begin(calledMs: number): Open {
    const created: Open = {
      items: [],
      bytes: 0,
      calledMs,
      stop: new AbortController(),
      timer: setTimeout(() => end(created), waitMs),
      sent: Promise.withResolvers(),
    }
    return created
  }

  function end(it: Open): void {
    if (open === it) open = undefined
    clearTimeout(it.timer)
    const { resolve, reject } = it.sent
    send(it.items, it.stop.signal, it.calledMs).then(resolve, reject)
  }

  return async (items, signal, calledMs) => {
    const bytes = items.reduce((sum, { size }) => sum + size, 0)
    if (open && (open.items.length + items.length > max || open.bytes + bytes > maxBytes)) end(open)
    open ??= begin(calledMs)
    const mine = open
    mine.calledMs = Math.min(mine.calledMs, calledMs)
    const at = mine.items.length
    mine.items.push(...items)
    mine.bytes += bytes
    // The calls of a process end together: at its stop.
    const stop = () => {
      mine.stop.abort()
      if (open === mine) end(mine)
    }
    signal.addEventListener('abort', stop, { once: true })
    if (mine.items.length >= max || mine.bytes >= maxBytes) end(mine)
    try {
      return (await mine.sent.promise).slice(at, at + items.length)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was sent',
  scope: 'sink',
}
