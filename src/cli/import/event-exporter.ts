import { type AtLeast, type Clause, conditionsOf, isExpression, type Predicate } from './conditions.ts'
import { receiverSink } from './event-exporter-receivers.ts'
import type { Imported, ImportedRule, Noted, Switchable } from './imported.ts'
import { listOf, mapOf, namer, namespacesOf, type Raw, textOf } from './source-options.ts'

const HEADING = [
  'Made of a configuration of kubernetes-event-exporter.',
  'Expressions matched anywhere in a text there, so they are between slashes here: /Failed/ matches FailedMount, too; Failed matches only',
  'itself. An event reaches one sink once. Repeated Events arrive, too: throttle and count reduce them.',
]

const KEYS_OF_FILE = ['route', 'receivers', 'namespace', 'clusterName', 'omitLookup']
const KEYS_OF_ROUTE = ['drop', 'match', 'routes']

const SCREEN = { screen: { value: { type: 'stdout' }, notes: ['no route leads to a receiver'] } }

const DROPPED: Readonly<Record<string, string>> = {
  throttlePeriod: 'throttlePeriod dropped older events there; nothing is dropped by age here',
  maxEventAgeSeconds: 'maxEventAgeSeconds dropped older events there; nothing is dropped by age here',
  leaderElection: 'leaderElection: write leases: true to share the work between replicas',
  metricsNamePrefix: 'metricsNamePrefix: all metrics begin with kubeherald_',
}

/** Flattens the tree of routes into an equivalent list of rules. */
export function importEventExporter(raw: Raw): Imported {
  const name = namer()
  const sinks = new Map<string, { name: string; sink: Noted<Record<string, unknown>>; message?: string }>()
  for (const receiver of listOf(raw['receivers']).map(mapOf)) {
    const called = textOf(receiver['name'])
    if (!sinks.has(called)) sinks.set(called, { name: name(called), ...receiverSink(called, receiver) })
  }
  const ruleName = namer()
  const rules: Switchable<ImportedRule>[] = []
  const unknown = new Set<string>()
  const lostRoutes = new Set<string>()
  const used = new Set<string>()
  const labelsAsked = raw['omitLookup'] !== true
  const read = (rule: unknown) => readMatcher(mapOf(rule), labelsAsked)

  function walk(route: Raw, above: Passed): void {
    const drops = listOf(route['drop']).map((rule) => ({ rule, own: read(rule) }))
    for (const key of unknownIn(route, KEYS_OF_ROUTE))
      lostRoutes.add(`A route has the key "${key}", which is not known here: left out.`)
    if (drops.some(({ own }) => matchesAll(own))) {
      const receivers = [...new Set(receiversOf(route))].join(', ')
      lostRoutes.add(`A route to ${receivers || 'nowhere'} dropped every event: left out.`)
      return
    }
    const matches = listOf(route['match']).map((match) => ({ match: mapOf(match), own: read(match) }))
    const passed = joined(above, ...drops.map(({ rule, own }) => notDropped(own, rule)))
    for (const { match, own } of matches) {
      const receiver = textOf(match['receiver'])
      if (receiver === '') continue
      const sink = sinks.get(receiver)
      if (!sink) {
        unknown.add(receiver)
        continue
      }
      const { clauses, off, notes } = joined(passed, matched(own))
      rules.push({
        value: { name: ruleName(receiver), ...conditionsOf(clauses), to: [sink.name] },
        notes: [...new Set(notes)],
        off: [...new Set(off)],
      })
      used.add(sink.name)
    }
    const below = joined(passed, ...matches.map(({ own }) => matched(own)))
    for (const sub of listOf(route['routes']).map(mapOf)) walk(sub, below)
  }
  const { drop, ...root } = mapOf(raw['route'])
  const dropped = listOf(drop).map((rule, i): Switchable<ImportedRule> => {
    const { clauses, off } = matched(read(rule))
    return { value: { name: ruleName(`drop-${i + 1}`), ...conditionsOf(clauses), drop: true }, off }
  })
  const { off: lost } = joined(...listOf(drop).map((rule) => notDropped(read(rule), rule)))
  const { namespaces, off: anywhere } = namespacesOf(raw['namespace'])
  walk(root, { clauses: [], off: [...lost, ...anywhere], notes: [] })

  const sent = [...sinks.values()].filter((it) => used.has(it.name))
  const cluster = textOf(raw['clusterName'])
  const left = Object.entries(DROPPED).flatMap(([key, note]) => (raw[key] === undefined ? [] : [note]))
  const others = unknownIn(raw, [...KEYS_OF_FILE, ...Object.keys(DROPPED)])
  const unread = others.length === 0 ? [] : [`Not carried over: ${others.join(', ')}.`]
  const missing = [...unknown].map(
    (receiver) => `A route names the receiver "${receiver}", which is not defined: left out.`,
  )
  return {
    heading: [
      ...HEADING,
      ...left,
      ...unread,
      ...lostRoutes,
      ...missing,
      ...unusedOf([...sinks.values()], used),
    ],
    ...(cluster !== '' && { cluster }),
    watch: [{ value: namespaces.length === 0 ? 'Event' : { kind: 'Event', namespaces } }],
    sinks: used.size === 0 ? SCREEN : Object.fromEntries(sent.map(({ name, sink }) => [name, sink])),
    rules: merged([...dropped, ...rules]),
  }
}

