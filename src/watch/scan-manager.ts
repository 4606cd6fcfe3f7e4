import type { ScannedObject } from '../change.ts'
import { readString, walkElements, walkMembers } from './json-bytes.ts'

const OPEN_BRACKET = 91

interface Entry {
  manager: string
  time: string
  isStatus: boolean
}

/**
 * The field manager that wrote an object last, by `time` in metadata.managedFields, read from the bytes; undefined when
 * none says so. Of several in the same second one that wrote more than the status wins: controllers answer at once.
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
