import { createHash } from 'node:crypto'
import type { EventHeader } from '../event.ts'

/** How many lanes a sink has by default. */
export const LANES = 16

/** The lane of an object: all of its deliveries get the same one. FNV-1a of the uid, stable over versions. */
export function laneByObject({ uid }: Pick<EventHeader, 'uid'>, lanes = LANES): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < uid.length; i++) hash = Math.imul(hash ^ uid.charCodeAt(i), 0x01000193)
  return String((hash >>> 0) % lanes)
}

/** What a message is kept in order with: its group, else its object by name, so that one that is made again comes behind its end. */
export function orderOf({ order, event }: { order?: string; event: Named }): string {
  if (order !== undefined) return order
  const { apiVersion, kind, namespace = '', name } = event
  const [group] = apiVersion.includes('/') ? apiVersion.split('/') : ['']
  return `${group ? `${kind}.${group}` : kind}/${namespace}/${name}`
}

type Named = Pick<EventHeader, 'apiVersion' | 'kind' | 'namespace' | 'name'>

const LANE_NAME = /^[\w.#@-]{1,100}$/

/**
 * A lane's name as a sink chose it; a hash of what does not fit into keys and labels. Undefined when the choice failed: the
 * delivery tells why when it is rendered.
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
