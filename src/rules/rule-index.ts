import type { ClusterEvent, Resource } from '../event.ts'
import type { Condition, Needs } from './condition.ts'
import type { KindTest } from './kind.ts'

/** A rule as an index must know it. */
export interface IndexedRule {
  ofKind: KindTest
  /** Cheap ones first. */
  conditions: readonly Condition[]
  /** Is told of every event of its kinds, whatever its conditions say. */
  always: boolean
}

/** A rule that an event may match, and what is left to ask. */
export interface Candidate<Rule> {
  rule: Rule
  /** Its place among all rules. */
  at: number
  conditions: readonly Condition[]
}

/** The rules that an event may match, in their order. */
export type RuleIndex<Rule> = (event: ClusterEvent) => readonly Candidate<Rule>[]

/** Plans that are kept for one resource: one for each namespace and type of change. A cluster has hardly more. */
const MOST_PLANS = 10_000

/**
 * Finds rules by the kind of an object, by its namespace and the type of the change, and then by a value that a rule cannot
 * do without. The first two are decided once and remembered; none of it changes what matches.
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
  const ofKind = rules
    .map((rule, at) => ({ rule, at, conditions: rule.conditions }))
    .filter(({ rule }) => rule.ofKind(resource))
  if (ofKind.length === 0) return () => []
  const plans = new Map<string, RuleIndex<Rule>>()
  return (event) => {
    const key = `${event.type}/${event.namespace ?? ''}`
    let plan = plans.get(key)
    if (!plan) {
      if (plans.size >= MOST_PLANS) plans.clear()
      plan = planOf(ofKind, event)
      plans.set(key, plan)
    }
    return plan(event)
  }
}

/** Events of one namespace and type: what that decides is decided. */
function planOf<Rule extends IndexedRule>(
  ofKind: readonly Candidate<Rule>[],
  event: ClusterEvent,
): RuleIndex<Rule> {
  const open = ofKind.flatMap((candidate) => {
    if (candidate.rule.always) return [candidate]
    const isPossible = candidate.conditions.every(({ fixed, test }) => !fixed || test(event))
    return isPossible
      ? [{ ...candidate, conditions: candidate.conditions.filter(({ fixed }) => !fixed) }]
      : []
  })
  const tables = new Map<string, Table<Rule>>()
  const rest: Candidate<Rule>[] = []
  for (const candidate of open) {
    const needs = candidate.rule.always ? undefined : mostSelective(candidate.conditions)
    if (needs) addTo(tables, needs, candidate)
    else rest.push(candidate)
  }
  if (tables.size === 0) return () => rest
  const lookups = [...tables.values()]
  return (event) => {
    try {
      return found(rest, lookups, event)
    } catch {
      // What cannot be read is told by each rule that asks for it.
      return open
    }
  }
}

interface Table<Rule> {
  read(event: ClusterEvent): string | undefined
  rules: Map<string, Candidate<Rule>[]>
}

/** The fields by which rules are found, the one that tells most first. */
const SELECTIVE: readonly Needs['of'][] = [
  'name',
  'regarding.name',
  'label',
  'reason',
  'regarding.namespace',
  'type',
]

function mostSelective(conditions: readonly Condition[]): Needs | undefined {
  const all = conditions.flatMap(({ needs }) => needs ?? [])
  const rank = ({ of, values }: Needs) => SELECTIVE.indexOf(of) * 1_000 + Math.min(values.length, 999)
  return all.sort((a, b) => rank(a) - rank(b))[0]
}

function addTo<Rule>(tables: Map<string, Table<Rule>>, needs: Needs, candidate: Candidate<Rule>): void {
  const name = `${needs.of}/${needs.key ?? ''}`
  const table = tables.get(name) ?? { read: readerOf(needs), rules: new Map() }
  tables.set(name, table)
  for (const value of needs.values) table.rules.set(value, [...(table.rules.get(value) ?? []), candidate])
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

/** A rule stands in one table, and an event has one value for each: none is found twice. */
function found<Rule>(
  rest: readonly Candidate<Rule>[],
  tables: readonly Table<Rule>[],
  event: ClusterEvent,
): readonly Candidate<Rule>[] {
  let all = rest
  let isSorted = true
  for (const { read, rules } of tables) {
    const value = read(event)
    const more = value === undefined ? undefined : rules.get(value)
    if (!more) continue
    isSorted = all.length === 0
    all = isSorted ? more : all.concat(more)
  }
  return isSorted ? all : [...all].sort((a, b) => a.at - b.at)
}