function unknownIn(map: Raw, known: readonly string[]): string[] {
  return Object.keys(map).filter((key) => !known.includes(key))
}

/** The receivers of a route and of the routes below it. */
function receiversOf(route: Raw): string[] {
  const own = listOf(route['match']).map((match) => textOf(mapOf(match)['receiver']))
  return [...own.filter((it) => it !== ''), ...listOf(route['routes']).map(mapOf).flatMap(receiversOf)]
}

function unusedOf(sinks: readonly { name: string }[], used: ReadonlySet<string>): string[] {
  const names = sinks.filter(({ name }) => !used.has(name)).map(({ name }) => name)
  return names.length === 0
    ? []
    : [`No route leads to these receivers, so they were left out: ${names.join(', ')}.`]
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

function readMatcher(rule: Raw, labelsAsked: boolean): Matcher {
  const lost: string[] = []
  const never: string[] = []
  const text = (name: string, value: unknown) => {
    if (typeof value === 'object' && value !== null) lost.push(`${name} is no text`)
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
  const labels = Object.entries(mapOf(rule['labels'])).map(
    ([label, value]): Predicate => ({ key: `regarding.labels.${label}`, expression: text(label, value) }),
  )
  if (isOtherThan(rule['labels'], mapOf)) lost.push('labels are no map')
  if (labels.length > 0 && !labelsAsked) never.push('labels were not looked up, as omitLookup was true')
  if (isOtherThan(rule['annotations'], mapOf) || Object.keys(mapOf(rule['annotations'])).length > 0)
    lost.push('annotations of the object that an Event is about cannot be asked for')
  const count = Number(rule['minCount'] ?? 0)
  if (!Number.isInteger(count)) lost.push('minCount is no whole number')
  const known = [...Object.keys(KEYS), 'labels', 'annotations', 'minCount', 'receiver']
  for (const key of Object.keys(rule))
    if (!known.includes(key)) lost.push(`"${key}" is no condition that is known here`)
  return { all: [...texts, ...labels, ...(count > 1 ? [{ count }] : [])], lost, never }
}

/** True for a value that the reader cannot convert. */
function isOtherThan(value: unknown, read: (value: unknown) => Raw): boolean {
  return value !== undefined && value !== null && read(value) !== value
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

function joined(...parts: readonly Passed[]): Passed {
  return {
    clauses: parts.flatMap(({ clauses }) => clauses),
    off: parts.flatMap(({ off }) => off),
    notes: parts.flatMap(({ notes }) => notes),
  }
}

/** Merges consecutive rules with equal conditions. */
function merged(rules: readonly Switchable<ImportedRule>[]): Switchable<ImportedRule>[] {
  const result: Switchable<ImportedRule>[] = []
  for (const rule of rules) {
    const last = result.at(-1)
    const { name: _a, to, ...asked } = rule.value
    const { name: _b, to: before, ...askedBefore } = last?.value ?? { name: '' }
    if (last && !rule.value.drop && same([asked, lostOf(rule)], [askedBefore, lostOf(last)]))
      last.value.to = [...new Set([...(before ?? []), ...(to ?? [])])]
    else result.push({ ...rule, value: { ...rule.value } })
  }
  return result
}

function lostOf({ off = [], notes = [] }: Switchable<ImportedRule>) {
  return { off, notes }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
