import type { ClusterEvent, KubeEventView, ObjectRef } from '../../event.ts'
import type { CelType } from './function.ts'

export const TIME = 'google.protobuf.Timestamp'
const OWNER = 'kubeherald.Owner'
const REGARDING = 'kubeherald.Regarding'
export const EVENT = 'kubeherald.Event'
const EPOCH = new Date(0)
const NOTHING: ReadonlyMap<string, string> = new Map()

/** A value with declared fields: what is not set reads as '' or 0, and `has()` tells. */
export interface Fields {
  has(key: string): boolean
}

export class OwnerFields implements Fields {
  readonly #ref: ObjectRef

  constructor(ref: ObjectRef | undefined) {
    this.#ref = ref ?? {}
  }

  get kind(): string {
    return this.#ref.kind ?? ''
  }

  get name(): string {
    return this.#ref.name ?? ''
  }

  get apiVersion(): string {
    return this.#ref.apiVersion ?? ''
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#ref, key) && this.#ref[key as keyof ObjectRef] !== undefined
  }
}

export class RegardingFields implements Fields {
  readonly #event: ClusterEvent
  readonly #ref: ObjectRef

  constructor(event: ClusterEvent) {
    this.#event = event
    this.#ref = event.event?.regarding ?? {}
  }

  get apiVersion(): string {
    return this.#ref.apiVersion ?? ''
  }

  get kind(): string {
    return this.#ref.kind ?? ''
  }

  get namespace(): string {
    return this.#ref.namespace ?? ''
  }

  get name(): string {
    return this.#ref.name ?? ''
  }

  get labels(): ReadonlyMap<string, string> {
    return mapOf(this.#event.regardingLabels)
  }

  get owner(): OwnerFields {
    return new OwnerFields(this.#event.regardingOwners?.at(-1))
  }

  has(key: string): boolean {
    if (key === 'labels') return this.#event.regardingLabels !== undefined
    if (key === 'owner') return this.#event.regardingOwners?.at(-1) !== undefined
    return this.#ref[key as keyof ObjectRef] !== undefined
  }
}

/** kubeherald's header of an event. */
export class EventFields implements Fields {
  readonly #event: ClusterEvent

  constructor(event: ClusterEvent) {
    this.#event = event
  }

  get type(): string {
    return this.#event.type
  }

  get kind(): string {
    return this.#event.kind
  }

  get apiVersion(): string {
    return this.#event.apiVersion
  }

  get namespace(): string {
    return this.#event.namespace ?? ''
  }

  get name(): string {
    return this.#event.name
  }

  get uid(): string {
    return this.#event.uid
  }

  get time(): Date {
    return new Date(this.#event.time)
  }

  get cluster(): string {
    return this.#event.cluster
  }

  get synthesized(): boolean {
    return this.#event.synthesized
  }

  get eventType(): string {
    return this.#event.event?.type ?? ''
  }

  get reason(): string {
    return this.#event.event?.reason ?? ''
  }

  get message(): string {
    return this.#event.event?.message ?? ''
  }

  get count(): bigint {
    return BigInt(Math.trunc(this.#event.event?.count ?? 0))
  }

  get regarding(): RegardingFields {
    return new RegardingFields(this.#event)
  }

  get firstSeen(): Date {
    return timeOf(this.#event.event?.firstSeen)
  }

  get lastSeen(): Date {
    return timeOf(this.#event.event?.lastSeen)
  }

  get reportingComponent(): string {
    return this.#event.event?.reportingComponent ?? ''
  }

  get owner(): OwnerFields {
    return new OwnerFields(topOf(this.#event))
  }

  get namespaceLabels(): ReadonlyMap<string, string> {
    return mapOf(this.#event.namespaceLabels)
  }

  get manager(): string {
    return this.#event.manager ?? ''
  }

  has(key: string): boolean {
    const { namespace, event, namespaceLabels } = this.#event
    if (key === 'namespace') return namespace !== undefined
    if (key === 'owner') return topOf(this.#event) !== undefined
    if (key === 'namespaceLabels') return namespaceLabels !== undefined
    if (key === 'manager') return this.#event.manager !== undefined
    if (!EVENT_ONLY.has(key)) return true
    return event !== undefined && (key === 'eventType' || event[key as keyof KubeEventView] !== undefined)
  }
}

const REF_FIELDS = { apiVersion: 'string', kind: 'string', name: 'string' }
const LABELS = 'map<string, string>'
const EVENT_FIELDS = {
  eventType: 'string',
  reason: 'string',
  message: 'string',
  count: 'int',
  regarding: REGARDING,
  firstSeen: TIME,
  lastSeen: TIME,
  reportingComponent: 'string',
}
const EVENT_ONLY: ReadonlySet<string> = new Set(Object.keys(EVENT_FIELDS))
/** They cost no look into the object. */
const HEADER_FIELDS = {
  type: 'string',
  kind: 'string',
  apiVersion: 'string',
  namespace: 'string',
  name: 'string',
  uid: 'string',
  time: TIME,
  cluster: 'string',
  synthesized: 'bool',
}

/** The types of `event`, with their fields; those that others refer to come first. */
export const VARIABLE_TYPES: readonly CelType[] = [
  { name: OWNER, ctor: OwnerFields, fields: REF_FIELDS },
  {
    name: REGARDING,
    ctor: RegardingFields,
    fields: { ...REF_FIELDS, namespace: 'string', labels: LABELS, owner: OWNER },
  },
  {
    name: EVENT,
    ctor: EventFields,
    fields: { ...HEADER_FIELDS, ...EVENT_FIELDS, owner: OWNER, namespaceLabels: LABELS, manager: 'string' },
  },
]

/** The fields of a declared type, for hints. */
export function fieldsOf(type: string): readonly string[] {
  return Object.keys(VARIABLE_TYPES.find(({ name }) => name === type)?.fields ?? {})
}

export function isHeaderField(field: string): boolean {
  return Object.hasOwn(HEADER_FIELDS, field)
}

/** The top controller; Events have none of their own: what they are about has. */
function topOf({ event, owners, regardingOwners }: ClusterEvent): ObjectRef | undefined {
  return (event ? regardingOwners : owners)?.at(-1)
}

function timeOf(text: string | undefined): Date {
  const time = text === undefined ? EPOCH : new Date(text)
  return Number.isNaN(time.getTime()) ? EPOCH : time
}

function mapOf(labels: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, string> {
  return labels === undefined ? NOTHING : new Map(Object.entries(labels))
}
