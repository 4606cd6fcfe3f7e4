import type { Source, Transition } from '../model/change.ts'
import type { Delivery, TraceContext } from '../model/delivery.ts'
import type { ClusterEvent } from '../model/event.ts'
import type { LimitedMatch } from '../model/limit.ts'
import type { Message, Outcome, Reason } from '../sink/index.ts'

/** The pipeline's side of tracing; where traces are off it costs nothing. */
export interface PipelineTracer {
  /** Begins a commit of changes. One that is begun again takes the place of the one before. */
  commit(source: Source): CommitTrace
  /** A worker has taken these from a lane; undefined when none of them is sampled. */
  attempt(sink: string, lane: string, items: readonly Attempted[]): AttemptTrace | undefined
}

export interface CommitTrace {
  /** A change is looked at; undefined when it is not sampled. */
  change(transition: Transition): ChangeTrace | undefined
  /** All of it is durable. */
  committed(): void
}

export interface ChangeTrace {
  /** Rules have decided. Gives the context of each delivery, in the order of `sends`. */
  matched(event: ClusterEvent, result: Matched): readonly TraceContext[]
  /** It could not be read, and is passed over. */
  malformed(): void
}

export interface Matched {
  sends: readonly { sink: string; rule: string }[]
  dropped: boolean
  limited: readonly LimitedMatch[]
}

export interface Attempted {
  delivery: Delivery
  /** How often it was tried before, as far as is known. */
  tries: number
}

/** One call of a sink. Disposing ends what was not settled, as failed. */
export interface AttemptTrace extends Disposable {
  /** The message of the item at this place, with the context that its peer may go on from. */
  traced(place: number, message: Message): Message
  answered(outcomes: readonly Outcome[]): void
  /** What became of the items, by what was durable in the end. */
  settled(verdict: Settled): void
}

export interface Settled {
  delivered: readonly Attempted[]
  dead: readonly { item: Attempted; reason: Reason; detail: string }[]
}
