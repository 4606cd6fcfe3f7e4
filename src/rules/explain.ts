import type { ClusterEvent } from '../event.ts'
import { printable } from '../printable.ts'
import { compileParts } from './compile.ts'
import type { Condition } from './condition.ts'
import { eventKeysOf } from './event-conditions.ts'
import { isEventKind } from './kind.ts'
import type { Rule } from './schema.ts'

/** What one condition asked of an event, and what it saw. Texts are short, and safe on a terminal. */
export interface ConditionReport {
  /** From the rule on: `['when', 'regarding', 'kind']`. */
  path: readonly (string | number)[]
  /** As it is written. */
  expected: string
  /** Undefined when there is nothing, or nothing is known. */
  seen: string | undefined
  holds: boolean
  /** Why it could not be answered. */
  error?: string
  /** It asks about the change, and not about the object as it is. */
  edge?: true
}

export type RuleOutcome = 'matched' | 'not matched' | 'not reached' | 'for other kinds' | 'error'

/** What one rule made of an event. */
export interface RuleReport {
  rule: string
  outcome: RuleOutcome
  /** All of them, in the order in which they are written. */
  conditions: readonly ConditionReport[]
  /** Where it would send to, if it matched; `takenBy` names the rule above that has it. */
  sinks: readonly { sink: string; takenBy?: string }[]
  drops: boolean
  /** Of a rule that is not reached: the one that ended the list. */
  endedBy?: string
}

/**
 * Says for every rule why it matches an event or does not; the same conditions decide as in `compileRules`, but none is skipped.
 * `written` gives a rule as it stands in the file, for its texts and the order of its keys. The rules were checked.
 */
export function explainRules(
  rules: readonly Rule[],
  written: (rule: Rule) => unknown = (rule) => rule,
): (event: ClusterEvent) => readonly RuleReport[] {
  const compiled = rules.map((rule) => {
    const parts = compileParts(rule)
    if (!parts.ok) throw new Error(`rule "${rule.name}" was not checked: ${parts.faults[0]?.message}`)
    const kind = rule.when?.kind
    const kinds = kind === undefined ? undefined : compileParts({ when: { kind } })
    const ofKind = kinds?.ok ? kinds.value.ofKind : undefined
    return { rule, source: written(rule), parts: parts.value, ofKind }
  })
  return (event) => {
    const takenBy = new Map<string, string>()
    let endedBy: string | undefined
    return compiled.map(({ rule, source, parts, ofKind }) => {
      const { name, drop = false, to = [], onError } = rule
      const asked = ofKind ? [kindCondition(ofKind), ...parts.conditions] : parts.conditions
      const conditions = inOrder(asked, source).map((it) => reportOf(it, event, rule, source))
      const isOfKind = parts.ofKind(event.resource)
      const all = conditions.every(
        ({ holds, error }) => holds || (error !== undefined && onError === 'deliver'),
      )
      const others = conditions.every(({ holds, error }) => holds || error !== undefined)
      const matches = isOfKind && all
      const report: RuleReport = {
        rule: name,
        outcome: outcomeOf({ endedBy, isOfKind, matches, failed: isOfKind && others && !all }),
        conditions,
        sinks: [...new Set(to)].map((sink) => {
          const taker = takenBy.get(sink)
          return { sink, ...(taker !== undefined && { takenBy: taker }) }
        }),
        drops: drop,
        ...(endedBy !== undefined && { endedBy }),
      }
      if (!matches || endedBy !== undefined) return report
      for (const sink of to) if (!takenBy.has(sink)) takenBy.set(sink, name)
      if (drop || rule.continue === false) endedBy = name
      return report
    })
  }
}

function outcomeOf(of: {
  endedBy: string | undefined
  isOfKind: boolean
  matches: boolean
  failed: boolean
}): RuleOutcome {
  if (!of.isOfKind) return 'for other kinds'
  if (of.endedBy !== undefined) return 'not reached'
  if (of.failed) return 'error'
  return of.matches ? 'matched' : 'not matched'
}

/** The kind is asked once for all events of it, so that it is no condition elsewhere. */
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
  const { path, edge } = condition
  const base = { path, expected: shown(valueAt(source, path)) ?? '', ...(edge && { edge: true as const }) }
  // What only Events can answer does not hold of others, also behind a "!".
  const isOfEvents = eventKeysOf(rule.when ?? {}).includes(String(path[1])) && !edge
  const isOther = path[0] === 'when' && isOfEvents && !isEventKind(event.resource)
  try {
    return { ...base, seen: shown(condition.seen?.(event)), holds: !isOther && condition.test(event) }
  } catch (error) {
    return { ...base, seen: undefined, holds: false, error: shown(messageOf(error)) ?? '' }
  }
}

const LONGEST = 160

/** A value as people can read it: on one line, not too long. */
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

/** Sorted by where their keys stand. */
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
