import { METADATA_KINDS } from '../../watch/metadata/metadata-requirements.ts'
import {
  type AtLeast,
  type Clause,
  conditionsOf,
  excludesByMetadata,
  isExpression,
  type Predicate,
} from './conditions.ts'
import { receiverSink } from './event-exporter-receivers.ts'
import {
  clusterOf,
  type Entry,
  entryOf,
  type Imported,
  type ImportedRule,
  type ImportedSink,
} from './imported.ts'
import { namer } from './sink-options.ts'
import { isNamespace, isOn, listOf, mapOf, pathsOf, type Raw, skip, textOf } from './tracked.ts'

const HEADING = [
  'Made of a configuration of kubernetes-event-exporter.',
  'Expressions matched anywhere in a text there, so they are between slashes here: /Failed/ matches FailedMount, too; Failed matches only',
  'itself. An event reaches one sink once. Only new Events were sent there, hence "type: ADDED"; without it each repetition is sent, too.',
]

/** Top-level keys that select no events, and why they are not needed. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  throttlePeriod: ': late Events are sent instead of dropped; "age" in "when" drops them',
  maxEventAgeSeconds: ': late Events are sent instead of dropped; "age" in "when" drops them',
  leaderElection: ': "leases: true" shares the work between replicas',
  metricsNamePrefix: ': all metrics begin with kubeherald_',
  logLevel: ': the option --log-level of run sets it',
  logFormat: ': the log is JSON where it is not a terminal',
  kubeQPS: '',
  kubeBurst: '',
  cacheSize: ': see enrich.maxObjects',
}
const KEYS_OF_FILE = [
  ...['route', 'receivers', 'namespace', 'clusterName', 'omitLookup'],
  ...Object.keys(WITHOUT_EFFECT),
]
const KEYS_OF_RULE = ['labels', 'annotations', 'minCount', 'receiver']

/** Flattens the tree of routes into an equivalent list of rules. */
export function importEventExporter(raw: Raw): Imported {
  const sinks = sinksOf(raw['receivers'])
  const [lost, heading] = [lostSettings(raw), [...HEADING]]
  const name = namer()
  const rules: Entry<ImportedRule>[] = []
  const used = new Set<ImportedSink>()
  const looksUp = !isOn(raw['omitLookup'])
  const read = (rule: unknown) => readMatcher(mapOf(rule), looksUp)

  function walk(route: Raw, above: Passed): void {
    if (receiversOf(route).length === 0) {
      if (pathsOf(route).length > 0)
        heading.push(`A route without a receiver is left out: ${JSON.stringify(route)}`)
      return
    }
    const drops = listOf(route['drop']).map((rule) => ({ rule, own: read(rule) }))
    if (drops.some(({ own }) => matchesAll(own))) {
      heading.push(`A route to ${receiversOf(route).join(', ')} dropped every event: left out.`)
      skip(route)
      return
    }
    const matches = listOf(route['match']).map((match) => ({ match: mapOf(match), own: read(match) }))
    const passed = join(above, ...drops.map(({ rule, own }) => notDropped(own, rule)))
    for (const { match, own } of matches) {
      const receiver = textOf(match['receiver'])
      const sink = sinks.get(receiver)
      if (sink) {
        used.add(sink)
        rules.push(ruleOf(name(receiver), sink.name, join(passed, matched(own)), dropsUnknown))
      } else if (receiver !== '') lost.push(`a route to the receiver "${receiver}", which is not defined`)
    }
    const below = join(passed, ...matches.map(({ own }) => matched(own)))
    for (const sub of listOf(route['routes']).map(mapOf)) walk(sub, below)
  }
  const { drop, match, routes } = mapOf(raw['route'])
  const undropped = listOf(drop).map((rule) => notDropped(read(rule), rule))
  heading.push(...undropped.flatMap(({ notes }) => notes))
  let dropsUnknown = false
  const dropped = listOf(drop).flatMap((rule, i): Entry<ImportedRule>[] => {
    const { clauses: passed = [], notes = [] } = undropped[i] ?? {}
    if (notes.length > 0) return []
    const { clauses, off } = matched(read(rule))
    const value: ImportedRule = { name: name(`drop-${i + 1}`), ...conditionsOf(clauses), drop: true }
    dropsUnknown ||= excludesByMetadata(passed) && namedKinds(value) === undefined
    return [entryOf(value, { off: [...off] })]
  })
  const off = [...undropped.flatMap((it) => it.off), ...filtersOf(raw)]
  walk({ match, routes }, { clauses: [], off, notes: [] })

  const namespace = textOf(raw['namespace'])
  const unused = [...sinks].filter(([, sink]) => !used.has(sink)).map(([receiver]) => receiver)
  if (unused.length > 0) heading.push(`No route leads to these receivers: left out: ${unused.join(', ')}.`)
  if ([...dropped, ...rules].some(({ value }) => readsMetadata(value)))
    heading.push('Of other kinds than those under "enrich.regarding", labels of objects are unknown.')
  return {
    heading,
    lost,
    cluster: clusterOf(textOf(raw['clusterName'])),
    watch: [
      namespace === '' || !isNamespace(raw['namespace'])
        ? 'Event'
        : { kind: 'Event', namespaces: [namespace] },
    ],
    sinks: [...used],
    rules: merged([...dropped, ...rules]),
  }
}

