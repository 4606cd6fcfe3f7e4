import { createHash } from 'node:crypto'
import type { EventHeader } from '../model/event.ts'
import type { Message } from './message.ts'
import { detailOf, type Outcome } from './sink.ts'

/** How many lanes a sink has by default. */
export const LANES = 16

/** Returns the lane of an ordering key, such as that of `orderOf`: FNV-1a, the same in every version. */
export function laneByKey(key: string, lanes = LANES): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return String((hash >>> 0) % lanes)
}

/**
 * Returns the ordering key of a message: its group, else its object by name, so that a recreated object comes after
 * its deletion.
 */
export function orderOf({ order, event }: { order?: string; event: Named }): string {
  if (order !== undefined) return order
  const { apiVersion, kind, namespace = '', name } = event
  const [group] = apiVersion.includes('/') ? apiVersion.split('/') : ['']
  return `${group ? `${kind}.${group}` : kind}/${namespace}/${name}`
}

/** Returns the key of an object among those of all clusters, the same after it was deleted and created again: `prod/Pod/shop/web`. */
export function objectKey(event: Named & Pick<EventHeader, 'cluster'>): string {
  return `${event.cluster}/${orderOf({ event })}`
}

type Named = Pick<EventHeader, 'apiVersion' | 'kind' | 'namespace' | 'name'>

const LANE_NAME = /^[\w.#@-]{1,100}$/

/**
 * Returns a sink's lane name, or a hash if it does not fit into keys and labels. Undefined if the choice fails:
 * rendering the delivery reports why.
 */
export function laneName(choose: () => string | undefined): string | undefined {
  try {
    const name = choose()
    if (name === undefined || LANE_NAME.test(name)) return name
    return createHash('sha256').update(name).digest('hex').slice(0, 32)
  } catch {
    return undefined
  }
}

export interface InOrderOptions {
  /** The number of concurrent messages. */
  concurrency: number
}

/**
 * Delivers a batch message by message: messages of one object (or `order`) sequentially, others concurrently. After
 * a `retry` or `later` the object's later messages are not sent; after a `retry` of the whole sink no message is.
 * Never throws: a failed template is a `rejected`, any other exception a `retry`.
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
 * Returns the outcome of a template's fault; undefined for any other exception. It checks the name, because a sink
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

/** A limit that several deliveries share: at most `size` pieces of work at the same time, in the order in which they came. */
export interface Semaphore {
  /** Waits for a slot, runs `work`, and frees the slot. Rejects if `signal` aborts before. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** A `size` that is a function may change; it is read when work starts. Work under way continues. */
export function createSemaphore(size: number | (() => number)): Semaphore {
  let running = 0
  const most = () => (typeof size === 'number' ? size : size())
  const waiting: (() => void)[] = []

  function nextFree(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = () => {
        waiting.splice(waiting.indexOf(go), 1)
        reject(signal.reason)
      }
      waiting.push(go)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  function release(): void {
    running--
    while (waiting.length > 0 && running < most()) {
      running++
      waiting.shift()?.()
    }
  }

  return {
    async run(work, signal) {
      signal.throwIfAborted()
      if (waiting.length === 0 && running < most()) running++
      else await nextFree(signal)
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}
