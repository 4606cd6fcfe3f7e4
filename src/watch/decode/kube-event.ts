import {
  type KubeEvent,
  type KubeEventView,
  type ObjectRef,
  plainKubeEvent,
  type Resource,
} from '../event.ts'

/** Is this resource the cluster's own Events? */
export function isEventResource({ group, plural }: Resource): boolean {
  return plural === 'events' && (group === '' || group === 'events.k8s.io')
}

/** Reads a parsed Event of core/v1 or events.k8s.io/v1 into one form. */
export function readKubeEvent(object: Readonly<Record<string, unknown>>): KubeEvent {
  const it = object as RawEvent
  return plainKubeEvent(new RawEventView((field) => it[field]))
}

/** Gives a field of an Event as it was sent. */
export type ReadField = <Field extends keyof RawEvent>(field: Field) => RawEvent[Field]

/**
 * An Event of core/v1 or events.k8s.io/v1 in one form, each field read when it is asked for. New-style Events have null
 * first and last timestamps: their times are `eventTime` and `series.lastObservedTime`.
 */
export class RawEventView implements KubeEventView {
  readonly #read: ReadField
  #type: string | undefined
  #reason: string | undefined
  #message: string | undefined
  #regarding: ObjectRef | undefined
  #series: Series | null | undefined

  constructor(read: ReadField) {
    this.#read = read
  }

  get type(): string {
    this.#type ??= textOf(this.#read('type')) ?? ''
    return this.#type
  }

  get reason(): string {
    this.#reason ??= textOf(this.#read('reason')) ?? ''
    return this.#reason
  }

  get message(): string {
    this.#message ??= textOf(this.#read('message')) ?? textOf(this.#read('note')) ?? ''
    return this.#message
  }

  get count(): number {
    const counts = [this.#seriesOf()?.count, this.#read('count'), this.#read('deprecatedCount')]
    return counts.find((it) => typeof it === 'number' && it !== 0) || 1
  }

  get regarding(): ObjectRef {
    this.#regarding ??= readRef(this.#read('involvedObject') ?? this.#read('regarding'))
    return this.#regarding
  }

  get firstSeen(): string | undefined {
    const read = this.#read
    return (
      textOf(read('firstTimestamp')) ??
      textOf(read('deprecatedFirstTimestamp')) ??
      textOf(read('eventTime')) ??
      textOf(read('metadata')?.creationTimestamp)
    )
  }

  get lastSeen(): string | undefined {
    const read = this.#read
    return (
      textOf(this.#seriesOf()?.lastObservedTime) ??
      textOf(read('lastTimestamp')) ??
      textOf(read('deprecatedLastTimestamp')) ??
      textOf(read('eventTime')) ??
      this.firstSeen
    )
  }

  get reportingComponent(): string | undefined {
    const read = this.#read
    return (
      textOf(read('reportingController')) ||
      textOf(read('reportingComponent')) ||
      textOf(read('source')?.component) ||
      textOf(read('deprecatedSource')?.component)
    )
  }

  #seriesOf(): Series | null {
    if (this.#series === undefined) this.#series = this.#read('series') ?? null
    return this.#series
  }
}

/** Files that people try rules on hold anything; an API server sends nothing but text here. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

const REF = ['apiVersion', 'kind', 'namespace', 'name', 'uid', 'fieldPath'] as const

function readRef(ref: ObjectRef | null | undefined): ObjectRef {
  const read: ObjectRef = {}
  for (const field of REF) {
    const text = textOf(ref?.[field])
    if (text) read[field] = text
  }
  return read
}

type Time = string | null | undefined
type Series = { count?: number; lastObservedTime?: Time }

interface RawEvent {
  metadata?: { creationTimestamp?: string | null }
  type?: string
  reason?: string
  message?: string
  note?: string
  count?: number | null
  deprecatedCount?: number | null
  series?: Series | null
  eventTime?: Time
  firstTimestamp?: Time
  lastTimestamp?: Time
  deprecatedFirstTimestamp?: Time
  deprecatedLastTimestamp?: Time
  involvedObject?: ObjectRef | null
  regarding?: ObjectRef | null
  reportingController?: string
  reportingComponent?: string
  source?: { component?: string } | null
  deprecatedSource?: { component?: string } | null
}
