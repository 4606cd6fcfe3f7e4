import { type DryRun, eventOf, type ObjectChange } from '../../app/dry-run/dry-run.ts'
import { isWatched } from '../../app/dry-run/match-report.ts'
import type { ChangeType, ClusterEvent, KnownObject, ObjectRef, RelatedMetadata } from '../../model/event.ts'
import { isEventKind } from '../../rules/kind.ts'
import { isMap } from '../../text/plain-data.ts'
import {
  type CompletedObject,
  complete,
  expandShortForm,
  type ObjectFault,
  type PlainMap,
  textIn,
} from './complete-object.ts'

/** `of` is the object of the change that is wrong. */
interface ChangeFault extends ObjectFault {
  of: 'object' | 'old'
}

type ScenarioResult = { ok: true; event: ClusterEvent } | { ok: false; faults: readonly ChangeFault[] }

/** Converts the changes of a test, one after the other, to events of one run. */
export interface Scenario {
  /** Adds an object to the related metadata. Returns what is wrong with it. */
  addRelated(object: unknown, atMs: number): readonly ChangeFault[]
  change(change: WrittenChange): ScenarioResult
}

interface ScenarioOptions {
  run: DryRun
  /** The cluster's name. */
  cluster: string
  /** Salts the hashes of Secret values. */
  salt: Buffer
  /** Changes are those that `watch` reports: an object that leaves its selection is deleted, one that enters it is added. */
  asWatched?: boolean
}

export function createScenario({ run, cluster, salt, asWatched = false }: ScenarioOptions): Scenario {
  const history = new ObjectHistory()
  const surroundings = createRelatedObjects()
  const { config, keepsPrevious, named, needs } = run.snapshot
  const { inTemplates } = needs
  const context = { cluster, salt, keepsPrevious, surroundings, inTemplates, named }
  return {
    addRelated: (object, atMs) => unlessTooDeep(() => addRelated(object, atMs), [TOO_DEEP]),
    change: (change) => unlessTooDeep(() => convert(change), { ok: false, faults: [TOO_DEEP] }),
  }

  function addRelated(object: unknown, atMs: number): readonly ChangeFault[] {
    const completed = complete(object, atMs)
    if (!completed.ok) return faultsOf(completed, 'object')
    surroundings.add(completed.object)
    return []
  }

  function convert(written: WrittenChange): ScenarioResult {
    const result = history.apply(written)
    if (!result.ok) return result
    surroundings.add(result.change.object)
    const change = asWatched ? watchedChange(result.change, written.old !== undefined) : result.change
    const event = eventOf(change, context)
    if (event) return { ok: true, event }
    const message = 'is not an object that a watch could read'
    return { ok: false, faults: [{ of: 'object', path: ['metadata'], message }] }
  }

  function watchedChange(change: ObjectChange, isWritten: boolean): ObjectChange {
    const { object, old } = change
    if (!old) return change
    const before = isWritten ? withLeftOut(old, object) : old
    const [was, is] = [before, object].map((state) => isSelected({ ...change, object: state }))
    if (was === is) return change
    const last = { ...before, metadata: { ...(before['metadata'] as PlainMap), ...revisionOf(object) } }
    if (was) return { ...change, type: 'DELETED', object: last }
    // Only the last state decides whether a watch reports a deletion.
    return change.type === 'DELETED'
      ? { ...change, object: last }
      : { ...change, type: 'ADDED', old: undefined }
  }

  function isSelected(change: ObjectChange): boolean {
    const event = eventOf({ ...change, old: undefined }, context)
    return event !== undefined && isWatched(config, event)
  }
}

/** Adds what a written old object leaves out: it names what differs. Labels and lists are written whole. */
function withLeftOut(old: PlainMap, object: PlainMap): Record<string, unknown> {
  const all: Record<string, unknown> = { ...object, ...old }
  for (const [key, value] of Object.entries(old)) {
    const next = Object.hasOwn(object, key) ? object[key] : undefined
    if (key !== 'labels' && isMap(value) && isMap(next)) all[key] = withLeftOut(value, next)
  }
  return all
}

