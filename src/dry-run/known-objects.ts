import type { ObjectRef } from '../event.ts'
import type { KnownObject, Surroundings } from '../surroundings.ts'
import { isPlainMap, type PlainMap, textIn } from './plain.ts'

interface Known extends KnownObject {
  ref: ObjectRef
  namespace: string
  controller: ObjectRef | undefined
}

const MOST_OWNERS = 10

/** Surroundings made of whole objects: namespaces with their labels, and objects with theirs and their controllers. */
export function createKnownObjects(): Surroundings & { add(object: PlainMap): void } {
  const byUid = new Map<string, Known>()
  const byName = new Map<string, Known>()

  const find = ({ uid, ...ref }: ObjectRef): Known | undefined =>
    (uid === undefined ? undefined : byUid.get(uid)) ?? byName.get(nameKey(ref))

  function chain(first: ObjectRef | undefined, namespace: string): ObjectRef[] {
    const owners: ObjectRef[] = []
    let next = first
    while (next && owners.length < MOST_OWNERS) {
      owners.push(next)
      next = find({ ...next, namespace })?.controller ?? find({ ...next, namespace: '' })?.controller
    }
    return owners
  }

  return {
    add(object) {
      const { apiVersion, kind, metadata } = object
      if (!isPlainMap(metadata) || typeof kind !== 'string') return
      const namespace = textIn(metadata, 'namespace') ?? ''
      const [name, uid] = [textIn(metadata, 'name'), textIn(metadata, 'uid')]
      const ref: ObjectRef = {
        kind,
        ...(typeof apiVersion === 'string' && { apiVersion }),
        ...(namespace && { namespace }),
        ...(name !== undefined && { name }),
        ...(uid !== undefined && { uid }),
      }
      const known = {
        ref,
        namespace,
        labels: labelsIn(metadata),
        owners: [],
        controller: controllerOf(referencesIn(metadata)),
      }
      if (uid !== undefined) byUid.set(uid, known)
      byName.set(nameKey(ref), known)
    },
    namespaceLabels: (namespace) => find({ kind: 'Namespace', name: namespace })?.labels,
    object(ref) {
      const known = find(ref)
      return known && { labels: known.labels, owners: chain(known.controller, known.namespace) }
    },
    ownersOf: (references, namespace) => chain(references[0], namespace),
  }
}

function nameKey({ kind = '', namespace = '', name = '' }: ObjectRef): string {
  return JSON.stringify([kind, namespace, name])
}

function labelsIn(metadata: PlainMap): Readonly<Record<string, string>> {
  const labels = Object.create(null) as Record<string, string>
  const given = metadata['labels']
  if (!isPlainMap(given)) return labels
  for (const [key, value] of Object.entries(given)) if (typeof value === 'string') labels[key] = value
  return labels
}

interface OwnerReference extends ObjectRef {
  controller?: boolean
}

function referencesIn(metadata: PlainMap): readonly OwnerReference[] {
  const references = metadata['ownerReferences']
  return Array.isArray(references) ? references.filter(isPlainMap) : []
}

function controllerOf(references: readonly OwnerReference[]): ObjectRef | undefined {
  const owner = references.find(({ controller }) => controller === true)
  if (!owner) return undefined
  const { apiVersion, kind, name, uid } = owner
  return {
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    ...(name !== undefined && { name }),
    ...(uid !== undefined && { uid }),
  }
}
