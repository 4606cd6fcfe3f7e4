import { type Patterns, parsePatterns } from '../../rules/pattern.ts'
import type { ConfigDocument } from '../document.ts'
import type { Draft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'
import { kindsReached } from './reach.ts'
import { mayBeEvent, mayMean, titleOf, type WatchedKind, watchedKindOf } from './watched-kind.ts'

const POD = watchedKindOf('Pod') as WatchedKind

/** Rules that ask for logs and certainly match neither Pods nor Events about Pods. */
export function checkLogs(draft: Draft, document: ConfigDocument): Problem[] {
  return draft.rules.flatMap((rule) => {
    const path = ['rules', rule.index, 'logs']
    const logs = document.at(path)
    const kinds = kindsReached(rule, draft) ?? []
    if (!logs?.value || rule.drop === true || kinds.length === 0) return []
    const regarding = rule.sound.regarding?.kind
    const hasLogs = (kind: WatchedKind) => isPod(kind) || (mayBeEvent(kind) && mayBePod(regarding))
    if (kinds.some(hasLogs)) return []
    const isForEvents = kinds.some(mayBeEvent)
    const titles = [...new Set(kinds.map(titleOf))].join(', ')
    const what = isForEvents ? 'Events about other objects' : titles
    const message = `only Pods and Events about Pods have logs, and this rule is for ${what}`
    const hint = isForEvents
      ? 'write regarding: { kind: Pod }, or leave "logs" out'
      : 'write kind: Event with regarding: { kind: Pod }, or leave "logs" out'
    return [document.problem('logs-without-pod', path, message, { atKey: true, hint })]
  })
}

function isPod({ builtIn }: WatchedKind): boolean {
  return builtIn.some(({ kind }) => kind === 'Pod')
}

function mayBePod(patterns: Patterns | undefined): boolean {
  const parsed = patterns === undefined ? undefined : parsePatterns(patterns)
  if (!parsed?.ok) return true
  if (parsed.value.some((it) => it.negated && mayMean(it, POD))) return false
  const positive = parsed.value.filter(({ negated }) => !negated)
  return positive.length === 0 || positive.some((it) => mayMean(it, POD))
}
