import { createHash } from 'node:crypto'
import type { EventHeader } from '../model/event.ts'

/** How many lanes a sink has by default. */
export const LANES = 16

/** Returns the lane of an ordering key, such as that of `orderOf`: FNV-1a, the same in every version. */
export function laneByKey(key: string, lanes = LANES): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return String((hash >>> 0) % lanes)
}

/**
 * Returns the ordering key of a message: its group, else its object by name, so that a recreated object comes after
 * its deletion.
 */
export function orderOf({ order, event }: { order?: string; event: Named }): string {
  if (order !== undefined) return order
  const { apiVersion, kind, namespace = '', name } = event
  const [group] = apiVersion.includes('/') ? apiVersion.split('/') : ['']
  return `${group ? `${kind}.${group}` : kind}/${namespace}/${name}`
}

/** Returns the key of an object among those of all clusters, the same after it was deleted and created again: `prod/Pod/shop/web`. */
export function objectKey(event: Named & Pick<EventHeader, 'cluster'>): string {
  return `${event.cluster}/${orderOf({ event })}`
}

type Named = Pick<EventHeader, 'apiVersion' | 'kind' | 'namespace' | 'name'>

const LANE_NAME = /^[\w.#@-]{1,100}$/

/**
 * Returns a sink's lane name, or a hash if it does not fit into keys and labels. Undefined if the choice fails:
 * rendering the delivery reports why.
 */
export function laneName(choose: () => string | undefined): string | undefined {
  try {
    const name = choose()
    if (name === undefined || LANE_NAME.test(name)) return name
    return createHash('sha256').update(name).digest('hex').slice(0, 32)
  } catch {
    return undefined
  }
}
