import type { ClusterEvent, ObjectRef } from '../event.ts'
import { compileAge } from './age.ts'
import { COST, type Needs, type WhenCondition } from './condition.ts'
import { exactKey, exactTexts, keysOf } from './exact.ts'
import { type Compiled, compiled, faulty, mapped } from './fault.ts'
import { compileKeyValues } from './key-values.ts'
import { compileOwners } from './owner.ts'
import { compilePatterns, type Test } from './pattern.ts'
import { type KeyValues, listOf, type Patterns } from './schema.ts'
import type { Values } from './selector.ts'

export function synthesizedPart(wanted: boolean): WhenCondition {
  return {
    path: ['synthesized'],
    cost: COST.header,
    edge: true,
    test: compiled((event) => event.synthesized === wanted),
    seen: (event) => event.synthesized,
  }
}

export function namespacePart(patterns: Patterns): WhenCondition {
  return { ...named('namespace', patterns, (event) => event.namespace), fixed: true }
}

export function namePart(patterns: Patterns): WhenCondition {
  return { ...named('name', patterns, (event) => event.name), ...needs('name', exactTexts(patterns)) }
}

/** A namespace or name, which is never empty. */
function named(
  key: string,
  patterns: Patterns,
  read: (event: ClusterEvent) => string | undefined,
): WhenCondition {
  return {
    path: [key],
    cost: COST.header,
    test: mapped(compileNames(patterns), (test) => (event) => test(read(event))),
    seen: read,
  }
}

export function labelsPart(wanted: KeyValues): WhenCondition {
  const test = compileKeyValues(wanted)
  const exact = test.ok ? exactKey(wanted) : undefined
  return {
    ...labelsOf(['labels'], wanted, (event) => event.labels),
    cost: COST.labels,
    ...(exact && { needs: { of: 'label', ...exact } }),
  }
}

/** Labels of something around the object; those that are not known are like none. */
export function labelsOf(
  path: WhenCondition['path'],
  wanted: KeyValues,
  read: (event: ClusterEvent) => Values | undefined,
): WhenCondition {
  return {
    path,
    cost: COST.surroundings,
    test: mapped(compileKeyValues(wanted), (test) => (event) => test(read(event) ?? {})),
    seen: (event) => {
      const values = read(event)
      return values && chosen(keysOf(wanted), (key) => (Object.hasOwn(values, key) ? values[key] : undefined))
    },
  }
}

export function annotationsPart(wanted: KeyValues): WhenCondition {
  const test = compileKeyValues(wanted, { anyValue: true })
  const keys = test.ok ? keysOf(wanted) : []
  // Filled anew for each test: most events have none of these, and a map for each would cost more than to look.
  const asked = Object.create(null) as Record<string, string | undefined>
  return {
    path: ['annotations'],
    cost: COST.annotations,
    test: mapped(test, (passes) => (event) => {
      for (const key of keys) asked[key] = annotationOf(event, key)
      return passes(asked)
    }),
    seen: (event) => chosen(keys, (key) => annotationOf(event, key)),
  }
}

function annotationOf(event: ClusterEvent, key: string): string | undefined {
  if (event.annotation) return event.annotation(key)
  return Object.hasOwn(event.annotations, key) ? event.annotations[key] : undefined
}

/** Without prototype: a key may be called `constructor`. */
function chosen(keys: readonly string[], read: (key: string) => string | undefined): Values {
  const values = Object.create(null) as Record<string, string>
  for (const key of keys) {
    const value = read(key)
    if (value !== undefined) values[key] = value
  }
  return values
}

export function agePart(wanted: Patterns): WhenCondition {
  return {
    path: ['age'],
    cost: COST.annotations,
    edge: true,
    test: mapped(compileAge(wanted), (test) => (event) => test(ageMsOf(event))),
    seen: (event) => event.created,
  }
}

/** How old the object was when the change was observed, so that it is the same whenever it is asked. */
function ageMsOf({ created, time }: ClusterEvent): number | undefined {
  const ageMs = Date.parse(time) - Date.parse(created ?? '')
  return Number.isNaN(ageMs) ? undefined : Math.max(0, ageMs)
}

/** Of the chain of controllers, nearest first. */
export function ownerPart(
  path: WhenCondition['path'],
  patterns: Patterns,
  read: (event: ClusterEvent) => readonly ObjectRef[] | undefined,
): WhenCondition {
  const test = compileOwners(patterns)
  return {
    path,
    cost: COST.surroundings,
    test: mapped(test, (passes) => (event) => passes(read(event))),
    isUnknown: (event) => isCut(event, read(event)) && test.ok && !test.value.excludes(read(event)),
    seen: (event) => read(event)?.map(({ kind = '', name = '' }) => `${kind}/${name}`),
  }
}

function isCut({ lacksOwners }: ClusterEvent, owners: readonly ObjectRef[] | undefined): boolean {
  return owners === undefined || lacksOwners === true
}

/** What an index may find the rule by; nothing where patterns are not exact. */
export function needs(of: Needs['of'], values: readonly string[] | undefined): { needs?: Needs } {
  return values ? { needs: { of, values } } : {}
}

/** Empty text would match nothing, so it is a mistake. */
export function compileNames(patterns: Patterns): Compiled<Test> {
  const empty = listOf(patterns).indexOf('')
  if (empty === -1) return compilePatterns(patterns)
  const path = typeof patterns === 'string' ? [] : [empty]
  return faulty('is empty', { path, hint: 'write "!*" for objects without one' })
}
