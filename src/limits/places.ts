import { createHash } from 'node:crypto'
import type { ClusterEvent } from '../event.ts'
import type { LimitedMatch } from '../limit.ts'
import { shorten } from '../sink/template/filters/shorten.ts'
import { propertyOf } from './by.ts'
import type { RulePlan } from './rule-plan.ts'
import type { Common, Places } from './states.ts'
import { readValue } from './values.ts'

const MAX_SHOWN = 100
const known = new WeakMap<LimitedMatch, Places>()

/** Where the limits of a rule count an event that it matches. */
export function placesOf(rule: RulePlan, event: ClusterEvent, match: LimitedMatch): Places {
  const before = known.get(match)
  if (before) return before
  const { after, throttle, group, quiet } = rule
  const places: Places = {}
  if (after) places.after = place(rule, 'after', after.per, event).key
  if (throttle) places.throttle = place(rule, 'throttle', throttle.per, event).key
  // What some sinks do not get must not be in their digest: one group for each set of sinks.
  if (group) {
    const sinks = match.sinks.toSorted()
    const rest = `${rule.name}:${hashOf(['rest', sinks])}`
    const order = place(rule, 'group', group.by, event).key
    places.group = { ...place(rule, 'group', group.by, event, sinks), rest, order }
  }
  if (quiet) places.quiet = place(rule, 'quiet', quiet.per, event).key
  known.set(match, places)
  return places
}

/** `<rule>:<hash>`: values may be as long as they like. */
function place(
  { name, by: defaults }: RulePlan,
  limit: string,
  per: readonly string[] | undefined,
  event: ClusterEvent,
  sinks: readonly string[] = [],
): { key: string; by: Common } {
  const words = per ?? defaults(limit, event.event !== undefined)
  const values = words.map((word) => [word, readValue(propertyOf(word), event)] as const)
  const hash = hashOf([limit, values.map(([word, { key }]) => [word, key]), sinks])
  const by = values
    .filter(([word, { shown }]) => word !== 'rule' && shown !== '')
    .map(([word, { shown }]) => [word, shorten(shown, MAX_SHOWN)] as const)
  return { key: `${name}:${hash}`, by }
}

function hashOf(values: unknown): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 22)
}
