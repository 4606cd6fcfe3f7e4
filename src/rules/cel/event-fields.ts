import type { ClusterEvent, KubeEventView, ObjectRef } from '../../model/event.ts'
import type { CelType } from './function.ts'
import { safe } from './values.ts'

/** The variables of `if`, and their types. */
export const VARIABLES = {
  object: 'dyn',
  oldObject: 'dyn',
  event: 'kubeherald.Event',
  cluster: 'string',
  now: 'google.protobuf.Timestamp',
} as const

/** The values of the variables for one event, each made on first use. */
class Variables {
  readonly #event: ClusterEvent
  #fields: Fields | undefined
  #now: Date | undefined

  constructor(event: ClusterEvent) {
    this.#event = event
  }

  get event(): Fields {
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

/** Returns the variables of an event; the same for all rules that are evaluated one after the other. */
export function variablesOf(event: ClusterEvent): Variables {
  if (last?.event !== event) last = { event, variables: new Variables(event) }
  return last.variables
}

/** A value with declared fields: a field that is not set reads as '', 0 or empty, and `has()` is false for it. */
export abstract class Fields {
  abstract has(key: string): boolean
}

/** The type of a field, and its value; undefined if it is not set. */
type Field<T> = readonly [type: string, read: (of: T) => unknown]

/** Makes the class of a type of values with these fields. */
function withFields<T>(fields: Readonly<Record<string, Field<T>>>): new (of: T) => Fields {
  class Declared extends Fields {
    readonly #of: T

    constructor(of: T) {
      super()
      this.#of = of
    }

    override has(key: string): boolean {
      return Object.hasOwn(fields, key) && fields[key]?.[1](this.#of) !== undefined
    }

    static {
      for (const [key, [type, read]] of Object.entries(fields)) {
        const get = function (this: Declared) {
          return read(this.#of) ?? emptyOf(type)
        }
        Object.defineProperty(Declared.prototype, key, { get })
      }
    }
  }
  return Declared
}

const TIME = 'google.protobuf.Timestamp'
const LABELS = 'map<string, string>'
const OWNER = 'kubeherald.Owner'
const REGARDING = 'kubeherald.Regarding'
const EPOCH = new Date(0)
const NOTHING: ReadonlyMap<string, string> = new Map()

function emptyOf(type: string): unknown {
  if (type === 'int') return 0n
  if (type === TIME) return EPOCH
  if (type === LABELS) return NOTHING
  if (type === OWNER) return new OwnerFields({})
  return type === REGARDING ? new RegardingFields({}) : ''
}

const OWNER_FIELDS = {
  apiVersion: ['string', (it) => it.apiVersion],
  kind: ['string', (it) => it.kind],
  name: ['string', (it) => it.name],
} satisfies Record<string, Field<ObjectRef>>
const OwnerFields = withFields(OWNER_FIELDS)

type RegardingParts = Partial<
  Pick<ClusterEvent, 'event' | 'regardingLabels' | 'regardingAnnotations' | 'regardingOwners'>
>

const REGARDING_FIELDS = {
  apiVersion: ['string', (it) => it.event?.regarding.apiVersion],
  kind: ['string', (it) => it.event?.regarding.kind],
  name: ['string', (it) => it.event?.regarding.name],
  namespace: ['string', (it) => it.event?.regarding.namespace],
  labels: [LABELS, (it) => mapOf(it.regardingLabels)],
  annotations: [LABELS, (it) => mapOf(it.regardingAnnotations)],
  owner: [OWNER, (it) => ownerOf(it.regardingOwners)],
} satisfies Record<string, Field<RegardingParts>>
const RegardingFields = withFields<RegardingParts>(REGARDING_FIELDS)

/** They are read without parsing the object. */
const HEADER_FIELDS = {
  type: ['string', (it) => it.type],
  kind: ['string', (it) => it.kind],
  apiVersion: ['string', (it) => it.apiVersion],
  namespace: ['string', (it) => it.namespace],
  name: ['string', (it) => it.name],
  uid: ['string', (it) => it.uid],
  time: [TIME, (it) => new Date(it.time)],
  cluster: ['string', (it) => it.cluster],
  synthesized: ['bool', (it) => it.synthesized],
} satisfies Record<string, Field<ClusterEvent>>

const EVENT_FIELDS: Readonly<Record<string, Field<ClusterEvent>>> = {
  ...HEADER_FIELDS,
  eventType: ['string', ({ event }) => event?.type],
  reason: ['string', ({ event }) => event?.reason],
  message: ['string', ({ event }) => event?.message],
  count: ['int', ({ event }) => countOf(event)],
  regarding: [REGARDING, (it) => it.event && new RegardingFields(it)],
  firstSeen: [TIME, ({ event }) => timeOf(event?.firstSeen)],
  lastSeen: [TIME, ({ event }) => timeOf(event?.lastSeen)],
  reportingComponent: ['string', ({ event }) => event?.reportingComponent],
  // The top controller; Events have none of their own, but the regarded object has.
  owner: [OWNER, ({ event, owners, regardingOwners }) => ownerOf(event ? regardingOwners : owners)],
  namespaceLabels: [LABELS, (it) => mapOf(it.namespaceLabels)],
  namespaceAnnotations: [LABELS, (it) => mapOf(it.namespaceAnnotations)],
  manager: ['string', (it) => it.manager],
}
const EventFields = withFields(EVENT_FIELDS)

/** The types of `event` and its fields; a type comes before those that refer to it. */
export const VARIABLE_TYPES: readonly CelType[] = [
  { name: OWNER, ctor: OwnerFields, fields: typesOf(OWNER_FIELDS) },
  { name: REGARDING, ctor: RegardingFields, fields: typesOf(REGARDING_FIELDS) },
  { name: VARIABLES.event, ctor: EventFields, fields: typesOf(EVENT_FIELDS) },
]

function typesOf(fields: Readonly<Record<string, readonly [string, unknown]>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([key, [type]]) => [key, type]))
}

/** Returns the names of the fields of a declared type. */
export function fieldsOf(type: string): readonly string[] {
  return Object.keys(VARIABLE_TYPES.find(({ name }) => name === type)?.fields ?? {})
}

export function isHeaderField(field: string): boolean {
  return Object.hasOwn(HEADER_FIELDS, field)
}

function ownerOf(owners: readonly ObjectRef[] | undefined): Fields | undefined {
  const owner = owners?.at(-1)
  return owner && new OwnerFields(owner)
}

function countOf(event: KubeEventView | undefined): bigint | undefined {
  return event?.count === undefined ? undefined : BigInt(Math.trunc(event.count))
}

function timeOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? EPOCH : time
}

function mapOf(
  labels: Readonly<Record<string, string>> | undefined,
): ReadonlyMap<string, string> | undefined {
  return labels && new Map(Object.entries(labels))
}
