import type { ScannedObject } from '../../model/change.ts'
import type { ChangeType } from '../../model/event.ts'
import { type ApiStatus, statusOf } from '../client/api-fault.ts'
import {
  CLOSE_BRACE,
  isKey,
  memberRange,
  nextKey,
  OPEN_BRACE,
  parseObject,
  QUOTE,
  readCommon,
  readString,
  skipKey,
  skipSpace,
  skipString,
  skipValue,
  valueAfter,
  walkElements,
  walkMembers,
} from './json-bytes.ts'
import { reduceToMetadata } from './oversized.ts'

type Frame =
  | { kind: 'change'; type: ChangeType; object: ScannedObject }
  | { kind: 'bookmark'; resourceVersion: string; initialEventsEnd: boolean }
  | { kind: 'error'; status: ApiStatus }
  | { kind: 'unreadable' }

/** A frame longer than the limit, from its beginning: a change whose object is reduced to its metadata. */
type LongFrame =
  | Extract<Frame, { kind: 'change' | 'unreadable' }>
  /** A change of an object whose metadata is not in the frame's beginning. */
  | { kind: 'skipped' }

/** One line of a watch stream. Changes are scanned; everything else is rare and parsed. */
export function readFrame(line: Buffer): Frame {
  try {
    return scanChange(line) ?? parseFrame(line)
  } catch {
    // Too deep for JSON.stringify.
    return { kind: 'unreadable' }
  }
}

const HEADS = (['ADDED', 'MODIFIED', 'DELETED'] as const).map((type) => ({
  type,
  bytes: Buffer.from(`{"type":"${type}","object":{`),
}))

/** Reads the beginning of a frame of `length` bytes that was not kept whole. */
export function readLongFrame(line: Buffer, length: number): LongFrame {
  const head = headOf(line)
  if (!head) return { kind: 'unreadable' }
  const start = head.bytes.length - 1
  const reduced = reduceToMetadata(line.subarray(start), length - start - 1)
  const object = reduced && scanObject(reduced)
  return hasVersion(object) ? { kind: 'change', type: head.type, object } : { kind: 'skipped' }
}

function headOf(line: Buffer) {
  return HEADS.find(({ bytes }) => line[9] === bytes[9] && startsWith(line, bytes))
}

function scanChange(line: Buffer): Frame | undefined {
  const head = headOf(line)
  if (!head) return undefined
  const end = endOfObject(line)
  if (end === -1) return undefined
  const object = scanObject(line.subarray(head.bytes.length - 1, end))
  return hasVersion(object) ? { kind: 'change', type: head.type, object } : undefined
}

/** What comes without a position cannot be stored: a stream of it would only be collected. */
function hasVersion(object: ScannedObject | undefined): object is ScannedObject {
  return object !== undefined && object.resourceVersion !== ''
}

function startsWith(line: Buffer, head: Buffer): boolean {
  return line.length > head.length && line.compare(head, 0, head.length, 0, head.length) === 0
}

/** Behind the object's last brace: the frame must end with it and one more. */
function endOfObject(line: Buffer): number {
  let at = line.length - 1
  while (at > 0 && (line[at] === 13 || line[at] === 32)) at--
  return line[at] === 125 && line[at - 1] === 125 ? at : -1
}

function parseFrame(line: Buffer): Frame {
  const frame = parseObject(line) as { type?: string; object?: ParsedObject } | undefined
  const object = frame?.object
  if (!frame || !object) return { kind: 'unreadable' }
  if (frame.type === 'BOOKMARK') return bookmark(object)
  if (frame.type === 'ERROR') return { kind: 'error', status: statusOf(object) }
  if (frame.type !== 'ADDED' && frame.type !== 'MODIFIED' && frame.type !== 'DELETED')
    return { kind: 'unreadable' }
  const scanned = scanObject(Buffer.from(JSON.stringify(object)))
  return hasVersion(scanned) ? { kind: 'change', type: frame.type, object: scanned } : { kind: 'unreadable' }
}

interface ParsedObject {
  metadata?: { resourceVersion?: string; annotations?: Record<string, string> | null }
}

function bookmark({ metadata }: ParsedObject): Frame {
  const resourceVersion = metadata?.resourceVersion
  if (!resourceVersion) return { kind: 'unreadable' }
  const initialEventsEnd = metadata.annotations?.['k8s.io/initial-events-end'] === 'true'
  return { kind: 'bookmark', resourceVersion, initialEventsEnd }
}

const METADATA = Buffer.from('metadata')
const UID = Buffer.from('uid')
const NAME = Buffer.from('name')
const LABELS = Buffer.from('labels')
const NAMESPACE = Buffer.from('namespace')
const ANNOTATIONS = Buffer.from('annotations')
const MANAGED_FIELDS = Buffer.from('managedFields')
const RESOURCE_VERSION = Buffer.from('resourceVersion')
const OWNER_REFERENCES = Buffer.from('ownerReferences')
const CREATION_TIMESTAMP = Buffer.from('creationTimestamp')

/**
 * Reads an object's identity from its JSON bytes, without parsing them: walks the top-level keys up to `metadata`, notes
 * what is needed of it, and stops. Returns undefined for unexpected JSON; the caller then parses.
 */
export function scanObject(bytes: Buffer): ScannedObject | undefined {
  try {
    return scanMembers(bytes)
  } catch {
    // A wrong escape: such bytes are no JSON.
    return undefined
  }
}

