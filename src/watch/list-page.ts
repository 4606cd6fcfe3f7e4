import type { Change, Source } from '../change.ts'
import { BrokenStream } from './api-fault.ts'
import { apiVersionOf } from './api-path.ts'
import { walkElements, walkMembers } from './json-bytes.ts'
import { scanObject } from './scan.ts'

export interface PageOptions {
  clock: { now(): number }
  /** Called for each item that has no identity; it is passed over. */
  onUnreadable(): void
}

export interface Page {
  /** Every item as an ADDED. */
  changes: Change[]
  resourceVersion: string
  /** Of the next page; '' for the last one. */
  token: string
}

/**
 * Reads a list without parsing its items: they stay the bytes that the server sent, numbers of any size among them, and
 * a list may be longer than a string can be. Throws BrokenStream when it is no list.
 */
export function readPage(source: Source, body: Buffer, { clock, onUnreadable }: PageOptions): Page {
  const observedAtMs = clock.now()
  const changes: Change[] = []
  let metadata: { resourceVersion?: string; continue?: string } | undefined
  let items = false
  const whole = walkMembers(body, body.indexOf('{'), (key, value, end) => {
    if (key === 'metadata') metadata = parse(body.toString('utf8', value, end))
    if (key !== 'items') return undefined
    // Go writes an empty list as null.
    items = body.toString('latin1', value, end) === 'null' || walkElements(body, value, take)
    return !items
  })

  function take(start: number, end: number): void {
    const object = scanObject(withIdentity(source, body.subarray(start, end)))
    if (object) changes.push({ type: 'ADDED', object, observedAtMs })
    else onUnreadable()
  }

  if (!whole || !items) throw new BrokenStream('a list is no JSON, or has no items')
  if (!metadata?.resourceVersion) throw new BrokenStream('a list has no resourceVersion')
  return { changes, resourceVersion: metadata.resourceVersion, token: metadata.continue ?? '' }
}

function parse(text: string): { resourceVersion?: string; continue?: string } {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new BrokenStream('a list is no JSON', { cause })
  }
}

/** Items of built-in lists carry no kind and apiVersion: they are added, first, as in a watch. */
function withIdentity({ resource }: Source, item: Buffer): Buffer {
  let named = false
  walkMembers(item, 0, (key) => {
    named = key === 'kind'
    return named
  })
  if (named) return item
  const identity = { kind: resource.kind, apiVersion: apiVersionOf(resource) }
  const head = `${JSON.stringify(identity).slice(0, -1)},`
  return Buffer.concat([Buffer.from(head), item.subarray(item.indexOf('{') + 1)])
}
