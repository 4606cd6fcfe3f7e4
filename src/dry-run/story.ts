import type { ChangeType } from '../event.ts'
import { isEventKind } from '../rules/kind.ts'
import { type Completed, complete, type ObjectFault, type WholeObject } from './complete.ts'
import type { Happening } from './event-of.ts'
import { isPlainMap, type PlainMap, textIn } from './plain.ts'
import { unshortened } from './short-object.ts'

/** A change as it is written: objects may lack what an API server fills in. */
export interface Written {
  object: unknown
  old?: unknown
  /** Without it: what follows from what was told before, and from `old`. */
  type?: ChangeType | undefined
  synthesized?: boolean | undefined
  atMs: number
}

export type Told = { ok: true; happening: Happening } | { ok: false; faults: readonly StoryFault[] }

/** `of` tells which object of the change is meant. */
export interface StoryFault extends ObjectFault {
  of: 'object' | 'old'
}

/** Changes one after the other: an object that comes again is a MODIFIED, and its former state the old one. */
export class Story {
  readonly #last = new Map<string, WholeObject & { revision: string }>()
  #revision = 1000

  tell({ object: given, old: givenOld, type, synthesized, atMs }: Written): Told {
    const whole = complete(given, atMs)
    const old = givenOld === undefined ? undefined : complete(likeNew(givenOld, given), atMs)
    const faults = [...faultsOf(whole, 'object'), ...(old ? faultsOf(old, 'old') : [])]
    if (!whole.ok || old?.ok === false) return { ok: false, faults }
    const key = keyOf(whole)
    const before = this.#last.get(key)
    const previous = old ? this.#withRevision(old, undefined) : before?.object
    const counted = before && isEventKind(whole.resource) ? recurred(whole, given, before) : whole
    const object = this.#withRevision(counted, before?.revision)
    const change = type ?? (previous ? 'MODIFIED' : 'ADDED')
    if (change === 'DELETED') this.#last.delete(key)
    else
      this.#last.set(key, { ...whole, object, revision: textIn(object['metadata'], 'resourceVersion') ?? '' })
    const { resource } = whole
    return {
      ok: true,
      happening: {
        type: change,
        resource,
        object,
        old: change === 'ADDED' ? undefined : previous,
        synthesized,
        atMs,
      },
    }
  }

  /** Each state of an object has a version of its own. */
  #withRevision({ object }: WholeObject, before: string | undefined): Record<string, unknown> {
    const metadata = object['metadata'] as PlainMap
    const given = textIn(metadata, 'resourceVersion')
    if (given !== undefined && given !== before) return object
    return { ...object, metadata: { ...metadata, resourceVersion: String(++this.#revision) } }
  }
}

function faultsOf(completed: Completed, of: StoryFault['of']): StoryFault[] {
  return completed.ok ? [] : completed.faults.map((fault) => ({ ...fault, of }))
}

/** The old state may leave out what it has in common with the new one: what kind it is, and who. */
function likeNew(shortOld: unknown, short: unknown): unknown {
  const [old, given] = [unshortened(shortOld), unshortened(short)]
  if (!isPlainMap(old) || !isPlainMap(given)) return old
  const { kind, apiVersion, involvedObject, regarding, metadata } = given
  const identity: Record<string, unknown> = {}
  for (const key of ['name', 'namespace', 'uid', 'creationTimestamp']) {
    const value = isPlainMap(metadata) ? metadata[key] : undefined
    if (value !== undefined) identity[key] = value
  }
  const defaults = { kind, apiVersion, involvedObject, regarding }
  const known = Object.fromEntries(Object.entries(defaults).filter(([, value]) => value !== undefined))
  const own = old['metadata']
  return { ...known, ...old, metadata: isPlainMap(own) ? { ...identity, ...own } : (own ?? identity) }
}

/** An Event that is told again counts on, as in Kubernetes. */
function recurred(whole: WholeObject, given: unknown, before: WholeObject): WholeObject {
  if (!isPlainMap(given) || before.object['count'] === undefined) return whole
  const { count, firstTimestamp } = before.object
  const next = typeof count === 'number' ? count + 1 : 1
  return {
    ...whole,
    object: {
      ...whole.object,
      ...(given['count'] === undefined && given['series'] === undefined && { count: next }),
      ...(given['firstTimestamp'] === undefined && { firstTimestamp }),
    },
  }
}

function keyOf({ resource: { group, kind }, object }: WholeObject): string {
  const metadata = object['metadata']
  return JSON.stringify([group, kind, textIn(metadata, 'namespace'), textIn(metadata, 'name')])
}