function scanMembers(bytes: Buffer): ScannedObject | undefined {
  let at = skipSpace(bytes, 0)
  if (bytes[at] !== OPEN_BRACE) return undefined
  at = skipSpace(bytes, at + 1)
  while (bytes[at] === QUOTE) {
    // Custom resources of any schema may have keys with escapes before it.
    const keyEnd = skipString(bytes, at)
    const value = valueAfter(bytes, keyEnd)
    if (value === -1) return undefined
    if (isKey(bytes, at, keyEnd, METADATA)) return scanMetadata(bytes, value)
    at = nextKey(bytes, skipValue(bytes, value))
  }
  return undefined
}

function scanMetadata(bytes: Buffer, start: number): ScannedObject | undefined {
  if (bytes[start] !== OPEN_BRACE) return undefined
  const found: ScannedObject = {
    bytes,
    uid: '',
    resourceVersion: '',
    namespace: '',
    name: '',
    labelsJson: '{}',
  }
  let comma = -1
  let at = skipSpace(bytes, start + 1)
  while (bytes[at] === QUOTE) {
    const keyEnd = skipKey(bytes, at)
    const value = valueAfter(bytes, keyEnd)
    if (value === -1) return undefined
    const end = skipValue(bytes, value)
    if (end > bytes.length) return undefined
    note(found, bytes, at, keyEnd, value, end, comma)
    comma = skipSpace(bytes, end)
    at = nextKey(bytes, end)
  }
  if (bytes[at] !== CLOSE_BRACE || found.uid === '' || found.name === '') return undefined
  found.metadata = [start, at + 1]
  return found
}

/** Keeps one field of metadata. Keys are distinguished by their length first. */
function note(
  found: ScannedObject,
  bytes: Buffer,
  key: number,
  keyEnd: number,
  value: number,
  end: number,
  commaBefore: number,
): void {
  switch (keyEnd - key - 2) {
    case 3:
      if (isKey(bytes, key, keyEnd, UID)) found.uid = readString(bytes, value, end)
      return
    case 4:
      if (isKey(bytes, key, keyEnd, NAME)) found.name = readString(bytes, value, end)
      return
    case 6:
      if (isKey(bytes, key, keyEnd, LABELS))
        found.labelsJson = bytes[value] === OPEN_BRACE ? bytes.toString('utf8', value, end) : '{}'
      return
    case 9:
      if (isKey(bytes, key, keyEnd, NAMESPACE)) found.namespace = readCommon(bytes, value, end)
      return
    case 11:
      if (!isKey(bytes, key, keyEnd, ANNOTATIONS)) return
      if (bytes[value] === OPEN_BRACE) found.annotations = [value, end]
      else delete found.annotations
      return
    case 13:
      if (isKey(bytes, key, keyEnd, MANAGED_FIELDS))
        found.managedFields = memberRange(bytes, key, end, commaBefore)
      return
    case 15:
      if (isKey(bytes, key, keyEnd, RESOURCE_VERSION)) found.resourceVersion = readString(bytes, value, end)
      else if (isKey(bytes, key, keyEnd, OWNER_REFERENCES)) found.ownerReferences = [value, end]
      return
    case 17:
      if (isKey(bytes, key, keyEnd, CREATION_TIMESTAMP)) found.created = [value, end]
  }
}

const OPEN_BRACKET = 91

interface Entry {
  manager: string
  time: string
  isStatus: boolean
}

/**
 * Returns the field manager that wrote an object last, by `time` in metadata.managedFields, read from the bytes; undefined when there is
 * none. Among managers of the same second, one that wrote more than the status wins: controllers react immediately.
 */
export function scanManager({ bytes, managedFields }: ScannedObject): string | undefined {
  if (!managedFields) return undefined
  const [from, end] = managedFields
  const start = bytes.indexOf(OPEN_BRACKET, from)
  if (start === -1 || start >= end) return undefined
  let last: Entry | undefined
  try {
    walkElements(bytes, start, (value) => {
      const entry = entryAt(bytes, value)
      if (entry.manager !== '' && entry.time !== '' && isLater(entry, last)) last = entry
    })
  } catch {
    return undefined
  }
  return last?.manager
}

function entryAt(bytes: Buffer, start: number): Entry {
  const entry: Entry = { manager: '', time: '', isStatus: false }
  walkMembers(bytes, start, (key, value, end) => {
    if (key === 'manager') entry.manager = readString(bytes, value, end)
    else if (key === 'time') entry.time = readString(bytes, value, end)
    else if (key === 'subresource') entry.isStatus = readString(bytes, value, end) === 'status'
    return false
  })
  return entry
}

/** All times are RFC 3339 in UTC, in seconds. */
function isLater(entry: Entry, last: Entry | undefined): boolean {
  if (!last || entry.time > last.time) return true
  return entry.time === last.time && last.isStatus && !entry.isStatus
}

type Labels = Readonly<Record<string, string>>

const MOST = 1_000
const LONGEST = 2_000
const known = new Map<string, Labels>()

/** Labels as they stand in an object. The same ones come with each of its changes, and with those of its replicas: they are read once. */
export function readLabels(json: string): Labels {
  const found = known.get(json)
  if (found) return found
  const labels = Object.freeze(strings(JSON.parse(json)))
  if (json.length > LONGEST) return labels
  if (known.size >= MOST) known.clear()
  known.set(json, labels)
  return labels
}

/** A map without prototype: a label may be called `constructor`. */
export function strings(value: unknown): Record<string, string> {
  const map = Object.create(null) as Record<string, string>
  for (const [key, text] of Object.entries(value ?? {})) if (typeof text === 'string') map[key] = text
  return map
}
