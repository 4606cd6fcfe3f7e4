import { parsePatterns } from '../rules/pattern.ts'
import { compileSelector } from '../rules/selector.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { Draft, WatchDraft } from './draft.ts'
import { faultProblems } from './fault-problems.ts'
import { fieldSelectorFault } from './field-selector.ts'
import { namespaceFaults, namespacesMeet } from './namespaces.ts'
import type { Problem } from './problem.ts'
import { isClusterScoped, likelyTypo, titleOf, versionOf, watchedKindOf } from './watched-kind.ts'

/** What no schema sees in `watch`. */
export function checkWatch({ watch }: Draft, document: ConfigDocument): Problem[] {
  const first = new Map<string, number>()
  return watch.flatMap((entry) => [
    ...checkKind(entry, document),
    ...checkSelection(entry, document),
    ...checkRepeat(entry, first, document),
    ...checkOverlap(entry, watch, document),
  ])
}

function checkKind({ index, kind, namespaces }: WatchDraft, document: ConfigDocument): Problem[] {
  if (kind === undefined) return []
  const path = ['watch', index]
  const kindPath = document.at([...path, 'kind']) ? [...path, 'kind'] : path
  const watched = watchedKindOf(kind)
  if (!watched) return [noKind(kind, kindPath, document)]
  if (namespaces && isClusterScoped(watched)) {
    const message = `${titleOf(watched)} objects are in no namespace`
    return [
      document.problem([...path, 'namespaces'], message, { atKey: true, hint: 'leave "namespaces" out' }),
    ]
  }
  const meant = likelyTypo(watched)
  if (meant === undefined || document.at(kindPath)?.written !== undefined) return []
  const hint = `did you mean "${meant}"? A custom resource is waited for until it is installed`
  return [document.problem(kindPath, `no cluster has a built-in kind ${kind}`, { hint, severity: 'warning' })]
}

function checkSelection(
  { index, namespaces, labels, fields }: WatchDraft,
  document: ConfigDocument,
): Problem[] {
  const path = ['watch', index]
  const selector = labels === undefined ? undefined : compileSelector(labels)
  const fieldFault = fields === undefined ? undefined : fieldSelectorFault(fields)
  return [
    ...(namespaces ? checkNamespaces(namespaces, [...path, 'namespaces'], document) : []),
    ...(selector && !selector.ok ? faultProblems(selector.faults, [...path, 'labels'], document) : []),
    ...(fieldFault ? faultProblems([{ path: [], ...fieldFault }], [...path, 'fields'], document) : []),
  ]
}

function checkRepeat(entry: WatchDraft, first: Map<string, number>, document: ConfigDocument): Problem[] {
  if (!entry.complete) return []
  const identity = identityOf(entry)
  const same = first.get(identity)
  if (same === undefined) {
    first.set(identity, entry.index)
    return []
  }
  const hint = `also ${placeWords(['watch', same], ['watch', entry.index], document)}: leave one out`
  return [document.problem(['watch', entry.index], `${entry.kind} is watched twice`, { hint })]
}

/** One object is seen once: entries of one kind that select differently must not meet; those that select alike are one. */
function checkOverlap(entry: WatchDraft, watch: readonly WatchDraft[], document: ConfigDocument): Problem[] {
  const { index, kind = '', namespaces, complete } = entry
  const earlier = watch
    .slice(0, watch.indexOf(entry))
    .filter((it) => it.complete && identityOf(it) !== identityOf(entry))
  const other = complete
    ? earlier.find((it) => storageOf(it) === storageOf(entry) && namespacesMeet(it.namespaces, namespaces))
    : undefined
  if (!other) return []
  const place = placeWords(['watch', other.index], ['watch', index], document)
  if (selectorsOf(other) !== selectorsOf(entry)) {
    const hint = `also ${place}: ${joiningHint(entry, other, document)}`
    const message = `${kind} is watched twice, with different selectors: an object would be seen twice`
    return [document.problem(['watch', index], message, { hint })]
  }
  const line = place.replace(/^in /, '').replace(/^at/, 'the one at')
  if ((other.namespaces === undefined) === (namespaces === undefined)) return []
  const [wide, narrow] = other.namespaces ? ['this', line] : [line, 'this']
  return [
    document.problem(['watch', index], `${kind} is watched twice: all namespaces, and some of them again`, {
      hint: `${wide} is enough: leave ${narrow} out`,
      severity: 'warning',
    }),
  ]
}

