import { isDeepStrictEqual } from 'node:util'
import type { ChangeType } from '../../model/event.ts'
import type { Chance } from '../objects.ts'
import { type KubeObject, type Stored, type StoredMeta, timeOf } from '../objects.ts'
import { resourceOf, type ServedResource } from './request.ts'

/** One change of one object, at its revision. */
export interface Write {
  revision: number
  type: ChangeType
  resource: ServedResource
  before?: Stored
  after?: Stored
}

/** The objects of the demo cluster and what lately happened to them: what etcd and the watch cache are to a real one. */
export interface Store {
  /** Counts all writes, as etcd's revision does. */
  revision(): number
  /** The oldest revision that can be asked for. */
  oldestRevision(): number
  get<T extends KubeObject>(object: Pick<T, 'apiVersion' | 'kind' | 'metadata'>): Stored<T> | undefined
  /** Objects of a resource in the order of their keys, as they are or as they were at a revision. */
  list(resource: ServedResource, revision?: number): Stored[]
  /** Creates or replaces. What equals the stored one changes nothing, as on a real server. */
  put<T extends KubeObject>(object: T): Stored<T>
  /** Deletes; nothing happens if it is not there. */
  remove(object: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>): void
  /** What happened after a revision, oldest first. */
  since(revision: number): readonly Write[]
  /** Calls for every write from now on; gives the way to end that. */
  follow(listener: (write: Write) => void): () => void
}

interface StoreParts {
  chance: Chance
  clock: { now(): number }
  /** How many writes are remembered. */
  history: number
}

export function createStore({ chance, clock, history }: StoreParts): Store {
  const objects = new Map<ServedResource, Map<string, Stored>>()
  const listeners = new Set<(write: Write) => void>()
  const writes: Write[] = []
  let revision = chance.between(100_000, 900_000)
  let oldest = revision

  function shelf(resource: ServedResource): Map<string, Stored> {
    const found = objects.get(resource) ?? new Map<string, Stored>()
    objects.set(resource, found)
    return found
  }

  function record(write: Write): void {
    writes.push(write)
    const forgotten = writes.length > history ? writes.shift() : undefined
    if (forgotten) oldest = forgotten.revision
    for (const listener of listeners) listener(write)
  }

  const store: Store = {
    revision: () => revision,
    oldestRevision: () => oldest,
    get: <T extends KubeObject>(object: Pick<T, 'apiVersion' | 'kind' | 'metadata'>) =>
      shelf(resourceOf(object)).get(keyOf(object)) as Stored<T> | undefined,
    list(resource, at = revision) {
      const found = new Map(shelf(resource))
      for (const write of store.since(at).toReversed()) if (write.resource === resource) undo(found, write)
      return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object)
    },
    put<T extends KubeObject>(object: T) {
      const resource = resourceOf(object)
      const before = shelf(resource).get(keyOf(object)) as Stored<T> | undefined
      const uid = before?.metadata.uid ?? chance.uid()
      const now = timeOf(clock.now())
      if (before && same(before, object)) return before
      const after = stamp(object, before, { uid, resourceVersion: String(++revision), now })
      const stored = resource.custom ? sortKeys(after) : after
      shelf(resource).set(keyOf(object), stored)
      const type = before ? 'MODIFIED' : 'ADDED'
      record({ revision, type, resource, ...(before && { before }), after: stored })
      return stored
    },
    remove(object) {
      const resource = resourceOf(object)
      const before = shelf(resource).get(keyOf(object))
      if (!before) return
      shelf(resource).delete(keyOf(object))
      record({ revision: ++revision, type: 'DELETED', resource, before })
    },
    since: (from) => writes.filter((write) => write.revision > from),
    follow(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return store
}

function keyOf({ metadata }: Pick<KubeObject, 'metadata'>): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

function undo(objects: Map<string, Stored>, { before, after }: Write): void {
  if (before) objects.set(keyOf(before), before)
  else if (after) objects.delete(keyOf(after))
}

/** The object as it comes out of a watch at its deletion: the last state, with the deletion's revision. */
export function lastState(object: Stored, revision: number): Stored {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
}

/** Adds what an API server adds at a write, in the order in which a real one writes metadata. */
function stamp<T extends KubeObject>(
  object: T,
  before: Stored<T> | undefined,
  { uid, resourceVersion, now }: { uid: string; resourceVersion: string; now: string },
): Stored<T> {
  const { name, generateName, namespace, labels, annotations, ownerReferences, ...deletion } = object.metadata
  const { deletionTimestamp, deletionGracePeriodSeconds } = deletion
  const creationTimestamp = before?.metadata.creationTimestamp ?? now
  const generation = generationOf(object, before)
  const metadata = {
    name,
    ...(generateName !== undefined && { generateName }),
    ...(namespace !== undefined && { namespace }),
    uid,
    resourceVersion,
    ...(generation !== undefined && { generation }),
    creationTimestamp,
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && { ownerReferences }),
    managedFields: managedFields(object, creationTimestamp, now),
  } satisfies StoredMeta
  const { apiVersion, kind, metadata: _, ...content } = object
  return { kind, apiVersion, metadata, ...content } as unknown as Stored<T>
}

