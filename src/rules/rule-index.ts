import type { ClusterEvent, Resource } from '../model/event.ts'
import type { Condition, Needs } from './condition.ts'
import type { KindTest } from './kind.ts'

/** The part of a rule that the index needs. */
export interface IndexedRule {
  ofKind: KindTest
  /** Cheap conditions first. */
  conditions: readonly Condition[]
  /** A candidate for every event of its kinds. */
  always: boolean
}

/** A rule that an event can match, and the conditions to test. */
export interface Candidate<Rule> {
  rule: Rule
  /** Its index among all rules. */
  at: number
  conditions: readonly Condition[]
  /** The values by which it is found; without them it is always a candidate. */
  needs?: Needs
}

/** Returns the rules that an event can match, in their order. */
type RuleIndex<Rule> = (event: ClusterEvent) => readonly Candidate<Rule>[]

/** Maximum size of all cached plans of one resource, about 10 MB, for any number of namespaces. */
const MOST_PLACES = 500_000

/**
 * Finds rules by the kind of an object, by its namespace and the type of the change, and then by an exact value that a rule needs.
 * The first two are cached. The index does not change which rules match.
 */
export function createRuleIndex<Rule extends IndexedRule>(rules: readonly Rule[]): RuleIndex<Rule> {
  const byResource = new WeakMap<Resource, RuleIndex<Rule>>()
  return (event) => {
    let ofResource = byResource.get(event.resource)
    if (!ofResource) {
      ofResource = indexOfResource(rules, event.resource)
      byResource.set(event.resource, ofResource)
    }
    return ofResource(event)
  }
}

function indexOfResource<Rule extends IndexedRule>(
  rules: readonly Rule[],
  resource: Resource,
): RuleIndex<Rule> {
  const ofKind = rules.flatMap((rule, at) => (rule.ofKind(resource) ? [planned(rule, at)] : []))
  if (ofKind.length === 0) return () => []
  const plans = { ADDED: planMap<Rule>(), MODIFIED: planMap<Rule>(), DELETED: planMap<Rule>() }
  let places = 0
  return (event) => {
    const { type, namespace = '' } = event
    const known = plans[type].get(namespace)
    if (known) return known(event)
    const open = ofKind.flatMap(({ fixed, left }) => (fixed.every((it) => it.test(event)) ? [left] : []))
    const size = open.reduce((sum, { needs }) => sum + (needs?.values.length ?? 1), 1)
    if (places + size > MOST_PLACES) {
      for (const ofType of Object.values(plans)) ofType.clear()
      places = 0
    }
    places += size
    const plan = planOf(open)
    plans[type].set(namespace, plan)
    return plan(event)
  }
}

const planMap = <Rule>() => new Map<string, RuleIndex<Rule>>()

/** Splits the conditions of a rule: those that namespace and type decide, and the rest, which is one object in all plans. */
function planned<Rule extends IndexedRule>(rule: Rule, at: number) {
  const { always, conditions } = rule
  const fixed = always ? [] : conditions.filter((it) => it.fixed)
  const rest = conditions.filter((it) => !fixed.includes(it))
  const needs = always ? undefined : mostSelective(rest)
  const left: Candidate<Rule> = { rule, at, conditions: rest, ...(needs && { needs }) }
  return { fixed, left }
}

/** Returns the index of the rules that remain for one namespace and type. */
function planOf<Rule extends IndexedRule>(open: readonly Candidate<Rule>[]): RuleIndex<Rule> {
  const tables = new Map<string, Table<Rule>>()
  const rest: Candidate<Rule>[] = []
  for (const candidate of open) {
    if (candidate.needs) addTo(tables, candidate.needs, candidate)
    else rest.push(candidate)
  }
  if (tables.size === 0) return () => rest
  const lookups = [...tables.values()]
  return (event) => {
    try {
      return found(rest, lookups, event)
    } catch {
      // Each rule that reads the value reports the error itself.
      return open
    }
  }
}

interface Table<Rule> {
  read(event: ClusterEvent): string | undefined
  rules: Map<string, Candidate<Rule>[]>
}

/** Fields by which rules are found, the most selective first. */
const SELECTIVE: readonly Needs['of'][] = [
  'name',
  'regarding.name',
  'label',
  'reason',
  'regarding.namespace',
  'type',
]

/** A rule with more values is always a candidate: its own test is a lookup too. */
const MOST_VALUES = 100

function mostSelective(conditions: readonly Condition[]): Needs | undefined {
  const all = conditions.flatMap(({ needs }) => (needs && needs.values.length <= MOST_VALUES ? needs : []))
  const rank = ({ of, values }: Needs) => SELECTIVE.indexOf(of) * 1_000 + Math.min(values.length, 999)
  return all.sort((a, b) => rank(a) - rank(b))[0]
}

function addTo<Rule>(tables: Map<string, Table<Rule>>, needs: Needs, candidate: Candidate<Rule>): void {
  const name = `${needs.of}/${needs.key ?? ''}`
  const table = tables.get(name) ?? { read: readerOf(needs), rules: new Map() }
  tables.set(name, table)
  for (const value of needs.values) {
    const same = table.rules.get(value)
    if (same) same.push(candidate)
    else table.rules.set(value, [candidate])
  }
}

function readerOf({ of, key = '' }: Needs): Table<never>['read'] {
  switch (of) {
    case 'name':
      return (event) => event.name
    case 'label':
      return ({ labels }) => (Object.hasOwn(labels, key) ? labels[key] : undefined)
    case 'reason':
      return ({ event }) => event?.reason
    case 'type':
      return ({ event }) => event?.type
    case 'regarding.name':
      return ({ event }) => event?.regarding.name
    case 'regarding.namespace':
      return ({ event }) => event?.regarding.namespace
  }
}

/** A rule is in one table, and an event has one value for each: no rule is found twice. */
function found<Rule>(
  rest: readonly Candidate<Rule>[],
  tables: readonly Table<Rule>[],
  event: ClusterEvent,
): readonly Candidate<Rule>[] {
  let all = rest
  for (const { read, rules } of tables) {
    const value = read(event)
    const more = value === undefined ? undefined : rules.get(value)
    if (more) all = all.length === 0 ? more : merged(all, more)
  }
  return all
}

/** Merges two ordered lists. */
function merged<Rule>(
  some: readonly Candidate<Rule>[],
  others: readonly Candidate<Rule>[],
): readonly Candidate<Rule>[] {
  const all: Candidate<Rule>[] = []
  let next = 0
  for (const candidate of some) {
    for (let other = others[next]; other && other.at < candidate.at; other = others[++next]) all.push(other)
    all.push(candidate)
  }
  for (let other = others[next]; other; other = others[++next]) all.push(other)
  return all
}