/** Where an entry stands, as seen from another: in which line, or at which column of the same one. */
function placeWords(path: Path, seenFrom: Path, document: ConfigDocument): string {
  const [there, here] = [document.problem(path, ''), document.problem(seenFrom, '')]
  const isSameLine = there.file === here.file && there.line === here.line
  return isSameLine ? `at ${there.line}:${there.column}` : `in ${document.lineWords(path, seenFrom)}`
}

/** What to make of two entries, and what is read then. */
function joiningHint(entry: WatchDraft, other: WatchDraft, document: ConfigDocument): string {
  const parts = [entry, other].filter(isPart)
  const [part] = parts
  if (parts.length === 1 && part) {
    const asked = [part.labels, part.fields].filter((it) => it !== undefined).join(' and ')
    const [wide, narrow] = [part === entry ? other : entry, part].map((it) => written(it, document))
    if (wide !== undefined && narrow !== undefined)
      return `keep only ${wide} to read all of them, or only ${narrow} to read those with ${asked} alone`
    const [all, some] = part === entry ? ['this', 'that'] : ['that', 'this']
    return `leave ${all} one out to read all of them, or ${some} one to read those with ${asked} alone`
  }
  const [one, two] = [entry, other].map(({ labels = '' }) => /^\s*([\w./-]+)==?([\w.-]+)\s*$/.exec(labels))
  const isSame = (key: 'fields' | 'namespaces') => JSON.stringify(entry[key]) === JSON.stringify(other[key])
  if (one && two && one[1] === two[1] && isSame('fields') && isSame('namespaces'))
    return `make them one: labels: "${one[1]} in (${two[2]}, ${one[2]})"`
  return 'make them one, without selectors, and select by "when" of rules'
}

/** An entry as it stands in the file, when it is short. */
function written({ index }: WatchDraft, document: ConfigDocument): string | undefined {
  const found = document.at(['watch', index])
  if (!found || found.written !== undefined || found.secrets.length > 0) return undefined
  const text = found.file.text.slice(found.start, found.end)
  return /^(\{.{1,80}\}|[\w./]{1,80})$/.test(text) ? text : undefined
}

function isPart({ labels, fields }: WatchDraft): boolean {
  return labels !== undefined || fields !== undefined
}

function selectorsOf({ labels = '', fields = '' }: WatchDraft): string {
  return JSON.stringify([labels.trim(), fields.trim()])
}

/** The same for all spellings of a kind, as far as it is known without a cluster. Events have two groups, and are the same ones. */
function storage({ kind = '' }: WatchDraft): string {
  const builtIn = watchedKindOf(kind)?.builtIn[0]
  if (!builtIn) return kind.toLowerCase()
  return builtIn.plural === 'events' ? builtIn.plural : `${builtIn.plural}.${builtIn.group}`
}

function noKind(kind: string, path: Path, document: ConfigDocument): Problem {
  const written = document.at(path)?.written
  const message = written === undefined ? `"${kind}" is no kind` : `what ${written} stands for is no kind`
  const hint = /[*?!,]/.test(kind)
    ? 'an entry watches one kind; patterns and lists are for rules'
    : 'write it as Deployment, deployments.apps or apps/v1/Deployment'
  return document.problem(path, message, { hint })
}

function checkNamespaces(namespaces: readonly string[], path: Path, document: ConfigDocument): Problem[] {
  const isList = document.at(path)?.items !== undefined
  const patterns = isList ? [...namespaces] : (namespaces[0] ?? '')
  const parsed = parsePatterns(patterns)
  return faultProblems(parsed.ok ? namespaceFaults(patterns) : parsed.faults, path, document)
}

/** Each entry is compared with all before it. */
function once(of: (entry: WatchDraft) => string): (entry: WatchDraft) => string {
  const known = new WeakMap<WatchDraft, string>()
  return (entry) => {
    const found = known.get(entry) ?? of(entry)
    known.set(entry, found)
    return found
  }
}

const storageOf = once(storage)
const identityOf = once(identity)

/** Entries that are the same when written out in full. */
function identity({ kind = '', namespaces, labels, fields }: WatchDraft): string {
  const watched = watchedKindOf(kind)
  const builtIn = watched?.builtIn[0]
  const name = builtIn ? [builtIn.plural, builtIn.group, versionOf(watched) ?? 'v1'] : kind.toLowerCase()
  return JSON.stringify([name, namespaces && [...namespaces].sort(), labels?.trim(), fields?.trim()])
}
