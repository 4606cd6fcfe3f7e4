import type { EventHeader } from './event.ts'
import type { TraceContext } from './trace-context.ts'

/** One event for one sink: the queue's unit. */
export interface Delivery {
  sink: string
  /** The rule that sent it. */
  rule: string
  event: EventHeader
  /** The object, trimmed, as JSON bytes. */
  objectJson: Buffer
  /** Put back from the dead letters by hand; may arrive after newer ones of its object. */
  replay?: true
  /** Where its trace goes on, when it is sampled. */
  trace?: TraceContext
}
