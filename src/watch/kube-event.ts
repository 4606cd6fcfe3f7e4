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
    this.#type ??= this.#read('type') ?? ''
    return this.#type
  }

  get reason(): string {
    this.#reason ??= this.#read('reason') ?? ''
    return this.#reason
  }

  get message(): string {
    this.#message ??= this.#read('message') ?? this.#read('note') ?? ''
    return this.#message
  }

  get count(): number {
    return this.#seriesOf()?.count || this.#read('count') || this.#read('deprecatedCount') || 1
  }

  get regarding(): ObjectRef {
    this.#regarding ??= readRef(this.#read('involvedObject') ?? this.#read('regarding'))
    return this.#regarding
  }

  get firstSeen(): string | undefined {
    const read = this.#read
    return (
      read('firstTimestamp') ??
      read('deprecatedFirstTimestamp') ??
      read('eventTime') ??
      read('metadata')?.creationTimestamp ??
      undefined
    )
  }

  get lastSeen(): string | undefined {
    const read = this.#read
    const last = read('lastTimestamp') ?? read('deprecatedLastTimestamp') ?? read('eventTime')
    return this.#seriesOf()?.lastObservedTime ?? last ?? this.firstSeen
  }

  get reportingComponent(): string | undefined {
    const read = this.#read
    return (
      read('reportingController') ||
      read('reportingComponent') ||
      read('source')?.component ||
      read('deprecatedSource')?.component
    )
  }

  #seriesOf(): Series | null {
    if (this.#series === undefined) this.#series = this.#read('series') ?? null
    return this.#series
  }
}

function readRef(ref: ObjectRef | null | undefined): ObjectRef {
  const { apiVersion, kind, namespace, name, uid, fieldPath } = ref ?? {}
  return {
    ...(apiVersion && { apiVersion }),
    ...(kind && { kind }),
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(uid && { uid }),
    ...(fieldPath && { fieldPath }),
  }
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