function sinksOf(receivers: unknown): Map<string, ImportedSink> {
  const name = namer()
  const sinks = new Map<string, ImportedSink>()
  // Of several with one name the last one was used.
  const last = new Map(listOf(receivers).map((it) => [textOf(mapOf(it)['name']), mapOf(it)]))
  for (const [called, receiver] of last) sinks.set(called, receiverSink(name(called), receiver))
  return sinks
}

function lostSettings(raw: Raw): string[] {
  return Object.entries(WITHOUT_EFFECT).flatMap(([key, why]) => {
    if (raw[key] === undefined) return []
    const text = textOf(raw[key])
    skip(raw[key])
    return [`${key}${text === '' ? '' : ` ${text}`}${why}`]
  })
}

/** Why the rules of the file would match more than it did. */
function filtersOf(raw: Raw): string[] {
  const unknown = Object.keys(raw).filter((key) => !KEYS_OF_FILE.includes(key))
  skip(unknown.map((key) => raw[key]))
  return [
    ...(isNamespace(raw['namespace']) ? [] : ['namespace is not a name of a namespace']),
    ...unknown.map((key) => `"${key}" is not a key that is known here, and may have left something out`),
  ]
}

/** The receivers of a route and of the routes below it. */
function receiversOf(route: Raw): string[] {
  const own = listOf(route['match']).map((match) => textOf(mapOf(match)['receiver']))
  const below = listOf(route['routes']).map(mapOf).flatMap(receiversOf)
  return [...new Set([...own.filter((it) => it !== ''), ...below])]
}

const KEYS: Readonly<Record<string, Predicate['key']>> = {
  message: 'message',
  apiVersion: 'regarding.apiVersion',
  kind: 'regarding.kind',
  namespace: 'namespace',
  reason: 'reason',
  type: 'type',
  component: 'component',
  host: 'host',
}

/** A rule of `match` or `drop`. */
interface Matcher {
  all: readonly (Predicate | AtLeast)[]
  /** Conditions that have no counterpart here. */
  lost: readonly string[]
  /** Why it matched nothing. */
  never: readonly string[]
}

/** Conditions of the events that reach a route; `off`: why rules with these conditions would match more. */
interface Passed {
  clauses: readonly Clause[]
  off: readonly string[]
  /** Left-out conditions that change nothing. */
  notes: readonly string[]
}

function readMatcher(rule: Raw, looksUp: boolean): Matcher {
  const lost: string[] = []
  const never: string[] = []
  const text = (name: string, value: unknown) => {
    if (typeof value === 'object' && value !== null) lost.push(`${name} is not text`)
    const expression = textOf(value)
    if (!isExpression(expression))
      never.push(
        `${name}: "${expression}" was no regular expression, so it matched nothing there; it would be a glob here`,
      )
    return expression
  }
  const texts = Object.entries(KEYS).flatMap(([from, key]) => {
    const expression = text(from, rule[from])
    return expression === '' ? [] : [{ key, expression }]
  })
  const metadata = (['labels', 'annotations'] as const).flatMap((map) => {
    const given = rule[map]
    if (given !== undefined && given !== null && mapOf(given) !== given) lost.push(`${map} are no map`)
    const entries = Object.entries(mapOf(given))
    if (entries.length > 0 && !looksUp) never.push(`${map} were not looked up, as omitLookup was true`)
    if (entries.some(([key]) => !/^(?!__proto__$)[\w./-]+$/.test(key))) lost.push(`a key of ${map} is none`)
    return entries.map(
      ([key, value]): Predicate => ({ key: `regarding.${map}.${key}`, expression: text(key, value) }),
    )
  })
  const count = Number(rule['minCount'] ?? 0)
  if (!Number.isInteger(count)) lost.push('minCount is not a whole number')
  const known = [...Object.keys(KEYS), ...KEYS_OF_RULE]
  for (const key of Object.keys(rule).filter((it) => !known.includes(it))) {
    skip(rule[key])
    lost.push(`"${key}" is not a condition that is known here`)
  }
  return { all: [...texts, ...metadata, ...(count > 0 ? [{ count }] : [])], lost, never }
}

