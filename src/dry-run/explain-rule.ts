import type { ClusterEvent } from '../event.ts'
import type { Condition } from '../rules/condition.ts'
import { compileKinds } from '../rules/kind.ts'
import { partMakers } from '../rules/part-makers.ts'
import type { Rule } from '../rules/schema.ts'
import { isPlainMap } from './plain.ts'

/** One thing that a rule asks, and what it found. */
export interface Asked {
  /** As the rule has it, without `when`: `regarding.kind`. */
  name: string
  /** What the rule says there. */
  expected: unknown
  /** Undefined when it is not there. */
  seen: unknown
  holds: boolean
  /** It could not be answered. */
  error?: string
}

/** All that a rule asks of an event; nothing is left out because something before it did not hold. */
export interface AskedRule {
  /** Can it match objects of this kind at all? */
  ofKind: boolean
  asked: readonly Asked[]
}

export function askRule(rule: Rule, event: ClusterEvent): AskedRule {
  const parts = partMakers.map((make) => make(rule)).flatMap((it) => (it.ok ? [it.value] : []))
  const ofKind = parts.every((part) => part.ofKind?.(event.resource) ?? true)
  const conditions = parts.flatMap((part) => part.conditions).toSorted((a, b) => a.cost - b.cost)
  return {
    ofKind,
    asked: [...kindAsked(rule, event, ofKind), ...conditions.map((it) => ask(it, rule, event))],
  }
}

function kindAsked({ when = {} }: Rule, event: ClusterEvent, ofKind: boolean): Asked[] {
  const { kind: expected } = when
  const seen = event.kind
  if (expected === undefined)
    return ofKind ? [] : [{ name: 'kind', expected: 'Event, for what it asks besides', seen, holds: false }]
  const test = compileKinds(expected)
  return [{ name: 'kind', expected, seen, holds: test.ok && test.value(event.resource) }]
}

function ask(condition: Condition, rule: Rule, event: ClusterEvent): Asked {
  const { name, path } = condition
  const asked = { name, expected: at(rule, path), seen: seenBy(condition, event) }
  try {
    return { ...asked, holds: condition.test(event) }
  } catch (error) {
    return { ...asked, holds: false, error: error instanceof Error ? error.message : String(error) }
  }
}

function at(value: unknown, path: readonly (string | number)[]): unknown {
  let found = value
  for (const step of path)
    found =
      isPlainMap(found) || Array.isArray(found)
        ? (found as Record<string | number, unknown>)[step]
        : undefined
  return found
}

function seenBy(condition: Condition, event: ClusterEvent): unknown {
  try {
    return condition.seen ? condition.seen(event) : READ[condition.name]?.(event)
  } catch {
    return undefined
  }
}

const READ: Readonly<Record<string, (event: ClusterEvent) => unknown>> = {
  namespace: ({ namespace }) => namespace,
  name: ({ name }) => name,
  labels: ({ labels }) => labels,
  annotations: ({ annotations }) => annotations,
  type: ({ type, event }) => (event ? `${type}, ${event.type}` : type),
  reason: ({ event }) => event?.reason,
  message: ({ event }) => event?.message,
  'regarding.kind': ({ event }) => event?.regarding.kind,
  'regarding.namespace': ({ event }) => event?.regarding.namespace,
  'regarding.name': ({ event }) => event?.regarding.name,
}
