import { createHash } from 'node:crypto'
import { LANES, laneByObject } from '../sink/lane.ts'

/**
 * Names of lanes: `<sink>/n0` to `<sink>/n15` by the object's name, `<sink>/<name>` where the sink's type chooses, and
 * `<lane>!<hash>` for a parked chain of a lane. Before layout 2 the first were `<sink>/0` to `<sink>/15`, by the object's uid.
 */

const PARKED = '!'

export function sinkOf(lane: string): string {
  return lane.slice(0, lane.indexOf('/'))
}

/** The lane that a chain was parked from; of any other lane itself. */
export function baseOf(lane: string): string {
  const end = lane.indexOf(PARKED, lane.indexOf('/'))
  return end === -1 ? lane : lane.slice(0, end)
}

export function isParked(lane: string): boolean {
  return baseOf(lane) !== lane
}

/** The lane of a chain's own where it waits while its object fails. */
export function parkedLane(lane: string, chain: string): string {
  return `${lane}${PARKED}${createHash('sha256').update(chain).digest('hex').slice(0, 16)}`
}

/** The hash in the name of a parked lane; undefined for any other. */
export function chainHashOf(lane: string): string | undefined {
  const base = baseOf(lane)
  return base === lane ? undefined : lane.slice(base.length + 1)
}

/** A lane that takes deliveries by the object's name; or a target of that name, where the sink's type names the lanes. */
export function isByName(lane: string): boolean {
  return /^n\d{1,2}$/.test(nameIn(baseOf(lane)))
}

/** A lane that took deliveries by the object's uid, before layout 2; or a target of that name. */
export function isByUid(lane: string): boolean {
  return /^(\d|1[0-5])$/.test(nameIn(lane))
}

/** The slot that a lane belongs to, as `<sink>/<number>`: the part of a sink's lanes that one process owns. */
export function slotOf(lane: string): string {
  const base = baseOf(lane)
  const numbered = /^n?(\d|1[0-5])$/.exec(nameIn(base))?.[1]
  return `${sinkOf(lane)}/${numbered ?? laneByObject({ uid: base })}`
}

/** All slots of a sink. */
export function slotsOf(sink: string): string[] {
  return Array.from({ length: LANES }, (_, i) => `${sink}/${i}`)
}

function nameIn(lane: string): string {
  return lane.slice(lane.indexOf('/') + 1)
}
