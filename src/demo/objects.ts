/** An object of the demo cluster. Never changed in place: every write stores a new one. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec?: object
  status?: object
}

/** What is written; the store adds what an API server adds. */
export interface ObjectMeta {
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
