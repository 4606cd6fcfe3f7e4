import type { ClusterEvent, KubeEventView, ObjectRef } from '../model/event.ts'
import { compileTypes } from './change-values.ts'
import { type Compiled, compiled, faulty, mapped } from './fault.ts'
import type { KindTest } from './kind.ts'
import { compileOwners } from './owner.ts'
import { compilePatterns, exactTexts, listOf, type Patterns, type Test } from './pattern.ts'
import type { Rule } from './schema.ts'
import { compileKeyValues, type KeyValues, keysOf, type Values } from './selector.ts'

/** One compiled condition of a rule. */
export interface Condition {
  /** For errors and reports: `regarding.kind`. */
  name: string
  /** From the rule to its key: `['when', 'regarding', 'kind']`. */
  path: readonly (string | number)[]
  cost: number
  /** Tests the change instead of the object's state. */
  edge?: boolean
  /** Not written in the rule: what it expects, for reports of events for which it fails. */
  implied?: string
  /** If it throws, the rule's `onError` decides. */
  test(event: ClusterEvent): boolean
  /** Returns the tested value for reports; undefined if it is absent or unknown. */
  seen?(event: ClusterEvent): unknown
  /** Whether a negative result is uncertain, because related metadata is not known. */
  isUnknown?(event: ClusterEvent): boolean
  /** Whether an error of `test` is a fact of the object, which lacks a field: then its state certainly does not match. */
  isMissing?(error: unknown, event: ClusterEvent): boolean
  /** The result depends only on the resource, the namespace and the type of the change. */
  fixed?: true
  /** It fails unless a field of the event has one of these values. */
  needs?: Needs
}

/** Exact values that a condition needs, by which the rule index finds its rule. `key` is a label's. */
export interface Needs {
  of: 'name' | 'label' | 'reason' | 'type' | 'regarding.name' | 'regarding.namespace'
  key?: string
  values: readonly string[]
}

/** What a test makes the event read. Cheap conditions come first, so that most events are never parsed. */
export const COST = {
  header: 0,
  labels: 1,
  annotations: 2,
  fields: 3,
  metadata: 4,
  object: 5,
  expression: 6,
  old: 7,
} as const

/** The compiled conditions of some keys of a rule; all must hold. */
export interface CompiledConditions {
  /** Whether objects of this kind can match. Tested once for each kind, not for each event. */
  ofKind?: KindTest
  conditions: readonly Condition[]
}

/** Compiles some keys of a rule; the paths of faults start at the rule. */
export type ConditionCompiler = (rule: Omit<Rule, 'name'>) => Compiled<CompiledConditions>

/** A compiled condition; `path` leads from its key to a nested key. */
export type WhenCondition = Omit<Condition, 'name' | 'path' | 'test'> & {
  path?: readonly string[]
  test: Compiled<Condition['test']>
}

export function nameCondition(
  patterns: Patterns,
  read: (event: ClusterEvent) => string | undefined,
): WhenCondition {
  const test = mapped(compileNames(patterns), (test) => (event: ClusterEvent) => test(read(event)))
  return { cost: COST.header, test, seen: read }
}

/** No object has an empty name, so an empty pattern is a fault. */
function compileNames(patterns: Patterns): Compiled<Test> {
  const empty = listOf(patterns).indexOf('')
  if (empty === -1) return compilePatterns(patterns)
  const path = typeof patterns === 'string' ? [] : [empty]
  return faulty('is empty', { path, hint: 'write "!*" for objects without one' })
}

/** Unknown labels are treated as none. `anyValue` is for annotations. */
export function labelsCondition(
  wanted: KeyValues,
  read: (event: ClusterEvent) => Values | undefined,
  options: { anyValue?: boolean } = {},
): WhenCondition {
  return {
    cost: COST.metadata,
    test: mapped(compileKeyValues(wanted, options), (test) => (event) => test(read(event) ?? {})),
    seen: (event) => {
      const values = read(event)
      return values && pick(keysOf(wanted), (key) => (Object.hasOwn(values, key) ? values[key] : undefined))
    },
  }
}

