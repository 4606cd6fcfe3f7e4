import { parsePatterns } from '../../rules/pattern.ts'
import { compileSelector } from '../../rules/selector.ts'
import type { ConfigDocument } from '../document.ts'
import type { Draft, WatchDraft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'
import { faultProblems } from './fault-problems.ts'
import { namespaceFaults, namespacesMeet } from './namespaces.ts'
import { isClusterScoped, likelyTypo, titleOf, versionOf, watchedKindOf } from './watched-kind.ts'

/** Checks the entries of `watch`: their kinds, their selectors, and that no object is selected by two of them. */
export function checkWatch({ watch }: Draft, document: ConfigDocument): Problem[] {
  const known = watch.map((entry) => ({ ...entry, identity: identityOf(entry), storage: storageOf(entry) }))
  return known.flatMap((entry, at) => [
    ...checkKind(entry, document),
    ...checkSelection(entry, document),
    ...(entry.complete ? checkRepeat(entry, known.slice(0, at), document) : []),
  ])
}

interface KnownEntry extends WatchDraft {
  /** The same for entries that select the same objects. */
  identity: string
  /** The same for all spellings of a kind. */
  storage: string
}

function checkKind({ index, kind, namespaces }: WatchDraft, document: ConfigDocument): Problem[] {
  if (kind === undefined) return []
  const path = ['watch', index]
  const kindPath = document.at([...path, 'kind']) ? [...path, 'kind'] : path
  const written = document.at(kindPath)?.written
  const watched = watchedKindOf(kind)
  if (!watched) {
    const message =
      written === undefined ? `"${kind}" is not a kind` : `the value of ${written} is not a kind`
    const hint = /[*?!,]/.test(kind)
      ? 'an entry watches one kind; patterns and lists are for rules'
      : 'write it as Deployment, deployments.apps or apps/v1/Deployment'
    return [document.problem('invalid-kind', kindPath, message, { hint })]
  }
  if (namespaces && isClusterScoped(watched)) {
    const message = `${titleOf(watched)} objects are in no namespace`
    const placing = { atKey: true, hint: 'leave "namespaces" out' }
    return [document.problem('namespace-of-cluster-kind', [...path, 'namespaces'], message, placing)]
  }
  const typo = likelyTypo(watched)
  if (typo === undefined || written !== undefined) return []
  const hint = `did you mean "${typo}"? A custom resource is waited for until it is installed`
  const message = `no cluster has a built-in kind ${kind}`
  return [document.problem('unknown-kind', kindPath, message, { hint, severity: 'warning' })]
}

function checkSelection(
  { index, namespaces, labels, fields }: WatchDraft,
  document: ConfigDocument,
): Problem[] {
  const path = ['watch', index]
  const selector = labels === undefined ? undefined : compileSelector(labels)
  const fieldFault = fields === undefined ? undefined : fieldSelectorFault(fields)
  const isList = document.at([...path, 'namespaces'])?.items !== undefined
  const patterns = isList ? (namespaces ?? []) : (namespaces?.[0] ?? [])
  const parsed = parsePatterns(typeof patterns === 'string' ? patterns : [...patterns])
  const faults = parsed.ok
    ? namespaceFaults(typeof patterns === 'string' ? patterns : [...patterns])
    : parsed.faults
  return [
    ...faultProblems(faults, [...path, 'namespaces'], document),
    ...(selector && !selector.ok ? faultProblems(selector.faults, [...path, 'labels'], document) : []),
    ...(fieldFault ? faultProblems([{ path: [], ...fieldFault }], [...path, 'fields'], document) : []),
  ]
}

/** Two entries of one kind may only select different namespaces: an object must not be observed twice. */
function checkRepeat(entry: KnownEntry, earlier: readonly KnownEntry[], document: ConfigDocument): Problem[] {
  const { index, kind = '', namespaces } = entry
  const path = ['watch', index]
  const same = earlier.find((it) => it.complete && it.identity === entry.identity)
  if (same) {
    const hint = `also ${placeOf(same, entry, document)}: leave one out`
    return [document.problem('watched-twice', path, `${kind} is watched twice`, { hint })]
  }
  const other = earlier.find(
    (it) => it.complete && it.storage === entry.storage && namespacesMeet(it.namespaces, namespaces),
  )
  if (!other) return []
  const place = placeOf(other, entry, document)
  if (selectorsOf(other) !== selectorsOf(entry)) {
    const hint = `also ${place}: make them one, without selectors, and select by "when" of rules`
    const message = `${kind} is watched twice, with different selectors: an object would be observed twice`
    return [document.problem('watched-twice', path, message, { hint })]
  }
  if ((other.namespaces === undefined) === (namespaces === undefined)) return []
  const message = `${kind} is watched twice: all namespaces, and some of them again`
  const hint = `also ${place}: leave the one with "namespaces" out`
  return [document.problem('watched-twice', path, message, { hint, severity: 'warning' })]
}

/** Returns where an entry is: its line, or its column if both are on one line. */
function placeOf({ index }: WatchDraft, seenFrom: WatchDraft, document: ConfigDocument): string {
  const [path, from] = [
    ['watch', index],
    ['watch', seenFrom.index],
  ]
  const [there, here] = [document.place(path), document.place(from)]
  const isSameLine = there.file === here.file && there.line === here.line
  return isSameLine ? `at ${there.line}:${there.column}` : `in ${document.lineName(path, from)}`
}

function selectorsOf({ labels = '', fields = '' }: WatchDraft): string {
  return JSON.stringify([labels.trim(), fields.trim()])
}

/** Events have two groups, and are the same objects. */
function storageOf({ kind = '' }: WatchDraft): string {
  const builtIn = watchedKindOf(kind)?.builtIn[0]
  if (!builtIn) return kind.toLowerCase()
  return builtIn.plural === 'events' ? builtIn.plural : `${builtIn.plural}.${builtIn.group}`
}

function identityOf({ kind = '', namespaces, labels, fields }: WatchDraft): string {
  const watched = watchedKindOf(kind)
  const builtIn = watched?.builtIn[0]
  const name = builtIn ? [builtIn.plural, builtIn.group, versionOf(watched) ?? 'v1'] : kind.toLowerCase()
  return JSON.stringify([name, namespaces && [...namespaces].sort(), labels?.trim(), fields?.trim()])
}

/** Returns what is wrong with a field selector such as `status.phase!=Running,spec.nodeName=a` (apimachinery `fields.ParseSelector`). */
export function fieldSelectorFault(
  text: string,
): { message: string; offset: number; length: number } | undefined {
  let offset = 0
  for (const term of fieldTermsOf(text)) {
    const place = { offset, length: Math.max(term.length, 1) }
    const operator = /(?<!\\)(!=|==?)/.exec(term)
    if (!operator)
      return { message: `"${term.trim()}" compares nothing: write field=value or field!=value`, ...place }
    if (operator.index === 0 || term.slice(0, operator.index).trim() === '')
      return { message: `a field is missing before "${operator[0]}"`, ...place }
    offset += term.length + 1
  }
  return undefined
}

/** Returns the terms of a field selector, which is split at commas that no backslash escapes. */
export function fieldTermsOf(text: string): string[] {
  return text.split(/(?<=(?<!\\)(?:\\\\)*),/).map((term) => term.replace(/,$/, ''))
}
