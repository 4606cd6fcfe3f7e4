import { detailOf } from './detail.ts'
import { orderOf } from './lane.ts'
import type { Message } from './message.ts'
import type { Outcome } from './outcome.ts'

export interface InOrderOptions {
  /** How many messages may be under way at once. */
  concurrency: number
}

/**
 * Delivers a batch message by message: those of one object (or `order`) one after the other, different ones side by side. After a
 * `retry` or `later` the later ones of that object are not sent; after a `retry` of the whole sink nothing more is. Never
 * throws: a template that fails is a `rejected`, anything else that is thrown a `retry`.
 */
export async function deliverInOrder<R>(
  batch: readonly Message<R>[],
  { concurrency }: InOrderOptions,
  post: (message: Message<R>, signal: AbortSignal) => Promise<Outcome>,
  signal: AbortSignal,
): Promise<Outcome[]> {
  const outcomes = new Array<Outcome>(batch.length)
  const chains = [...Map.groupBy(batch.keys(), (i) => orderOf(batch[i] as Message<R>)).values()]
  let next = 0
  let stopped: Outcome | undefined

  async function deliverChain(places: readonly number[]): Promise<void> {
    let blocked: Outcome | undefined
    for (const i of places) {
      if (signal.aborted) stopped ??= STOPPED
      const outcome = stopped ?? blocked ?? (await attempt(batch[i] as Message<R>))
      outcomes[i] = outcome
      if (outcome.kind === 'retry' || outcome.kind === 'later') blocked ??= notSent(outcome)
      if (outcome.kind === 'retry' && outcome.scope === 'sink') stopped ??= notSent(outcome)
    }
  }

  async function attempt(message: Message<R>): Promise<Outcome> {
    try {
      return await post(message, signal)
    } catch (error) {
      const fault = renderFault(error)
      if (fault) return fault
      if (signal.aborted) return STOPPED
      return {
        kind: 'retry',
        reason: 'unknown',
        detail: detailOf(String((error as Error)?.message || error)),
        scope: 'event',
      }
    }
  }

  async function work(): Promise<void> {
    for (let chain = chains[next++]; chain; chain = chains[next++]) await deliverChain(chain)
  }

  await Promise.all(Array.from({ length: Math.min(concurrency, chains.length) }, work))
  return outcomes
}

/** The same for messages behind it: those cannot have arrived. */
function notSent(outcome: Outcome): Outcome {
  if (outcome.kind !== 'retry' || !outcome.ambiguous) return outcome
  const { ambiguous, ...rest } = outcome
  return rest
}

/**
 * What a template's fault means for its message; undefined for anything else that was thrown. Known by its name: a sink
 * package may have a copy of the class.
 */
export function renderFault(error: unknown): Outcome | undefined {
  if (!(error instanceof Error) || error.name !== 'TemplateFault') return undefined
  return { kind: 'rejected', reason: 'render', detail: detailOf(error.message) }
}

const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was sent',
  scope: 'sink',
}
