import type { ClusterEvent, KubeEventView, ObjectRef } from '../event.ts'
import { compileAge } from './age.ts'
import { COST, type Condition, type Needs, type PartMaker } from './condition.ts'
import { exactKey, exactTexts, keysOf } from './exact.ts'
import { type Compiled, compiled, type Fault, faulty, mapped, under } from './fault.ts'
import { compileKeyValues } from './key-values.ts'
import { compileKinds, isEventKind, type KindTest, kindOf } from './kind.ts'
import { compileOwners } from './owner.ts'
import { compilePatterns, type Test } from './pattern.ts'
import { type KeyValues, listOf, type Patterns, type Regarding, type When } from './schema.ts'
import type { Values } from './selector.ts'
import { compileTypes } from './types.ts'

/** The conditions of a rule's `when`. */
export const whenPart: PartMaker = ({ when = {} }) => {
  const result = compileWhen(when)
  return result.ok ? result : { ok: false, faults: under(['when'], result.faults) }
}

/** A compiled `when`. */
export interface Conditions {
  ofKind: KindTest
  conditions: readonly Condition[]
}

/** Compiles a `when`, or says everything that is wrong with it. */
export function compileWhen(when: When): Compiled<Conditions> {
  const kinds = when.kind === undefined ? compiled<KindTest>(() => true) : compileKinds(when.kind)
  const conditions: Condition[] = []
  const faults = kinds.ok ? [] : under(['kind'], kinds.faults)
  for (const { path, test, ...rest } of partsOf(when)) {
    if (test.ok) conditions.push({ name: path.join('.'), path: ['when', ...path], test: test.value, ...rest })
    else faults.push(...under(path, test.faults))
  }
  faults.push(...eventOwnerFaults(when))
  if (faults.length > 0 || !kinds.ok) return { ok: false, faults }
  return compiled({ ofKind: asksEvent(when) ? onlyEvents(kinds.value) : kinds.value, conditions })
}

/** The keys of `when` that only Events can answer. */
export function eventKeysOf({ reason, message, regarding, type }: When): string[] {
  const words = type === undefined ? [] : listOf(type)
  return [
    ...(words.some((word) => /^!?(Normal|Warning)$/.test(word)) ? ['type'] : []),
    ...(reason === undefined ? [] : ['reason']),
    ...(message === undefined ? [] : ['message']),
    ...(regarding === undefined ? [] : ['regarding']),
  ]
}

function asksEvent(when: When): boolean {
  return eventKeysOf(when).length > 0
}

function onlyEvents(test: KindTest): KindTest {
  return (names) => isEventKind(names) && test(names)
}

/** Nothing controls an Event: who asks for its owner means that of the object that it is about. */
function eventOwnerFaults(when: When): Fault[] {
  const isOfEvents =
    asksEvent(when) || (typeof when.kind === 'string' && /^(Event|events?|ev)$/.test(when.kind))
  if (when.owner === undefined || !isOfEvents) return []
  const hint = `write it under "regarding": { owner: ${JSON.stringify(when.owner)} }`
  return faulty('an Event has no owner', { path: ['owner'], atKey: true, hint }).faults
}

function partsOf(when: When): Part[] {
  const { namespace, namespaceLabels, name, labels, annotations, type } = when
  const { reason, message, owner, regarding, synthesized, age } = when
  return [
    ...(type === undefined ? [] : typeParts(type)),
    ...(namespace === undefined
      ? []
      : [{ ...named('namespace', namespace, (event) => event.namespace), fixed: true as const }]),
    ...(name === undefined
      ? []
      : [{ ...named('name', name, (event) => event.name), ...needs('name', exactTexts(name)) }]),
    ...(synthesized === undefined ? [] : [synthesizedPart(synthesized)]),
    ...(labels === undefined ? [] : [labelsPart(labels)]),
    ...(annotations === undefined ? [] : [annotationsPart(annotations)]),
    ...(age === undefined ? [] : [agePart(age)]),
    ...(reason === undefined
      ? []
      : [
          {
            ...ofEvent('reason', compilePatterns(reason), (event) => event.reason),
            ...needs('reason', exactTexts(reason)),
          },
        ]),
    ...(message === undefined
      ? []
      : [ofEvent('message', compilePatterns(message), (event) => event.message)]),
    ...(namespaceLabels === undefined
      ? []
      : [
          {
            ...labelsOf(['namespaceLabels'], namespaceLabels, (event) => event.namespaceLabels),
            isUnknown: (event: ClusterEvent) => event.namespace !== undefined && !event.namespaceLabels,
          },
        ]),
    ...(owner === undefined ? [] : [ownerPart(['owner'], owner, (event) => event.owners)]),
    ...(regarding === undefined ? [] : regardingParts(regarding)),
  ]
}

