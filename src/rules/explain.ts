import type { ClusterEvent } from '../model/event.ts'
import { printable } from '../text/printable.ts'
import { compileConditions } from './compile.ts'
import type { Condition } from './condition.ts'
import { compileKinds, isEventKind } from './kind.ts'
import type { Rule } from './schema.ts'
import { eventKeysOf } from './when.ts'

/** The result of one condition for an event. Texts are short, and safe for a terminal. */
export interface ConditionReport {
  /** From the rule to its key: `['when', 'regarding', 'kind']`. */
  path: readonly (string | number)[]
  /** The value in the configuration. */
  expected: string
  /** The value of the event; undefined if it is absent or unknown. */
  seen: string | undefined
  holds: boolean
  /** Why the condition failed. */
  error?: string
  /** It tests the change instead of the object's state. */
  edge?: true
}

/** The result of one rule for an event. */
interface RuleReport {
  /** Whether the rule can match objects of this kind at all. */
  isOfKind: boolean
  /** All conditions, in the order of the configuration. */
  conditions: readonly ConditionReport[]
}

/**
 * Reports why a rule matches an event or not, with the conditions of `compileRules`; none is skipped. `written` is the rule as in the
 * file, for its texts and the order of its keys. The rule must be free of faults.
 */
export function explainRule(rule: Rule, written: unknown = rule): (event: ClusterEvent) => RuleReport {
  const compiled = compileConditions(rule)
  if (!compiled.ok) throw new Error(`rule "${rule.name}" was not checked: ${compiled.faults[0]?.message}`)
  const kind = rule.when?.kind
  const kinds = kind === undefined ? undefined : compileKinds(kind)
  const conditions = [...(kinds?.ok ? [kindCondition(kinds.value)] : []), ...compiled.value.conditions]
  const ordered = inOrder(conditions, written)
  return (event) => ({
    isOfKind: compiled.value.ofKind(event.resource),
    conditions: ordered
      .filter((it) => it.implied === undefined || !it.test(event))
      .map((it) => reportOf(it, event, rule, written)),
  })
}

/** Elsewhere the kind is not a condition, because it is tested once for all events of a kind. */
function kindCondition(ofKind: (resource: ClusterEvent['resource']) => boolean): Condition {
  return {
    name: 'kind',
    path: ['when', 'kind'],
    cost: 0,
    test: (event) => ofKind(event.resource),
    seen: (event) => event.kind,
  }
}

function reportOf(condition: Condition, event: ClusterEvent, rule: Rule, source: unknown): ConditionReport {
  const { path, edge, implied = shown(valueAt(source, path)) ?? '' } = condition
  const base = { path, expected: implied, ...(edge && { edge: true as const }) }
  // Keys for Events match no other objects, also with a "!".
  const isOfEvents = eventKeysOf(rule.when ?? {}).includes(String(path[1])) && !edge
  const isOther = path[0] === 'when' && isOfEvents && !isEventKind(event.resource)
  try {
    return { ...base, seen: shown(condition.seen?.(event)), holds: !isOther && condition.test(event) }
  } catch (error) {
    return { ...base, seen: undefined, holds: false, error: shown(messageOf(error)) ?? '' }
  }
}

const LONGEST = 160

/** Returns the value as one short line. */
function shown(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = printable(typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value)))
  const chars = Array.from(text.slice(0, 2 * LONGEST))
  return chars.length > LONGEST ? `${chars.slice(0, LONGEST - 1).join('')}…` : text
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function valueAt(source: unknown, path: Condition['path']): unknown {
  return path.reduce<unknown>(
    (value, key) => (isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    source,
  )
}

/** Sorts by the order of keys in the configuration. */
function inOrder(conditions: readonly Condition[], source: unknown): readonly Condition[] {
  const placed = conditions.map((condition) => ({ condition, place: placeOf(source, condition.path) }))
  return placed.sort((a, b) => compare(a.place, b.place)).map(({ condition }) => condition)
}

function placeOf(source: unknown, path: Condition['path']): number[] {
  let value = source
  return path.map((key) => {
    const place = isMap(value) ? Object.keys(value).indexOf(String(key)) : -1
    value = isMap(value) && place !== -1 ? value[key] : undefined
    return place === -1 ? Number.POSITIVE_INFINITY : place
  })
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [left, right] = [a[i] as number, b[i] as number]
    if (left !== right) return left < right ? -1 : 1
  }
  return a.length - b.length
}

function isMap(value: unknown): value is Record<string | number, unknown> {
  return typeof value === 'object' && value !== null
}
