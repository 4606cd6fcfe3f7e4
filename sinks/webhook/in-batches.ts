import { type Message, type Outcome, orderOf } from '../../src/sink/index.ts'

export interface BatchLimits {
  max: number
  maxBytes: number
}

export interface BatchReply {
  outcome: Outcome
  status: number
}

/** Answers that may be the fault of one event among many, or of their number. */
const DIVISIBLE = [400, 413, 422]

/**
 * Delivers messages many at a time, in their order. One answer counts for all of a request; one that refuses it for its size or
 * content is asked again with its halves, until the event that is refused is alone. Events of an object that failed do not
 * overtake it.
 */
export async function deliverInBatches(
  messages: readonly Message[],
  limits: BatchLimits,
  send: (messages: readonly Message[]) => Promise<BatchReply>,
  signal: AbortSignal,
): Promise<Outcome[]> {
  const outcomes = new Map<Message, Outcome>()
  const held = new Map<string, Outcome>()
  let stopped: Outcome | undefined

  async function deliver(group: readonly Message[]): Promise<void> {
    if (signal.aborted) stopped ??= STOPPED
    const free = group.filter((it) => {
      const outcome = stopped ?? held.get(orderOf(it))
      if (outcome) outcomes.set(it, outcome)
      return outcome === undefined
    })
    if (free.length === 0) return
    const { outcome, status } = await attempt(free)
    if (free.length > 1 && outcome.kind === 'rejected' && DIVISIBLE.includes(status)) {
      const middle = free.length >> 1
      await deliver(free.slice(0, middle))
      return deliver(free.slice(middle))
    }
    for (const it of free) {
      outcomes.set(it, outcome)
      if (outcome.kind === 'retry' || outcome.kind === 'later') held.set(orderOf(it), outcome)
    }
    if (outcome.kind === 'retry' && outcome.scope === 'sink') stopped ??= outcome
  }

  /** What is thrown, as when a stop comes before there is a slot, must not take along what was delivered. */
  async function attempt(free: readonly Message[]): Promise<BatchReply> {
    try {
      return await send(free)
    } catch (error) {
      if (signal.aborted) return { outcome: STOPPED, status: 0 }
      const detail = String((error as Error)?.message ?? error)
      return { outcome: { kind: 'retry', reason: 'unknown', detail, scope: 'event' }, status: 0 }
    }
  }

  for (const group of groups(messages, limits)) await deliver(group)
  return messages.map((it) => outcomes.get(it) as Outcome)
}

function groups(messages: readonly Message[], { max, maxBytes }: BatchLimits): Message[][] {
  const all: Message[][] = []
  let bytes = 0
  for (const message of messages) {
    const { length } = message.cloudEvent
    const last = all.at(-1)
    if (last && last.length < max && bytes + length <= maxBytes) last.push(message)
    else {
      all.push([message])
      bytes = 0
    }
    bytes += length
  }
  return all
}

const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was sent',
  scope: 'sink',
}