function revisionOf({ metadata }: PlainMap): PlainMap {
  return isMap(metadata) ? pick(metadata, ['resourceVersion']) : {}
}

const TOO_DEEP: ChangeFault = { of: 'object', path: [], message: 'it nests too deep' }

/** An object may have more levels than the stack. */
function unlessTooDeep<T>(work: () => T, otherwise: T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof RangeError) return otherwise
    throw error
  }
}

/** A change as a user writes it: objects may lack what an API server adds. */
interface WrittenChange {
  object: unknown
  old?: unknown
  /** Default: derived from the changes before and from `old`. */
  type?: ChangeType | undefined
  synthesized?: boolean | undefined
  atMs: number
}

type AppliedChange = { ok: true; change: ObjectChange } | { ok: false; faults: readonly ChangeFault[] }

/** The last state of each object: a repeated object is MODIFIED, with its last state as the old one. */
export class ObjectHistory {
  readonly #last = new Map<string, CompletedObject & { revision: string }>()
  #revision = 1000

  apply({ object: given, old: givenOld, type, synthesized, atMs }: WrittenChange): AppliedChange {
    const completed = complete(given, atMs)
    const old = givenOld === undefined ? undefined : complete(withIdentity(givenOld, given), atMs)
    if (!completed.ok || old?.ok === false)
      return { ok: false, faults: [...faultsOf(completed, 'object'), ...(old ? faultsOf(old, 'old') : [])] }
    const { resource } = completed
    const key = keyOf(completed)
    const before = this.#last.get(key)
    const previous = old ? this.#withRevision(old, undefined) : before?.object
    const change = type ?? (previous ? 'MODIFIED' : 'ADDED')
    const aged = change === 'ADDED' ? completed : withCreation(completed, given, before ?? old)
    const counted = before && isEventKind(resource) ? repeated(aged, given, before) : aged
    const object = this.#withRevision(counted, before?.revision)
    const revision = textIn(object['metadata'], 'resourceVersion') ?? ''
    if (change === 'DELETED') this.#last.delete(key)
    else this.#last.set(key, { resource, object, revision })
    const oldObject = change === 'ADDED' ? undefined : previous
    return { ok: true, change: { type: change, resource, object, old: oldObject, synthesized, atMs } }
  }

