import type { Trail } from './trail.ts'

/** Of metadata: what the API server counts and notes at every write. */
const BOOKKEEPING = new Set([
  'resourceVersion',
  'generation',
  'managedFields',
  'selfLink',
  'creationTimestamp',
])

/** Of status: signs of life, which change while nothing happens. */
const HEARTBEATS = new Set(['observedGeneration', 'lastHeartbeatTime', 'lastProbeTime', 'lastUpdateTime'])

/** Annotations that controllers write as others write a status. */
const SIGNS_OF_LIFE = new Set([
  'control-plane.alpha.kubernetes.io/leader',
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
])

/** What is no change worth telling, whatever its values. */
export function isNoise({ depth, top, key, parent, resource }: Trail): boolean {
  switch (top) {
    case 'metadata':
      return depth === 2 ? BOOKKEEPING.has(key) : parent?.key === 'annotations' && SIGNS_OF_LIFE.has(key)
    case 'status':
      return HEARTBEATS.has(key)
    case 'spec':
      return key === 'renewTime' && resource.kind === 'Lease'
    default:
      return depth === 1 && (key === 'apiVersion' || key === 'kind')
  }
}

const STATE_OF_DELETION = new Set(['deletionTimestamp', 'finalizers'])

/** How much a change tells; the lowest comes first. */
export function rankOf({ top, depth, key }: Trail): number {
  if (top === 'status') return /(Time|At|ID)$/.test(key) ? 5 : 3
  if (top === 'metadata') return depth === 2 && STATE_OF_DELETION.has(key) ? 2 : 4
  return key === 'image' ? 0 : 1
}