/** True when it matches every event. */
function matchesAll({ all, lost, never }: Matcher): boolean {
  return all.length === 0 && lost.length === 0 && never.length === 0
}

/** The conditions of events that it matches. */
function matched({ all, lost, never }: Matcher): Passed {
  return { clauses: all.length > 0 ? [{ all }] : [], off: [...lost, ...never], notes: [] }
}

/** The conditions of events that it does not drop. One that matched nothing dropped nothing. */
function notDropped({ all, lost, never }: Matcher, rule: unknown): Passed {
  if (never.length > 0) {
    const written = JSON.stringify(rule)
    return { clauses: [], off: [], notes: never.map((it) => `the drop of ${written} is left out: ${it}`) }
  }
  if (lost.length > 0) {
    const off = lost.map((it) => `events that were dropped come here: ${it}`)
    return { clauses: [], off, notes: [] }
  }
  return { clauses: all.length > 0 ? [{ not: true, all }] : [], off: [], notes: [] }
}

function join(...parts: readonly Passed[]): Passed {
  return {
    clauses: parts.flatMap(({ clauses }) => clauses),
    off: parts.flatMap(({ off }) => off),
    notes: parts.flatMap(({ notes }) => notes),
  }
}

/** `dropsUnknown`: a rule before it drops by labels or annotations, of kinds that it does not name. */
function ruleOf(
  name: string,
  sink: string,
  { clauses, off, notes }: Passed,
  dropsUnknown: boolean,
): Entry<ImportedRule> {
  const asked = conditionsOf(clauses, 'ADDED')
  const named = namedKinds(asked)
  // Of kinds that the excluding rule does not name only these have known labels; of others the excluded ones would pass.
  const isOpen =
    (excludesByMetadata(clauses) && named === undefined) ||
    (dropsUnknown && !named?.every((kind) => METADATA_KINDS.includes(kind)))
  const kinds = isOpen ? [`event.regarding.kind in ${JSON.stringify(METADATA_KINDS)}`] : []
  const condition = [...(asked.if === undefined ? [] : [asked.if]), ...kinds].join(' && ')
  const value = { name, ...asked, ...(condition !== '' && { if: condition }), to: [sink] }
  return entryOf(value, { notes: [...notes], off: [...off] })
}

/** The kinds of objects that the Events of a rule are about; undefined if it does not name them. */
function namedKinds({ when }: Pick<ImportedRule, 'when'>): string[] | undefined {
  const { kind } = (when?.['regarding'] ?? {}) as { kind?: string | string[] }
  const kinds = kind === undefined ? [] : [kind].flat()
  return kinds.length > 0 && kinds.every((it) => /^\w+$/.test(it)) ? kinds : undefined
}

/** Merges consecutive rules with equal conditions. */
function merged(rules: readonly Entry<ImportedRule>[]): Entry<ImportedRule>[] {
  const result: Entry<ImportedRule>[] = []
  const asked = ({ value: { name: _, to: __, ...rest }, off, notes }: Entry<ImportedRule>) =>
    JSON.stringify([rest, off, notes])
  for (const rule of rules) {
    const last = result.at(-1)
    if (last?.value.to && rule.value.to && asked(rule) === asked(last))
      last.value.to = [...new Set([...last.value.to, ...rule.value.to])]
    else result.push(rule)
  }
  return result
}

/** Whether a rule reads labels or annotations of the object that an Event is about. */
function readsMetadata(rule: ImportedRule): boolean {
  const [, ...behind] = JSON.stringify(rule).split('regarding')
  return behind.some((it) => it.includes('labels') || it.includes('annotations'))
}
