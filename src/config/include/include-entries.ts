import { areDeletions } from '../../rules/change-values.ts'
import { Patterns } from '../../rules/pattern.ts'
import type { FileDocument, Path } from '../document.ts'
import { NEVER_DEFAULT, TURNED_OFF_BY_FALSE } from '../schema.ts'
import { type Entry, type Located, mapOf } from '../source-node.ts'

/** One name under `include`, with defaults and variables for its rules. */
export interface IncludeEntry {
  from: string
  /** Its path in the file that includes. */
  path: Path
  defaults: Defaults
  vars: ReadonlyMap<string, Located>
}

/** Returns the valid entries of a file's `include`. */
export function includeEntries({ root }: FileDocument): IncludeEntry[] {
  const include = root?.entries?.get('include')?.value
  if (!include) return []
  const path = ['include']
  return include.items
    ? include.items.flatMap((item, i) => entriesOf(item, [...path, i]))
    : entriesOf(include, path)
}

function entriesOf(item: Located, path: Path): IncludeEntry[] {
  const nothing = { defaults: new Map(), vars: new Map() }
  if (typeof item.value === 'string') return item.value === '' ? [] : [{ from: item.value, path, ...nothing }]
  const from = item.entries?.get('from')?.value
  if (!from) return []
  const vars = item.entries?.get('vars')?.value.entries ?? []
  const common = {
    defaults: defaultsIn(item, ['from', 'vars']),
    vars: new Map([...vars].map(([name, { value }]) => [name, value])),
  }
  const names = from.items
    ? from.items.map(({ value }, i) => ({ from: value, path: [...path, 'from', i] }))
    : [{ from: from.value, path: [...path, 'from'] }]
  return names.flatMap((it) =>
    typeof it.from === 'string' && it.from !== '' ? [{ ...it, from: it.from, ...common }] : [],
  )
}

/** Keys of rules by name. */
type Defaults = ReadonlyMap<string, Entry>

/** Returns a rule with defaults for the keys that it does not set. They keep their places, also in problems. */
export function withDefaults(rule: Located, defaults: Defaults): Located {
  if (!rule.entries || defaults.size === 0) return rule
  const taken = [...defaults].filter(([key, entry]) => !rule.entries?.has(key) && inherits(rule, key, entry))
  return taken.length === 0 ? rule : mapOf(rule, new Map([...rule.entries, ...taken]))
}

function inherits({ entries }: Located, key: string, { value }: Entry): boolean {
  if (entries?.get('drop')?.value.value === true) return FOR_DROP.has(key)
  // A deleted object has no state that lasts or ends: the rule would send nothing.
  const ofStates = key === 'for' || (key === 'resolve' && value.value === true)
  return !ofStates || !areDeletions(typeOf(entries?.get('when')?.value))
}

/** The defaults that a rule with `drop` takes: conditions only, because it sends nothing. */
const FOR_DROP = new Set(['changed', 'unchanged', 'from', 'to-state', 'condition'])

function typeOf(when: Located | undefined): Patterns | undefined {
  const type = Patterns.safeParse(when?.entries?.get('type')?.value.value)
  return type.success ? type.data : undefined
}

/** Returns a rule without the keys that it turns off. */
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
