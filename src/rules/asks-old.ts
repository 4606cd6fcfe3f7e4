import { mentionsOld } from './cel/part.ts'
import type { Rule } from './schema.ts'

/** Does a rule look at the object as it was before a change? The rules were checked before. */
export function asksOld(rule: Omit<Rule, 'name'>): boolean {
  const keys = ['changed', 'unchanged', 'from', 'to-state', 'condition'] as const
  return keys.some((key) => rule[key] !== undefined) || (rule.if !== undefined && mentionsOld(rule.if))
}
