import type { ObjectRef } from './event.ts'

/** What is known of an object besides what its event says; from caches that watches feed, never asked live. */
export interface KnownObject {
  labels: Readonly<Record<string, string>>
  /** Its controllers, the nearest first, up to the top. */
  owners: readonly ObjectRef[]
  /** As of `Surroundings`, of the owners here. */
  lacksOwners?: boolean
}

/** The cluster around an event. */
export interface Surroundings {
  /** Undefined when the namespace is not known. */
  namespaceLabels(namespace: string): Readonly<Record<string, string>> | undefined
  /** By uid, else by kind, namespace and name; undefined when it is not known. Remembers what was deleted a while ago. */
  object(ref: ObjectRef): KnownObject | undefined
  /** The controllers above these owner references. */
  ownersOf(references: readonly ObjectRef[], namespace: string): readonly ObjectRef[]
  /** Is the last of a chain of controllers one of which somebody tells, and nothing is known? Then there may be more above it. */
  lacksOwners?(owners: readonly ObjectRef[], namespace: string): boolean
}

export const NO_SURROUNDINGS: Surroundings = {
  namespaceLabels: () => undefined,
  object: () => undefined,
  ownersOf: (references) => references.slice(0, 1),
}
