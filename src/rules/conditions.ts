import type { ClusterEvent, KubeEvent, ObjectRef } from '../event.ts'
import { COST, type Condition, type PartMaker } from './condition.ts'
import { type Compiled, compiled, faulty, mapped, under } from './fault.ts'
import { compileKeyValues } from './key-values.ts'
import { compileKinds, isEventKind, type KindNames, type KindTest, pluralOf } from './kind.ts'
import { compilePatterns, type Test } from './pattern.ts'
import { listOf, type Patterns, type Regarding, type When } from './schema.ts'
import { compileTypes } from './types.ts'

/** A condition as compiled from one key of `when`; `path` leads to what was wrong. */
interface Part {
  path: readonly string[]
  cost: number
  edge?: boolean
  test: Compiled<Condition['test']>
}

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
  for (const { path, cost, edge, test } of partsOf(when)) {
    if (test.ok)
      conditions.push({
        name: path.join('.'),
        path: ['when', ...path],
        cost,
        ...(edge && { edge }),
        test: test.value,
      })
    else faults.push(...under(path, test.faults))
  }
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

function partsOf(when: When): Part[] {
  const { namespace, name, labels, annotations, type, reason, message, regarding } = when
  const parts: (Part | false)[] = [
    namespace !== undefined && named('namespace', namespace, (event) => event.namespace),
    name !== undefined && named('name', name, (event) => event.name),
    labels !== undefined && {
      path: ['labels'],
      cost: COST.labels,
      test: mapped(compileKeyValues(labels), (test) => (event) => test(event.labels)),
    },
    annotations !== undefined && {
      path: ['annotations'],
      cost: COST.annotations,
      test: mapped(
        compileKeyValues(annotations, { anyValue: true }),
        (test) => (event) => test(event.annotations),
      ),
    },
    reason !== undefined && ofEvent('reason', compilePatterns(reason), (event) => event.reason),
    message !== undefined && ofEvent('message', compilePatterns(message), (event) => event.message),
  ]
  return [
    ...(type === undefined ? [] : typeParts(type)),
    ...parts.filter((part) => part !== false),
    ...(regarding === undefined ? [] : regardingParts(regarding)),
  ]
}

function typeParts(type: Patterns): Part[] {
  const types = compileTypes(type)
  if (!types.ok) return [{ path: ['type'], cost: COST.header, test: types }]
  const { change, event } = types.value
  return [
    ...(change
      ? [
          {
            path: ['type'],
            cost: COST.header,
            edge: true,
            test: compiled((it: ClusterEvent) => change(it.type)),
          },
        ]
      : []),
    ...(event ? [ofEvent('type', compiled(event), (it) => it.type)] : []),
  ]
}

/** A namespace or name, which is never empty. */
function named(key: string, patterns: Patterns, read: (event: ClusterEvent) => string | undefined): Part {
  return {
    path: [key],
    cost: COST.header,
    test: mapped(compileNames(patterns), (test) => (event) => test(read(event))),
  }
}

function ofEvent(key: string, test: Compiled<Test>, read: (event: KubeEvent) => string | undefined): Part {
  const ask = (test: Test) => (event: ClusterEvent) => test(event.event && read(event.event))
  return { path: [key], cost: COST.fields, test: mapped(test, ask) }
}

function regardingParts({ kind, namespace, name }: Regarding): Part[] {
  const part = (key: keyof Regarding, test: Compiled<(ref: ObjectRef) => boolean>): Part => ({
    path: ['regarding', key],
    cost: COST.fields,
    test: mapped(test, (test) => (event) => event.event !== undefined && test(event.event.regarding)),
  })
  const text = (key: 'namespace' | 'name', patterns: Patterns) =>
    part(
      key,
      mapped(compileNames(patterns), (test) => (ref) => test(ref[key])),
    )
  return [
    ...(kind === undefined
      ? []
      : [
          part(
            'kind',
            mapped(compileKinds(kind), (test) => (ref) => test(kindOf(ref))),
          ),
        ]),
    ...(namespace === undefined ? [] : [text('namespace', namespace)]),
    ...(name === undefined ? [] : [text('name', name)]),
  ]
}

/** Empty text would match nothing, so it is a mistake. */
function compileNames(patterns: Patterns): Compiled<Test> {
  const empty = listOf(patterns).indexOf('')
  if (empty === -1) return compilePatterns(patterns)
  const path = typeof patterns === 'string' ? [] : [empty]
  return faulty('is empty', { path, hint: 'write "!*" for objects without one' })
}

function kindOf({ apiVersion = '', kind = '' }: ObjectRef): KindNames {
  const slash = apiVersion.indexOf('/')
  const group = slash === -1 ? '' : apiVersion.slice(0, slash)
  return { group, version: apiVersion.slice(slash + 1), kind, plural: pluralOf(kind) }
}
