import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/schema.ts'
import { mapInSlices } from '../slices.ts'

/** Names that came, went, or stand for something else now. */
export interface Changed {
  added: readonly string[]
  removed: readonly string[]
  changed: readonly string[]
}

/** What makes one configuration another. Never values: they may be secrets. */
export interface Differences {
  /** Entries of `watch:`, by their kinds; one with other selectors is another entry. */
  watches: Changed
  sinks: Changed
  rules: Changed
  /** The rules that stay are read in another order. */
  reordered: boolean
  /** Keys that are only read at the start. */
  restart: readonly string[]
}

/**
 * Compares what was read, not what was made of it: templates and options are not comparable. In slices, for there may be
 * thousands of rules.
 */
export async function differences(before: Config, after: Config): Promise<Differences> {
  const [rulesBefore, rulesAfter] = [await rulesOf(before), await rulesOf(after)]
  const stay = (rules: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>) =>
    [...rules.keys()].filter((name) => others.has(name))
  return {
    watches: compareEntries(before.watch, after.watch),
    sinks: compare(sinksOf(before), sinksOf(after)),
    rules: compare(rulesBefore, rulesAfter),
    reordered: !isDeepStrictEqual(stay(rulesBefore, rulesAfter), stay(rulesAfter, rulesBefore)),
    restart: restartKeys(before, after),
  }
}

/** `+1 watch, -2 sinks, rules changed`; undefined when all is as it was. */
export function describeDifferences({ watches, sinks, rules, reordered }: Differences): string | undefined {
  const rulesChanged = reordered || Object.values(rules).some(({ length }) => length > 0)
  const parts = [
    ...describeChanged(watches, 'watch', 'watches'),
    ...describeChanged(sinks, 'sink', 'sinks'),
    ...(rulesChanged ? ['rules changed'] : []),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}

/** `redis and server changed: restart to use them`. */
export function describeRestart(keys: readonly string[]): string {
  const last = keys.at(-1) ?? ''
  const words = keys.length === 1 ? last : `${keys.slice(0, -1).join(', ')} and ${last}`
  return `${words} changed: restart to use ${keys.length === 1 ? 'it' : 'them'}`
}

function describeChanged({ added, removed, changed }: Changed, one: string, many: string): string[] {
  const count = (n: number) => `${n} ${n === 1 ? one : many}`
  return [
    ...(added.length > 0 ? [`+${count(added.length)}`] : []),
    ...(removed.length > 0 ? [`-${count(removed.length)}`] : []),
    ...(changed.length > 0 ? [`${count(changed.length)} changed`] : []),
  ]
}

/** Those that take effect while the process runs, and what only describes the file. */
const APPLIED = new Set<string>([
  'watch',
  'sinks',
  'rules',
  'journal',
  'deadLetters',
  'enrich',
  'routes',
  'placeOf',
  'written',
] satisfies (keyof Config)[])

/** Keys that are not as they were, and are only read at the start. */
export function restartKeys(before: Config, after: Config): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  const under = (config: Config, key: string) =>
    key === 'redis' ? addressed(config.redis) : (config as unknown as Record<string, unknown>)[key]
  return [...keys]
    .filter((key) => !APPLIED.has(key) && !isDeepStrictEqual(under(before, key), under(after, key)))
    .toSorted()
}

/** Without passwords and certificates: those that are exchanged are used as soon as a connection is made anew. */
function addressed({ url, sentinel, cluster }: Config['redis']): unknown {
  const place = url?.startsWith('unix:') ? url : url && new URL(url)
  return {
    url: typeof place === 'object' ? [place.protocol, place.host, place.pathname] : place,
    sentinel: sentinel && [sentinel.name, sentinel.nodes],
    cluster,
  }
}

async function rulesOf({ written, rules }: Config): Promise<Map<string, string>> {
  const list = (written?.['rules'] ?? rules) as readonly { name: string }[]
  return new Map(await mapInSlices(list, (rule) => [rule.name, JSON.stringify(rule)]))
}

function sinksOf({ written, sinks }: Config): Map<string, string> {
  const sections = written?.['sinks'] as Record<string, unknown> | undefined
  return new Map(sinks.map(({ name, source }) => [name, JSON.stringify(sections?.[name]) ?? source]))
}

function compare(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Changed {
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after]
      .filter(([name, text]) => before.has(name) && before.get(name) !== text)
      .map(([name]) => name),
  }
}

function compareEntries(before: Config['watch'], after: Config['watch']): Changed {
  const without = (entries: Config['watch'], others: Config['watch']) => {
    const known = new Set(others.map(identityOf))
    return entries.filter((entry) => !known.has(identityOf(entry))).map(({ kind }) => kind)
  }
  return { added: without(after, before), removed: without(before, after), changed: [] }
}

/** In whatever order its keys are written. */
function identityOf(entry: Config['watch'][number]): string {
  return JSON.stringify(Object.entries(entry).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