function typeParts(type: Patterns): Part[] {
  const types = compileTypes(type)
  if (!types.ok) return [{ path: ['type'], cost: COST.header, test: types }]
  const { change, event } = types.value
  const values = event && (['Normal', 'Warning'] as const).filter((it) => event(it))
  // Who excludes a word lets others pass, too.
  const isOpen = event?.('another') === true
  const parts: (Part | false | undefined)[] = [
    change && {
      path: ['type'],
      cost: COST.header,
      edge: true,
      fixed: true,
      test: compiled((it) => change(it.type)),
      seen: (it) => it.type,
    },
    event && {
      ...ofEvent('type', compiled(event), (it) => it.type),
      ...(!isOpen && needs('type', values)),
    },
  ]
  return parts.filter((part) => part !== undefined && part !== false)
}

function synthesizedPart(wanted: boolean): Part {
  return {
    path: ['synthesized'],
    cost: COST.header,
    edge: true,
    test: compiled((event) => event.synthesized === wanted),
    seen: (event) => event.synthesized,
  }
}

/** A namespace or name, which is never empty. */
function named(key: string, patterns: Patterns, read: (event: ClusterEvent) => string | undefined): Part {
  return {
    path: [key],
    cost: COST.header,
    test: mapped(compileNames(patterns), (test) => (event) => test(read(event))),
    seen: read,
  }
}

function labelsPart(wanted: KeyValues): Part {
  const test = compileKeyValues(wanted)
  const exact = test.ok ? exactKey(wanted) : undefined
  return {
    ...labelsOf(['labels'], wanted, (event) => event.labels),
    cost: COST.labels,
    ...(exact && { needs: { of: 'label', ...exact } }),
  }
}

/** Labels of something around the object; those that are not known are like none. */
function labelsOf(
  path: Part['path'],
  wanted: KeyValues,
  read: (event: ClusterEvent) => Values | undefined,
): Part {
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

function annotationsPart(wanted: KeyValues): Part {
  const test = compileKeyValues(wanted, { anyValue: true })
  const keys = test.ok ? keysOf(wanted) : []
  const read = (event: ClusterEvent) => chosen(keys, (key) => annotationOf(event, key))
  return {
    path: ['annotations'],
    cost: COST.annotations,
    test: mapped(test, (passes) => (event) => passes(read(event))),
    seen: read,
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

function agePart(wanted: Patterns): Part {
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

function ownerPart(
  path: Part['path'],
  patterns: Patterns,
  read: (event: ClusterEvent) => readonly ObjectRef[] | undefined,
): Part {
  return {
    path,
    cost: COST.surroundings,
    test: mapped(compileOwners(patterns), (test) => (event) => test(read(event))),
    seen: (event) => read(event)?.map(({ kind = '', name = '' }) => `${kind}/${name}`),
  }
}

function ofEvent(
  key: string,
  test: Compiled<Test>,
  read: (event: KubeEventView) => string | undefined,
): Part {
  const ask = (test: Test) => (event: ClusterEvent) => test(event.event && read(event.event))
  return {
    path: [key],
    cost: COST.fields,
    test: mapped(test, ask),
    seen: (event) => event.event && read(event.event),
  }
}

function regardingParts({ kind, namespace, name, labels, owner }: Regarding): Part[] {
  const part = (key: keyof Regarding, test: Compiled<(ref: ObjectRef) => boolean>): Part => ({
    path: ['regarding', key],
    cost: COST.fields,
    test: mapped(test, (test) => (event) => event.event !== undefined && test(event.event.regarding)),
    seen: (event) => event.event?.regarding[key as keyof ObjectRef],
  })
  const text = (key: 'namespace' | 'name', patterns: Patterns): Part => ({
    ...part(
      key,
      mapped(compileNames(patterns), (test) => (ref) => test(ref[key])),
    ),
    ...needs(`regarding.${key}`, exactTexts(patterns)),
  })
  const parts: (Part | false | undefined)[] = [
    kind !== undefined &&
      part(
        'kind',
        mapped(compileKinds(kind), (test) => (ref) => test(kindOf(ref))),
      ),
    namespace !== undefined && text('namespace', namespace),
    name !== undefined && text('name', name),
    labels !== undefined && labelsOf(['regarding', 'labels'], labels, (event) => event.regardingLabels),
    owner !== undefined && ownerPart(['regarding', 'owner'], owner, (event) => event.regardingOwners),
  ]
  return parts.filter((part) => part !== undefined && part !== false)
}

function needs(of: Needs['of'], values: readonly string[] | undefined): { needs?: Needs } {
  return values ? { needs: { of, values } } : {}
}

/** Empty text would match nothing, so it is a mistake. */
function compileNames(patterns: Patterns): Compiled<Test> {
  const empty = listOf(patterns).indexOf('')
  if (empty === -1) return compilePatterns(patterns)
  const path = typeof patterns === 'string' ? [] : [empty]
  return faulty('is empty', { path, hint: 'write "!*" for objects without one' })
}

/** A condition as compiled from one key of `when`; `path` leads to what was wrong. */
type Part = Omit<Condition, 'name' | 'path' | 'test'> & {
  path: readonly string[]
  test: Compiled<Condition['test']>
}
