import type { KnownObject, ObjectRef, RelatedMetadata } from '../../model/event.ts'
import { parseObject } from '../decode/json-bytes.ts'
import { strings } from '../decode/scan.ts'
import type { MetadataCache } from './cache.ts'
import { type Remembered, rememberLast } from './table.ts'
/** How many owner references are followed at most: they may form a cycle. */
export const MOST_OWNERS = 10
const NO_LABELS: Readonly<Record<string, string>> = Object.freeze(Object.create(null))

/** The cluster around events, as far as the cache knows it; `isWatched` returns whether a watch covers such an object. */
export function surroundingsOf(
  cache: MetadataCache,
  isWatched: (ref: ObjectRef, namespace: string) => boolean,
): RelatedMetadata {
  const textsIn = rememberLast((json) => Object.freeze(strings(parseObject(json))))
  const textsOf = (json: Remembered['labels']) => (json ? textsIn(json.text) : NO_LABELS)
  const namespaceOf = (name: string) => findObject(cache, { apiVersion: 'v1', kind: 'Namespace', name })

  function ownersOf(references: readonly ObjectRef[], namespace: string): readonly ObjectRef[] {
    const owners: ObjectRef[] = []
    for (let next = references[0]; next && owners.length < MOST_OWNERS; ) {
      const { uid } = next
      if (owners.some((it) => it.uid === uid)) break
      owners.push(next)
      const known = findOwner(cache, next, namespace)
      next = known && cache.ownerOf(known)
    }
    return owners
  }

  function lacksOwners(owners: readonly ObjectRef[], namespace: string): boolean {
    const last = owners.at(-1)
    if (!last || owners.length >= MOST_OWNERS) return false
    return !findOwner(cache, last, namespace) && isWatched(last, namespace)
  }

  class Known implements KnownObject {
    readonly #object: Remembered
    readonly #namespace: string

    constructor(object: Remembered, namespace: string) {
      this.#object = object
      this.#namespace = namespace
    }

    get labels() {
      return textsOf(this.#object.labels)
    }

    get annotations() {
      return textsOf(this.#object.annotations)
    }

    get owners() {
      const owner = cache.ownerOf(this.#object)
      return owner ? ownersOf([owner], this.#namespace) : []
    }

    get lacksOwners() {
      return lacksOwners(this.owners, this.#namespace)
    }
  }

  return {
    namespaceLabels(namespace) {
      const known = namespaceOf(namespace)
      return known && textsOf(known.labels)
    },
    namespaceAnnotations(namespace) {
      const known = namespaceOf(namespace)
      return known && textsOf(known.annotations)
    },
    object(ref): KnownObject | undefined {
      const known = findObject(cache, ref)
      if (!known) return undefined
      return new Known(known, ref.namespace ?? '')
    },
    ownersOf,
    lacksOwners,
  }
}

/** Events about what is in no namespace have "default", or nothing. */
export function findObject(
  cache: MetadataCache,
  ref: ObjectRef,
  namespace = ref.namespace ?? '',
): Remembered | undefined {
  const table = cache.tableOf(ref)
  return table && cache.find(table, table.resource.namespaced ? namespace : '', ref)
}

/** References to owners name no namespace: it is the object's own, or none. */
export function findOwner(
  cache: MetadataCache,
  reference: ObjectRef,
  namespace: string,
): Remembered | undefined {
  const found = findObject(cache, reference, namespace)
  // Another one of that name may have another owner.
  return found?.uid === reference.uid ? found : undefined
}