  /** Gives each state of an object its own resourceVersion. */
  #withRevision({ object }: CompletedObject, before: string | undefined): Record<string, unknown> {
    const metadata = object['metadata'] as PlainMap
    const given = textIn(metadata, 'resourceVersion')
    if (given !== undefined && given !== before) return object
    return { ...object, metadata: { ...metadata, resourceVersion: String(++this.#revision) } }
  }
}

function faultsOf(completed: ReturnType<typeof complete>, of: ChangeFault['of']): ChangeFault[] {
  return completed.ok ? [] : completed.faults.map((fault) => ({ ...fault, of }))
}

/** Adds the kind and the identity of the new object to the old one, which may leave them out. */
function withIdentity(shortOld: unknown, short: unknown): unknown {
  const [old, given] = [expandShortForm(shortOld), expandShortForm(short)]
  if (!isMap(old) || !isMap(given)) return old
  const known = pick(given, ['kind', 'apiVersion', 'involvedObject', 'regarding'])
  const { metadata } = given
  const identity = isMap(metadata) ? pick(metadata, ['name', 'namespace', 'uid', 'creationTimestamp']) : {}
  const own = old['metadata']
  return { ...known, ...old, metadata: isMap(own) ? { ...identity, ...own } : (own ?? identity) }
}

function pick(map: PlainMap, keys: readonly string[]): PlainMap {
  return Object.fromEntries(Object.entries(map).filter(([key, it]) => keys.includes(key) && it !== undefined))
}

/** Adds the time of creation of an earlier state, unless one is given. */
function withCreation(
  it: CompletedObject,
  short: unknown,
  earlier: CompletedObject | undefined,
): CompletedObject {
  const given = expandShortForm(short)
  if (!earlier || (isMap(given) && isMap(given['metadata']) && given['metadata']['creationTimestamp']))
    return it
  const created = pick(earlier.object['metadata'] as PlainMap, ['creationTimestamp'])
  return { ...it, object: { ...it.object, metadata: { ...(it.object['metadata'] as PlainMap), ...created } } }
}

/** Raises the count of a repeated Event, as Kubernetes does. */
function repeated(it: CompletedObject, given: unknown, before: CompletedObject): CompletedObject {
  if (!isMap(given) || before.object['count'] === undefined) return it
  const { count, firstTimestamp } = before.object
  const next = typeof count === 'number' ? count + 1 : 1
  const object = {
    ...it.object,
    ...(given['count'] === undefined && given['series'] === undefined && { count: next }),
    ...(given['firstTimestamp'] === undefined && { firstTimestamp }),
  }
  return { ...it, object }
}

function keyOf({ resource: { group, kind }, object }: CompletedObject): string {
  const metadata = object['metadata']
  return JSON.stringify([group, kind, textIn(metadata, 'namespace'), textIn(metadata, 'name')])
}

interface Known extends Required<Pick<KnownObject, 'labels' | 'annotations' | 'owners'>> {
  namespace: string
  controller: ObjectRef | undefined
}

const MAX_OWNERS = 10

/** Related metadata of complete objects: labels, annotations and controllers. */
export function createRelatedObjects(): RelatedMetadata & { add(object: PlainMap): void } {
  const byUid = new Map<string, Known>()
  const byName = new Map<string, Known>()

  const find = ({ uid, ...ref }: ObjectRef): Known | undefined =>
    (uid === undefined ? undefined : byUid.get(uid)) ?? byName.get(nameKey(ref))

  function ownersOf(first: ObjectRef | undefined, namespace: string): ObjectRef[] {
    const owners: ObjectRef[] = []
    let next = first
    while (next && owners.length < MAX_OWNERS) {
      owners.push(next)
      next = find({ ...next, namespace })?.controller ?? find({ ...next, namespace: '' })?.controller
    }
    return owners
  }

  return {
    add({ kind, metadata }) {
      if (!isMap(metadata) || typeof kind !== 'string') return
      const namespace = textIn(metadata, 'namespace') ?? ''
      const [name, uid] = [textIn(metadata, 'name'), textIn(metadata, 'uid')]
      const [labels, annotations] = [textsIn(metadata['labels']), textsIn(metadata['annotations'])]
      const known = { namespace, labels, annotations, owners: [], controller: controllerIn(metadata) }
      if (uid !== undefined) byUid.set(uid, known)
      byName.set(nameKey({ kind, namespace, ...(name !== undefined && { name }) }), known)
    },
    namespaceLabels: (namespace) => find({ kind: 'Namespace', name: namespace })?.labels,
    namespaceAnnotations: (namespace) => find({ kind: 'Namespace', name: namespace })?.annotations,
    object(ref) {
      const known = find(ref)
      if (!known) return undefined
      const { labels, annotations, controller, namespace } = known
      return { labels, annotations, owners: ownersOf(controller, namespace) }
    },
    ownersOf: (references, namespace) => ownersOf(references[0], namespace),
  }
}

function nameKey({ kind = '', namespace = '', name = '' }: ObjectRef): string {
  return JSON.stringify([kind, namespace, name])
}

function textsIn(given: unknown): Readonly<Record<string, string>> {
  const texts = Object.create(null) as Record<string, string>
  if (!isMap(given)) return texts
  for (const [key, value] of Object.entries(given)) if (typeof value === 'string') texts[key] = value
  return texts
}

function controllerIn({ ownerReferences }: PlainMap): ObjectRef | undefined {
  const references = Array.isArray(ownerReferences) ? ownerReferences.filter(isMap) : []
  const owner = references.find(({ controller }) => controller === true)
  return owner && (pick(owner, ['apiVersion', 'kind', 'name', 'uid']) as ObjectRef)
}