export function annotationsCondition(wanted: KeyValues): WhenCondition {
  const test = compileKeyValues(wanted, { anyValue: true })
  const keys = test.ok ? keysOf(wanted) : []
  // Reused for each event: a new map for each would cost more than the test.
  const values = Object.create(null) as Record<string, string | undefined>
  return {
    cost: COST.annotations,
    test: mapped(test, (passes) => (event) => {
      for (const key of keys) values[key] = annotationOf(event, key)
      return passes(values)
    }),
    seen: (event) => pick(keys, (key) => annotationOf(event, key)),
  }
}

function annotationOf(event: ClusterEvent, key: string): string | undefined {
  if (event.annotation) return event.annotation(key)
  return Object.hasOwn(event.annotations, key) ? event.annotations[key] : undefined
}

/** Without prototype: a key may be called `constructor`. */
function pick(keys: readonly string[], read: (key: string) => string | undefined): Values {
  const values = Object.create(null) as Record<string, string>
  for (const key of keys) {
    const value = read(key)
    if (value !== undefined) values[key] = value
  }
  return values
}

/** Tests a chain of controllers, nearest first. */
export function ownerCondition(
  patterns: Patterns,
  read: (event: ClusterEvent) => readonly ObjectRef[] | undefined,
): WhenCondition {
  const test = compileOwners(patterns)
  return {
    cost: COST.metadata,
    test: mapped(test, (passes) => (event) => passes(read(event))),
    isUnknown: (event) => {
      const isIncomplete = read(event) === undefined || event.lacksOwners === true
      return isIncomplete && test.ok && !test.value.excludes(read(event))
    },
    seen: (event) => read(event)?.map(({ kind = '', name = '' }) => `${kind}/${name}`),
  }
}

/** One condition for the types of changes, one for those of Events. */
export function typeConditions(type: Patterns): WhenCondition[] {
  const types = compileTypes(type)
  if (!types.ok) return [{ cost: COST.header, test: types }]
  const { change, event } = types.value
  const conditions: WhenCondition[] = []
  if (change)
    conditions.push({
      cost: COST.header,
      edge: true,
      fixed: true,
      test: compiled((it) => change(it.type)),
      seen: (it) => it.type,
    })
  if (event) {
    const values = ['Normal', 'Warning'].filter((it) => event(it))
    // A negated type passes other types too.
    const isOpen = event('another')
    const found = isOpen ? {} : { needs: { of: 'type' as const, values } }
    conditions.push({ ...ofEvent(compiled(event), (it) => it.type), ...found })
  }
  return conditions
}

export function ofEvent(
  test: Compiled<Test>,
  read: (event: KubeEventView) => string | undefined,
): WhenCondition {
  const seen = (event: ClusterEvent) => event.event && read(event.event)
  return { cost: COST.fields, test: mapped(test, (test) => (event) => test(seen(event))), seen }
}

export function ofRegarding(
  test: Compiled<(ref: ObjectRef) => boolean>,
  read: (ref: ObjectRef) => string | undefined,
): WhenCondition {
  return {
    cost: COST.fields,
    test: mapped(test, (test) => (event) => event.event !== undefined && test(event.event.regarding)),
    seen: (event) => event.event && read(event.event.regarding),
  }
}

export function namesTest(
  patterns: Patterns,
  field: 'namespace' | 'name',
): Compiled<(ref: ObjectRef) => boolean> {
  return mapped(compileNames(patterns), (test) => (ref) => test(ref[field]))
}

/** The age when the change was observed, so that the result does not depend on the time of the evaluation. */
export function ageMsOf({ created, time }: ClusterEvent): number | undefined {
  const ageMs = Date.parse(time) - Date.parse(created ?? '')
  return Number.isNaN(ageMs) ? undefined : Math.max(0, ageMs)
}

/** The exact values by which an index finds the rule, if all patterns are exact. */
export function needs(of: Needs['of'], patterns: Patterns): { needs?: Needs } {
  const values = exactTexts(patterns)
  return values ? { needs: { of, values } } : {}
}
