import { LIMIT_KEYS } from '../limits/schema.ts'
import { type Entry, type Located, mapOf } from './located.ts'

/** Keys of rules by name. */
export type Defaults = ReadonlyMap<string, Entry>

/** Say what one rule is for, so that they are never shared. */
export const NEVER_DEFAULT = ['name', 'when', 'if', 'drop'] as const

/** What a rule that drops takes over: conditions; it sends nothing. */
const FOR_DROP = new Set(['changed', 'unchanged', 'from', 'to-state', 'condition', 'onError'])

/** Keys that `false` turns off, in a rule whose file has them among its defaults; of `resolve` it is a value. */
export const TURNED_OFF_BY_FALSE: readonly string[] = [
  ...LIMIT_KEYS.filter((key) => key !== 'resolve'),
  'severity',
  'labels',
  'message',
]

/** A rule with the keys that it does not say itself; whatever is wrong with those stands where they stand. */
export function withDefaults(rule: Located, defaults: Defaults): Located {
  if (!rule.entries || defaults.size === 0) return rule
  const drops = rule.entries.get('drop')?.value.value === true
  const taken = [...defaults].filter(([key]) => !rule.entries?.has(key) && (!drops || FOR_DROP.has(key)))
  return taken.length === 0 ? rule : mapOf(rule, new Map([...rule.entries, ...taken]))
}

/** A rule without the keys that it turned off. */
export function withoutTurnedOff(rule: Located): Located {
  const isOff = (key: string, { value }: Entry) => value.value === false && TURNED_OFF_BY_FALSE.includes(key)
  if (![...(rule.entries ?? [])].some(([key, entry]) => isOff(key, entry))) return rule
  return mapOf(rule, new Map([...(rule.entries ?? [])].filter(([key, entry]) => !isOff(key, entry))))
}

/** The defaults of a map, without keys that can be none. */
export function defaultsIn(map: Located | undefined, except: readonly string[] = []): Defaults {
  const never: readonly string[] = [...NEVER_DEFAULT, ...except]
  return new Map([...(map?.entries ?? [])].filter(([key]) => !never.includes(key)))
}
