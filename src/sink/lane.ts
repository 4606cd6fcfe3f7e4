import type { EventHeader } from '../event.ts'

/** How many lanes a sink has by default. */
export const LANES = 16

/** The lane of an object: all of its deliveries get the same one. FNV-1a of the uid, stable over versions. */
export function laneByObject({ uid }: Pick<EventHeader, 'uid'>, lanes = LANES): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < uid.length; i++) hash = Math.imul(hash ^ uid.charCodeAt(i), 0x01000193)
  return String((hash >>> 0) % lanes)
}