const WITHOUT_GENERATION = ['Namespace', 'Node', 'Service']

/** Counts the changes of the spec. */
function generationOf(object: KubeObject, before: Stored | undefined): number | undefined {
  if (!object.spec || WITHOUT_GENERATION.includes(object.kind)) return undefined
  const { generation = 0 } = before?.metadata ?? {}
  return before && isDeepStrictEqual(before.spec, object.spec) ? generation : generation + 1
}

/** Nothing would change but what the store itself adds. */
function same(before: Stored, object: KubeObject): boolean {
  return isDeepStrictEqual(written(before), written(object))
}

/** An object without what the store adds to its metadata. */
function written(object: KubeObject): object {
  const added = ['uid', 'resourceVersion', 'creationTimestamp', 'generation', 'managedFields']
  const metadata = Object.entries(object.metadata).filter(([key]) => !added.includes(key))
  return { ...object, metadata: Object.fromEntries(metadata) }
}

/** Custom resources come with sorted keys: the server keeps them as maps. */
function sortKeys<T>(value: T): T {
  if (Array.isArray(value)) return value.map(sortKeys) as T
  if (typeof value !== 'object' || value === null) return value
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, field]) => [key, sortKeys(field)])) as T
}

/** Who writes an object's spec, and who its status. */
const MANAGERS: Record<string, readonly [string, string]> = {
  Pod: ['kube-controller-manager', 'kubelet'],
  Node: ['kubelet', 'kubelet'],
  Deployment: ['argocd-controller', 'kube-controller-manager'],
  ReplicaSet: ['kube-controller-manager', 'kube-controller-manager'],
  Database: ['argocd-controller', 'database-operator'],
}
const OTHERS = ['kube-controller-manager', 'kube-controller-manager'] as const

/** `metadata.managedFields` as the API server keeps it: who set which field, and when. */
export function managedFields(object: KubeObject, createdAt: string, changedAt: string): object[] {
  const { apiVersion, kind, metadata, status, ...rest } = object
  const [writer, reporter] = MANAGERS[kind] ?? OTHERS
  const { labels, annotations, ownerReferences } = metadata
  const content = { metadata: { annotations, labels, ownerReferences }, ...rest }
  const common = { operation: 'Update', apiVersion, fieldsType: 'FieldsV1' }
  const entries = [{ manager: writer, ...common, time: createdAt, fieldsV1: fieldsOf(content) }]
  if (!status) return entries
  const fieldsV1 = fieldsOf({ status })
  return [...entries, { manager: reporter, ...common, time: changedAt, fieldsV1, subresource: 'status' }]
}

/** Keys that identify the items of a list (`x-kubernetes-list-map-keys`). */
const LIST_KEYS = ['uid', 'containerPort', 'mountPath', 'ip', 'port', 'type', 'name']

function fieldsOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return {}
  const entries = Array.isArray(value)
    ? value.flatMap((item): [string, unknown][] => {
        const key = LIST_KEYS.find((name) => typeof item === 'object' && item !== null && name in item)
        return key ? [[`k:${JSON.stringify({ [key]: item[key] })}`, { '.': {}, ...fieldsOf(item) }]] : []
      })
    : Object.entries(value).flatMap(([key, field]): [string, unknown][] =>
        field === undefined ? [] : [[`f:${key}`, fieldsOf(field)]],
      )
  return Object.fromEntries(entries)
}
