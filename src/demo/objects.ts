/** An object of the demo cluster. Never changed in place: every write stores a new one. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec?: object
  status?: object
}

/** What is written; the store adds what an API server adds. */
interface ObjectMeta {
  name: string
  namespace?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  generateName?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
}

/** Metadata of a stored object. */
export interface StoredMeta extends ObjectMeta {
  uid: string
  resourceVersion: string
  creationTimestamp: string
  generation?: number
  managedFields?: object[]
}

export type Stored<T extends KubeObject = KubeObject> = T & { metadata: StoredMeta }

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller: true
  blockOwnerDeletion: true
}

/** How an object names the one that made it. */
export function ownedBy({ apiVersion, kind, metadata }: Stored): OwnerReference[] {
  const { name, uid } = metadata
  return [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }]
}

/** RFC 3339 in seconds, as metav1.Time is written. */
export function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/** RFC 3339 in microseconds, as metav1.MicroTime is written. */
export function microTimeOf(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}

/** Random choices; the same `random` gives the same choices. */
export interface Chance {
  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number
  pick<T>(from: readonly [T, ...T[]]): T
  hex(digits: number): string
  /** A version 4 UUID. */
  uid(): string
  /** A name's ending as controllers make it: without vowels. */
  suffix(length: number): string
}

const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789'

export function chanceOf(random: () => number): Chance {
  const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1))
  const letters = (from: string, length: number) =>
    Array.from({ length }, () => from[between(0, from.length - 1)]).join('')
  const hex = (digits: number) => letters('0123456789abcdef', digits)
  return {
    between,
    hex,
    pick: (from) => from[between(0, from.length - 1)] ?? from[0],
    uid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-${letters('89ab', 1)}${hex(3)}-${hex(12)}`,
    suffix: (length) => letters(SUFFIX_LETTERS, length),
  }
}
