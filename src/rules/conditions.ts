import type { ClusterEvent } from '../event.ts'
import type { Condition, PartMaker, WhenCondition } from './condition.ts'
import { eventKeysOf, messagePart, reasonPart, regardingParts, typeParts } from './event-conditions.ts'
import { type Compiled, compiled, type Fault, faulty, under } from './fault.ts'
import { compileKinds, isEventKind, type KindTest } from './kind.ts'
import {
  agePart,
  annotationsPart,
  labelsOf,
  labelsPart,
  namePart,
  namespacePart,
  ownerPart,
  synthesizedPart,
} from './object-conditions.ts'
import { listOf, type Patterns, type When } from './schema.ts'

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
  const asked = `owner: ${ownerWritten(when.owner)}`
  const hint = when.regarding ? `move it into "regarding": ${asked}` : `write regarding: { ${asked} }`
  return faulty('an Event has no owner', { path: ['owner'], atKey: true, hint }).faults
}

/** As it can stand inside `{ }`. */
function ownerWritten(owner: Patterns): string {
  const texts = listOf(owner).map((it) => (/^[\w/][\w/.*-]*$/.test(it) ? it : JSON.stringify(it)))
  return typeof owner === 'string' ? (texts[0] ?? '') : `[${texts.join(', ')}]`
}

function partsOf(when: When): WhenCondition[] {
  const { namespace, namespaceLabels, name, labels, annotations, type } = when
  const { reason, message, owner, regarding, synthesized, age } = when
  return [
    ...(type === undefined ? [] : typeParts(type)),
    namespace !== undefined && namespacePart(namespace),
    name !== undefined && namePart(name),
    synthesized !== undefined && synthesizedPart(synthesized),
    labels !== undefined && labelsPart(labels),
    annotations !== undefined && annotationsPart(annotations),
    age !== undefined && agePart(age),
    reason !== undefined && reasonPart(reason),
    message !== undefined && messagePart(message),
    namespaceLabels !== undefined && {
      ...labelsOf(['namespaceLabels'], namespaceLabels, (event) => event.namespaceLabels),
      isUnknown: (event: ClusterEvent) => event.namespace !== undefined && !event.namespaceLabels,
    },
    owner !== undefined && ownerPart(['owner'], owner, (event) => event.owners),
    ...(regarding === undefined ? [] : regardingParts(regarding)),
  ].filter((part) => part !== false)
}
