import type { Resource } from '../event.ts'

export interface DemoObject {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace?: string
    uid: string
    resourceVersion: string
    creationTimestamp: string
    labels?: Record<string, string>
    [field: string]: unknown
  }
  [field: string]: unknown
}

export interface Change {
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  resource: Resource
  revision: number
  object: DemoObject
}

/** Manifest of an object that is to be: the store gives it uid, version and time. */
export interface Manifest {
  name: string
  namespace?: string
  labels?: Record<string, string>
  metadata?: Record<string, unknown>
  [field: string]: unknown
}

export interface DemoStore {
  readonly revision: number
  create(resource: Resource, manifest: Manifest): DemoObject
  /** Replaces fields of an object; undefined when it is gone. */
  update(
    resource: Resource,
    namespace: string,
    name: string,
    change: (object: DemoObject) => DemoObject,
  ): DemoObject | undefined
  remove(resource: Resource, namespace: string, name: string): void
  list(resource: Resource): DemoObject[]
  find(resource: Resource, namespace: string, name: string): DemoObject | undefined
  /** Changes after a revision; undefined when they are not kept any more. */
  since(resource: Resource, revision: number): Change[] | undefined
  /** Calls back for each change from now on; gives the unsubscription. */
  subscribe(listener: (change: Change) => void): () => void
}

const KEPT_CHANGES = 1_000

/** Objects with revisions and a short history, as etcd behind an API server. */
export function createStore(parts: { newUid(): string; now(): string }): DemoStore {
  const objects = new Map<string, DemoObject>()
  const listeners = new Set<(change: Change) => void>()
  let history: Change[] = []
  let revision = 1_000
  let forgotten = revision

  const keyOf = ({ group, plural }: Resource, namespace: string, name: string) =>
    `${group}/${plural}/${namespace}/${name}`

  function record(type: Change['type'], resource: Resource, object: DemoObject): void {
    const change = { type, resource, revision, object }
    history.push(change)
    if (history.length > KEPT_CHANGES) {
      forgotten = history[0]?.revision ?? forgotten
      history = history.slice(1)
    }
    for (const listener of listeners) listener(change)
  }

  return {
    get revision() {
      return revision
    },
    create(resource, { name, namespace, labels, metadata, ...rest }) {
      const object: DemoObject = {
        apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
        kind: resource.kind,
        metadata: {
          name,
          ...(namespace && { namespace }),
          uid: parts.newUid(),
          resourceVersion: String(++revision),
          creationTimestamp: parts.now(),
          ...(labels && { labels }),
          ...metadata,
        },
        ...rest,
      }
      objects.set(keyOf(resource, namespace ?? '', name), object)
      record('ADDED', resource, object)
      return object
    },
    update(resource, namespace, name, change) {
      const key = keyOf(resource, namespace, name)
      const old = objects.get(key)
      if (!old) return undefined
      const next = change(old)
      const object = { ...next, metadata: { ...next.metadata, resourceVersion: String(++revision) } }
      objects.set(key, object)
      record('MODIFIED', resource, object)
      return object
    },
    remove(resource, namespace, name) {
      const key = keyOf(resource, namespace, name)
      const old = objects.get(key)
      if (!old) return
      objects.delete(key)
      record('DELETED', resource, {
        ...old,
        metadata: { ...old.metadata, resourceVersion: String(++revision) },
      })
    },
    list: ({ group, plural }) =>
      [...objects].filter(([key]) => key.startsWith(`${group}/${plural}/`)).map(([, object]) => object),
    find: (resource, namespace, name) => objects.get(keyOf(resource, namespace, name)),
    since(resource, position) {
      if (position < forgotten) return undefined
      return history.filter(
        (it) =>
          it.revision > position &&
          it.resource.plural === resource.plural &&
          it.resource.group === resource.group,
      )
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
