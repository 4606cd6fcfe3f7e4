import { askedKeys } from '../rules/asked-keys.ts'
import { doubtsIn } from '../rules/cel/doubts.ts'
import { listOf } from '../rules/schema.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft, RuleDraft } from './draft.ts'
import { withinQuotes } from './fault-problems.ts'
import type { Problem } from './problem.ts'

/** What an `if` asks that is legal and hardly meant. */
export function checkDoubtfulIfs({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap((rule) => {
    if (rule.if === undefined) return []
    const located = document.at(['rules', rule.index, 'if'])
    return doubtsIn(rule.if, { added: seesAdded(rule), keys: keysOf(rule) }).map(
      ({ path, message, hint, ...rest }) =>
        document.problem(['rules', rule.index, ...path], message, {
          ...rest,
          hint: withinQuotes(hint, located),
          severity: 'warning',
        }),
    )
  })
}

function keysOf({ sound }: RuleDraft) {
  return {
    'event.namespaceLabels': askedKeys(sound.namespaceLabels),
    'event.regarding.labels': askedKeys(sound.regarding?.labels),
  }
}

/** Errors count as met with `onError: deliver`; what asks for a change sees no new object. */
function seesAdded({ when, changed, from, onError }: RuleDraft): boolean {
  if (changed || from || onError === 'deliver') return false
  const types = when.type === undefined ? [] : listOf(when.type)
  if (types.includes('!ADDED')) return false
  const changes = types.filter((it) => ['ADDED', 'MODIFIED', 'DELETED'].includes(it))
  return changes.length === 0 || changes.includes('ADDED')
}
