import type { ClusterEvent } from '../../event.ts'
import { EVENT, EventFields, TIME } from './event-fields.ts'
import { safe } from './values.ts'

/** The variables of `if`, by their types. */
export const VARIABLES = {
  object: 'dyn',
  oldObject: 'dyn',
  event: EVENT,
  cluster: 'string',
  now: TIME,
} as const

/** What expressions see of one event, each made on first use, once for all rules. */
export class Variables {
  readonly #event: ClusterEvent
  #fields: EventFields | undefined
  #now: Date | undefined

  constructor(event: ClusterEvent) {
    this.#event = event
  }

  get event(): EventFields {
    this.#fields ??= new EventFields(this.#event)
    return this.#fields
  }

  get object(): unknown {
    return safe(this.#event.object)
  }

  get oldObject(): unknown {
    const { type, oldObject } = this.#event
    if (oldObject === undefined) return type === 'DELETED' ? this.object : null
    return safe(oldObject)
  }

  get cluster(): string {
    return this.#event.cluster
  }

  get now(): Date {
    this.#now ??= new Date(this.#event.time)
    return this.#now
  }
}

let last: { event: ClusterEvent; variables: Variables } | undefined

/** The same for all rules that look at an event one after the other. */
export function variablesOf(event: ClusterEvent): Variables {
  if (last?.event !== event) last = { event, variables: new Variables(event) }
  return last.variables
}
