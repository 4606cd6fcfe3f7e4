import type { ClusterEvent } from '../model/event.ts'
import { compileTypes } from './change-values.ts'
import { COST, type Condition, type ConditionCompiler } from './condition.ts'
import { compiled } from './fault.ts'
import { compileKinds, isEventKind } from './kind.ts'
import type { Rule } from './schema.ts'

/**
 * The API server deletes an Event an hour after it last happened (its flag `--event-ttl`). This is no news to those who asked for the
 * Event, and would begin incidents that are over: a rule with `to` matches it only if its `type` names changes.
 */
export const expiryConditions: ConditionCompiler = (rule) =>
  compiled({ conditions: rule.to !== undefined && changesOf(rule) === undefined ? [NOT_EXPIRED] : [] })

const NOT_EXPIRED: Condition = {
  name: 'type',
  path: ['when', 'type'],
  cost: COST.header,
  edge: true,
  fixed: true,
  implied: 'ADDED or MODIFIED: an Event that expires only matches where "type" names DELETED',
  test: ({ type, resource }: ClusterEvent) => type !== 'DELETED' || !isEventKind(resource),
  seen: ({ type }) => type,
}

/** Returns true if a rule can match an Event that expires. */
export function matchesExpiry(rule: Pick<Rule, 'when' | 'to'>): boolean {
  const changes = changesOf(rule)
  if (changes ? !changes('DELETED') : rule.to !== undefined) return false
  const kinds = rule.when?.kind === undefined ? undefined : compileKinds(rule.when.kind)
  return !kinds?.ok || EVENTS.some((it) => kinds.value(it))
}

const EVENTS = ['', 'events.k8s.io'].map((group) => ({
  group,
  version: 'v1',
  kind: 'Event',
  plural: 'events',
}))

/** The test of the types of changes that a rule names; undefined if it names none. */
function changesOf({ when }: Pick<Rule, 'when'>) {
  const types = when?.type === undefined ? undefined : compileTypes(when.type)
  return types?.ok ? types.value.change : undefined
}
