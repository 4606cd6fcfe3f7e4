import { type CheckedRule, checkLimits, type MatchedKinds } from '../limits/check-limits.ts'
import { LimitKeysShape } from '../limits/schema.ts'
import { isEventKind } from '../rules/kind.ts'
import { kindsReached } from './check-reach.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft, RuleDraft } from './draft.ts'
import { nameOf } from './issues.ts'
import { isMap } from './plain-data.ts'
import type { Problem } from './problem.ts'
import { mayBeEvent } from './watched-kind.ts'

/** Limits of rules that do not go together, or not with what the rule matches. */
export function checkLimitKeys(draft: Draft, document: ConfigDocument): Problem[] {
  return draft.rules.flatMap((rule) => {
    const path = ['rules', rule.index]
    const written = document.at(path)?.value
    if (typeof written !== 'object' || written === null || Array.isArray(written)) return []
    const checked = { ...written, ...limitsIn(written as Record<string, unknown>), drop: rule.drop }
    return checkLimits(checked, matchedKinds(rule, draft)).map(({ path: rest, message, ...placing }) => {
      const full = [...path, ...rest]
      const place = document.at(full) ? full : path
      const sentence = /^(is|has|must)\b/.test(message) ? `${nameOf(full)} ${message}` : message
      return document.problem(place, sentence, placing)
    })
  })
}

/** Those that are right by themselves; the others are told by the schema. */
function limitsIn(written: Readonly<Record<string, unknown>>): CheckedRule {
  const { condition } = written
  const hold = isMap(condition) ? LimitKeysShape.for.safeParse(condition['for']) : undefined
  const found: Record<string, unknown> = {
    condition: isMap(condition) ? { ...condition, for: hold?.data } : condition,
  }
  for (const [key, schema] of Object.entries(LimitKeysShape)) found[key] = schema.safeParse(written[key]).data
  return found as CheckedRule
}

/** Undefined when the rule is known to match nothing, or nobody knows what: then that is told. */
function matchedKinds(rule: RuleDraft, draft: Draft): MatchedKinds | undefined {
  const kinds = kindsReached(rule, draft)
  if (!kinds || kinds.length === 0) return undefined
  return {
    events: kinds.some((kind) => kind.builtIn.length > 0 && mayBeEvent(kind)),
    others: kinds.some(({ builtIn }) => builtIn.length === 0 || !builtIn.every(isEventKind)),
  }
}
