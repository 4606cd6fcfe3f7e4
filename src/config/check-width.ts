import { parsePatterns } from '../rules/pattern.ts'
import { rulesByWatch } from './check-reach.ts'
import type { ConfigDocument } from './document.ts'
import { type Draft, draftOf, type RuleDraft, type WatchDraft } from './draft.ts'
import { namespacesMeet } from './namespaces.ts'
import type { Problem } from './problem.ts'
import { titleOf, watchedKindOf } from './watched-kind.ts'

/** Kinds of which a cluster has many, or that change all the time. */
const MANY = new Set(['Pod', 'Event', 'EndpointSlice', 'Endpoints', 'Lease', 'ReplicaSet', 'Job'])

/**
 * Watches that read a whole cluster for rules that want a part of it, which the API server could pick. Advice, and no mistake:
 * only `check` gives it.
 */
export function checkWidth(document: ConfigDocument): Problem[] {
  const root = document.at([])
  return root?.entries ? checkDraft(draftOf(root), document) : []
}

function checkDraft(draft: Draft, document: ConfigDocument): Problem[] {
  const byWatch = rulesByWatch(draft)
  if (!byWatch || draft.rules.some(({ complete }) => !complete)) return []
  return draft.watch.flatMap((entry) => {
    const kind = watchedKindOf(entry.kind ?? '')
    const title = kind && titleOf(kind)
    if (!title || !MANY.has(title)) return []
    const all = byWatch.get(entry.index) ?? []
    const rules = all.filter(({ drop }) => drop !== true)
    const drops = all.filter(({ drop }) => drop === true)
    const narrower = rules.length === 0 ? undefined : selectionFor(entry, rules, drops, document)
    if (narrower === undefined) return []
    const message = `all ${title} objects of the cluster are read, and the rules ask for a part of them`
    const hint = `write { kind: ${entry.kind}, ${narrower} }`
    return [document.problem(['watch', entry.index], message, { hint, severity: 'warning' })]
  })
}

/** What to select by; undefined when the entry does, or a rule wants more. */
function selectionFor(
  { index, namespaces, labels, fields }: WatchDraft,
  rules: readonly RuleDraft[],
  drops: readonly RuleDraft[],
  document: ConfigDocument,
): string | undefined {
  if (namespaces || labels !== undefined || fields !== undefined) return undefined
  const names = rules.map(({ sound }) => exactNames(sound.namespace))
  if (names.every((it) => it !== undefined)) {
    const all = [...new Set(names.flat())].toSorted()
    const [variable, ...others] = new Set(rules.map((rule) => variableOf(rule, document, index)))
    // With fewer namespaces a rule that drops must not be one for which nothing is watched.
    if (all.length <= MOST_NAMES && drops.every(({ sound }) => namespacesMeet(sound.namespace, all)))
      return `namespaces: ${others.length === 0 && variable ? `"${variable}"` : `[${all.join(', ')}]`}`
  }
  const [first, ...rest] = rules.map(({ sound }) => sound.labels)
  const isSame = typeof first === 'string' && rest.every((it) => it === first)
  return isSame ? `labels: "${first}"` : undefined
}

/** The variable that a rule's namespaces come from, when it stands in the file of the watch. */
function variableOf({ index }: RuleDraft, document: ConfigDocument, watch: number): string | undefined {
  const found = document.at(['rules', index, 'when', 'namespace'])
  if (!found || found.file !== document.at(['watch', watch])?.file) return undefined
  return /^["']?(\$\{var:[^}]+\})["']?$/.exec(found.file.text.slice(found.start, found.end))?.[1]
}

/** Each is a watch of its own. */
const MOST_NAMES = 20

/** Names that the API server can pick: a glob, or a "!", is looked for here. */
function exactNames(patterns: RuleDraft['when']['namespace']): string[] | undefined {
  const parsed = patterns === undefined ? undefined : parsePatterns(patterns)
  if (!parsed?.ok || !parsed.value.every(({ form, negated }) => form === 'literal' && !negated))
    return undefined
  return parsed.value.map(({ text }) => text)
}
