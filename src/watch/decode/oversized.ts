import {
  isKey,
  nextKey,
  QUOTE,
  readString,
  skipSpace,
  skipString,
  skipValue,
  valueAfter,
  walkMembers,
} from './json-bytes.ts'

/** An object with more JSON than this is not held in memory. The API server accepts at most 1.5 MiB, 9 MiB when escaped. */
export const DEFAULT_MAX_OBJECT_BYTES = 64 * 1024 * 1024

/** How much of an oversized object is kept, to find its metadata. */
export const HEAD_BYTES = 2 * 1024 * 1024

/** Marks an object of which only the metadata is known. The value is the number of bytes that the API server sent. */
const OVERSIZED_ANNOTATION = 'kubeherald.dev/oversized-bytes'

/** An object that was larger than the limit. */
export interface Oversized {
  bytes: number
  /** Absent when its metadata could not be found: the object is skipped. */
  object?: { namespace: string; name: string }
}

const METADATA = Buffer.from('metadata')
const IDENTITY = [Buffer.from('kind'), Buffer.from('apiVersion')]

/**
 * Returns JSON of an oversized object with its kind, apiVersion and metadata alone, without managedFields, and with
 * OVERSIZED_ANNOTATION. `head` is its beginning. Members of metadata that are not complete in it are left out. Returns
 * undefined when no metadata begins in `head`.
 */
export function reduceToMetadata(head: Buffer, bytes: number): Buffer | undefined {
  try {
    return reduce(head, bytes)
  } catch {
    // A wrong escape: such bytes are no JSON.
    return undefined
  }
}

function reduce(head: Buffer, bytes: number): Buffer | undefined {
  const object: Record<string, unknown> = {}
  let at = skipSpace(head, 1)
  while (head[at] === QUOTE) {
    const key = at
    const keyEnd = skipString(head, key)
    const value = valueAfter(head, keyEnd)
    if (value === -1) return undefined
    if (isKey(head, key, keyEnd, METADATA))
      return Buffer.from(JSON.stringify({ ...object, metadata: marked(membersIn(head, value), bytes) }))
    const end = skipValue(head, value)
    if (IDENTITY.some((name) => isKey(head, key, keyEnd, name)))
      object[readString(head, key, keyEnd)] = readString(head, value, end)
    at = nextKey(head, end)
  }
  return undefined
}

function membersIn(head: Buffer, start: number): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  walkMembers(head, start, (key, value, end) => {
    if (key !== 'managedFields') members[key] = parse(head.toString('utf8', value, end))
    return false
  })
  return members
}

function marked(metadata: Record<string, unknown>, bytes: number): object {
  const annotations = {
    ...(metadata['annotations'] as object | undefined),
    [OVERSIZED_ANNOTATION]: `${bytes}`,
  }
  return { ...metadata, annotations }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
