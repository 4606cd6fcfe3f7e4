import type { ScannedObject } from '../change.ts'
import type { ObjectRef } from '../event.ts'
import { walkMembers } from './json-bytes.ts'

// With its quotes and brace no text inside a string can be it, and no other field of an Event holds an object of that name.
const KEYS = [Buffer.from('"involvedObject":{'), Buffer.from('"regarding":{')] as const
const FIELDS = new Set(['apiVersion', 'kind', 'namespace', 'name', 'uid'])
const QUOTE = 34

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
    if (FIELDS.has(key) && bytes[value] === QUOTE && end > value + 2) ref[key] = textOf(bytes, value, end)
    return false
  })
  return isWhole && ref['kind'] !== undefined && ref['name'] !== undefined ? ref : undefined
}

function textOf(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}
