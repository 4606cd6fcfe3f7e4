import type { ClusterEvent, KubeEventView, ObjectRef } from '../event.ts'
import { COST, type WhenCondition } from './condition.ts'
import { exactTexts } from './exact.ts'
import { type Compiled, compiled, mapped } from './fault.ts'
import { compileKinds, kindOf } from './kind.ts'
import { compileNames, labelsOf, needs, ownerPart } from './object-conditions.ts'
import { compilePatterns, type Test } from './pattern.ts'
import { listOf, type Patterns, type Regarding, type When } from './schema.ts'
import { compileTypes } from './types.ts'

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

/** One for words of changes, one for words of Events. */
export function typeParts(type: Patterns): WhenCondition[] {
  const types = compileTypes(type)
  if (!types.ok) return [{ path: ['type'], cost: COST.header, test: types }]
  const { change, event } = types.value
  const values = event && (['Normal', 'Warning'] as const).filter((it) => event(it))
  // Who excludes a word lets others pass, too.
  const isOpen = event?.('another') === true
  const parts: (WhenCondition | false | undefined)[] = [
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

export function reasonPart(reason: Patterns): WhenCondition {
  return {
    ...ofEvent('reason', compilePatterns(reason), (event) => event.reason),
    ...needs('reason', exactTexts(reason)),
  }
}

export function messagePart(message: Patterns): WhenCondition {
  return ofEvent('message', compilePatterns(message), (event) => event.message)
}

function ofEvent(
  key: string,
  test: Compiled<Test>,
  read: (event: KubeEventView) => string | undefined,
): WhenCondition {
  const ask = (test: Test) => (event: ClusterEvent) => test(event.event && read(event.event))
  return {
    path: [key],
    cost: COST.fields,
    test: mapped(test, ask),
    seen: (event) => event.event && read(event.event),
  }
}

export function regardingParts({ kind, namespace, name, labels, owner }: Regarding): WhenCondition[] {
  const part = (key: keyof Regarding, test: Compiled<(ref: ObjectRef) => boolean>): WhenCondition => ({
    path: ['regarding', key],
    cost: COST.fields,
    test: mapped(test, (test) => (event) => event.event !== undefined && test(event.event.regarding)),
    seen: (event) => event.event?.regarding[key as keyof ObjectRef],
  })
  const text = (key: 'namespace' | 'name', patterns: Patterns): WhenCondition => ({
    ...part(
      key,
      mapped(compileNames(patterns), (test) => (ref) => test(ref[key])),
    ),
    ...needs(`regarding.${key}`, exactTexts(patterns)),
  })
  const parts: (WhenCondition | false | undefined)[] = [
    kind !== undefined &&
      part(
        'kind',
        mapped(compileKinds(kind), (test) => (ref) => test(kindOf(ref))),
      ),
    namespace !== undefined && text('namespace', namespace),
    name !== undefined && text('name', name),
    labels !== undefined && {
      ...labelsOf(['regarding', 'labels'], labels, (event) => event.regardingLabels),
      isUnknown: (event: ClusterEvent) => !event.regardingLabels,
    },
    owner !== undefined && ownerPart(['regarding', 'owner'], owner, (event) => event.regardingOwners),
  ]
  return parts.filter((part) => part !== undefined && part !== false)
}
