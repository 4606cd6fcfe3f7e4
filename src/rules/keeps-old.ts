import type { Resource } from '../event.ts'
import { asksOld } from './asks-old.ts'
import { compileWhen } from './conditions.ts'
import { isEventKind, type KindTest } from './kind.ts'
import type { Rule } from './schema.ts'
import { compileTypes } from './types.ts'

/**
 * Of which resources old objects are worth keeping: those of which a rule asks what was before a change, or may send a change
 * or a deletion to a sink that tells people what changed. Never of Events, which say themselves what happened. The rules were
 * checked before.
 */
export function keepsOld<R extends Omit<Rule, 'name'>>(
  rules: readonly R[],
  tellsChanges: (rule: R) => boolean,
): (resource: Resource) => boolean {
  return keptFor(rules.map((rule) => keptByRule(rule, tellsChanges)))
}

/** The objects that one rule wants to have kept. */
export function keptByRule<R extends Omit<Rule, 'name'>>(
  rule: R,
  tellsChanges: (rule: R) => boolean,
): KindTest {
  return asksOld(rule) || (!rule.drop && tellsChanges(rule)) ? kindsThatChange(rule.when ?? {}) : NONE
}

/** Those that one of the rules wants. */
export function keptFor(wanted: readonly KindTest[]): (resource: Resource) => boolean {
  const tests = wanted.filter((it) => it !== NONE)
  return (resource) => !isEventKind(resource) && tests.some((ofKind) => ofKind(resource))
}

const NONE: KindTest = () => false

function kindsThatChange(when: NonNullable<Rule['when']>): KindTest {
  const compiled = compileWhen(when)
  const types = when.type === undefined ? undefined : compileTypes(when.type)
  if (!compiled.ok || types?.ok === false) return NONE
  const { change } = types?.value ?? {}
  return !change || change('MODIFIED') || change('DELETED') ? compiled.value.ofKind : NONE
}
