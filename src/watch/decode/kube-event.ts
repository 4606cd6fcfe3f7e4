import type { ScannedObject } from '../../model/change.ts'
import {
  type KubeEvent,
  type KubeEventView,
  type ObjectRef,
  plainKubeEvent,
  type Resource,
} from '../../model/event.ts'
import {
  CLOSE_BRACE,
  isKey,
  nextKey,
  OPEN_BRACE,
  QUOTE,
  readString,
  readValue,
  skipKey,
  skipSpace,
  skipValue,
  valueAfter,
  walkMembers,
} from './json-bytes.ts'

/** Returns true if the resource is the cluster's own Events. */
export function isEventResource({ group, plural }: Resource): boolean {
  return plural === 'events' && (group === '' || group === 'events.k8s.io')
}

/** Reads a parsed Event of core/v1 or events.k8s.io/v1 into one form. */
export function readKubeEvent(object: Readonly<Record<string, unknown>>): KubeEvent {
  const it = object as RawEvent
  return plainKubeEvent(new RawEventView((field) => it[field]))
}

/** Gives a field of an Event as it was sent. */
type ReadField = <Field extends keyof RawEvent>(field: Field) => RawEvent[Field]

/**
 * An Event of core/v1 or events.k8s.io/v1 in one form, each field read when it is asked for. New-style Events have null
 * first and last timestamps: their times are `eventTime` and `series.lastObservedTime`.
 */
class RawEventView implements KubeEventView {
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

/** Files for a dry run hold anything; an API server sends only text here. */
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

/** Where fields stand in some bytes: for each its number in the table, its start and its end. */
type Places = readonly number[]

/** Finds some fields of JSON objects by their bytes, whatever is between them. */
class FieldTable<Name extends string> {
  readonly #byLength: Field[][]
  readonly #numbers: ReadonlyMap<Name, number>

  constructor(names: readonly Name[]) {
    const longest = Math.max(...names.map(({ length }) => length))
    this.#byLength = Array.from({ length: longest + 1 }, () => [])
    this.#numbers = new Map(names.map((name, number) => [name, number]))
    for (const [name, number] of this.#numbers)
      this.#byLength[name.length]?.push({ bytes: Buffer.from(name), number })
  }

  /**
   * Walks the object that begins at `start`; of a field that is there twice the last one counts, as with JSON.parse.
   * `known` is the range of a value that needs no walking. Undefined for unexpected JSON: then it must be parsed.
   */
  find(bytes: Buffer, start: number, known?: readonly [start: number, end: number]): Places | undefined {
    if (bytes[start] !== OPEN_BRACE) return undefined
    const places: number[] = []
    let at = skipSpace(bytes, start + 1)
    while (bytes[at] === QUOTE) {
      const keyEnd = skipKey(bytes, at)
      const value = valueAfter(bytes, keyEnd)
      if (value === -1) return undefined
      const end = value === known?.[0] ? known[1] : skipValue(bytes, value)
      if (end > bytes.length) return undefined
      const length = keyEnd - at - 2
      const fields = length < this.#byLength.length ? (this.#byLength[length] as Field[]) : NONE
      for (let i = 0; i < fields.length; i++) {
        const field = fields[i] as Field
        if (isKey(bytes, at, keyEnd, field.bytes)) places.push(field.number, value, end)
      }
      at = nextKey(bytes, end)
    }
    return bytes[at] === CLOSE_BRACE ? places : undefined
  }

  /** The value of a field in what `find` gave; undefined when it is not there. `scan` reads it if it can. */
  read(bytes: Buffer, places: Places, name: Name, scan?: (bytes: Buffer, start: number) => unknown): unknown {
    const number = this.#numbers.get(name)
    for (let i = places.length - 3; i >= 0; i -= 3) {
      if (places[i] !== number) continue
      const [start, end] = [places[i + 1] as number, places[i + 2] as number]
      return scan?.(bytes, start) ?? readValue(bytes, start, end)
    }
    return undefined
  }
}

interface Field {
  bytes: Buffer
  number: number
}

const NONE: Field[] = []

const FIELDS = new FieldTable([
  'metadata',
  'type',
  'reason',
  'message',
  'note',
  'count',
  'deprecatedCount',
  'series',
  'eventTime',
  'firstTimestamp',
  'lastTimestamp',
  'deprecatedFirstTimestamp',
  'deprecatedLastTimestamp',
  'involvedObject',
  'regarding',
  'reportingController',
  'reportingComponent',
  'source',
  'deprecatedSource',
])

const REF_FIELDS = new FieldTable(REF)

/** An Event that is read from its bytes, field by field, without parsing it whole; undefined for unexpected JSON. */
export function scanKubeEvent({ bytes, metadata }: ScannedObject): KubeEventView | undefined {
  const places = FIELDS.find(bytes, 0, metadata)
  if (!places) return undefined
  const read = (field: Parameters<ReadField>[0]) =>
    field === 'involvedObject' || field === 'regarding'
      ? FIELDS.read(bytes, places, field, scanRef)
      : FIELDS.read(bytes, places, field)
  return new RawEventView(read as ReadField)
}

function scanRef(bytes: Buffer, start: number): ObjectRef | undefined {
  const places = REF_FIELDS.find(bytes, start)
  return places && Object.fromEntries(REF.map((field) => [field, REF_FIELDS.read(bytes, places, field)]))
}

// With its quotes and brace no text inside a string can be it, and no other field of an Event holds an object of that name.
const KEYS = [Buffer.from('"involvedObject":{'), Buffer.from('"regarding":{')] as const
const REFERENCE = new Set(['apiVersion', 'kind', 'namespace', 'name', 'uid'])

/** The object that an Event is about, read from its bytes without parsing them; undefined when it names none. */
export function regardingIn({ bytes }: ScannedObject): ObjectRef | undefined {
  for (const key of KEYS) {
    const at = bytes.indexOf(key)
    if (at !== -1) return readReference(bytes, at + key.length - 1)
  }
  return undefined
}

function readReference(bytes: Buffer, start: number): ObjectRef | undefined {
  const ref: Record<string, string> = {}
  const isWhole = walkMembers(bytes, start, (key, value, end) => {
    if (REFERENCE.has(key) && end > value + 2) {
      const text = readString(bytes, value, end)
      if (text) ref[key] = text
    }
    return false
  })
  return isWhole && ref['kind'] !== undefined && ref['name'] !== undefined ? ref : undefined
}
