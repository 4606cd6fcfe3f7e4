import {
  type BuiltInKind,
  builtInKinds,
  isEventKind,
  kindTest,
  parseSpelling,
  pluralOf,
  type Spelling,
} from '../../rules/kind.ts'
import type { Pattern } from '../../rules/pattern.ts'
import { nearest } from '../../text/closest-match.ts'

/** What is known of a watched kind without a cluster. */
export interface WatchedKind {
  /** As written. */
  text: string
  spelling: Spelling
  /** Empty for custom resources. */
  builtIn: readonly BuiltInKind[]
  /** A short word that may be the short name of any custom resource. */
  mayBeShortName: boolean
}

/** Parses the spelling of a kind; undefined if it is none. */
export function watchedKindOf(text: string): WatchedKind | undefined {
  const spelling = parseSpelling(text)
  if (!spelling) return undefined
  const builtIn = builtInsOf(spelling)
  const mayBeShortName = builtIn.length === 0 && /^[a-z0-9]{1,6}(\.|$)/.test(text)
  return { text, spelling, builtIn, mayBeShortName }
}

/** Returns whether its word may be the short name of a custom resource, which only a cluster knows; false for built-in kinds. */
export function mayBeShortNameOf(
  watched: WatchedKind,
  resource: Pick<BuiltInKind, 'kind' | 'group'>,
): boolean {
  const { text, spelling, mayBeShortName } = watched
  const isShort =
    mayBeShortName || (text.startsWith(spelling.word) && isShortFormOf(spelling.word, resource.kind))
  return isShort && mayBeNameOf(watched, resource)
}

/** Returns whether it may be any name of a custom resource in a cluster; false for built-in kinds. */
export function mayBeNameOf(
  { builtIn, spelling: { qualifier } }: WatchedKind,
  { kind, group }: Pick<BuiltInKind, 'kind' | 'group'>,
): boolean {
  if (builtIn.length > 0 || builtInKinds.some((it) => it.kind === kind && it.group === group)) return false
  return qualifier === undefined || groupOf(qualifier) === group
}

/**
 * `gitrepo` of GitRepository, or its plural: letters of the kind in their order, with each capital letter, because `certificate` is not a
 * CertificateRequest. Where one or two letters are missing, it is a typo.
 */
function isShortFormOf(word: string, kind: string): boolean {
  const singular = word.replace(/ies$/, 'y').replace(/e?s$/, '')
  if (singular.length > kind.length - 3) return false
  /** How much of the word the letters so far may be. */
  let ends = new Set([0])
  for (const letter of kind) {
    const further = [...ends].filter((end) => singular[end] === letter.toLowerCase()).map((end) => end + 1)
    ends = new Set(/[A-Z]/.test(letter) ? further : [...ends, ...further])
  }
  return ends.has(singular.length)
}

/** Returns the built-in kind that was likely intended; undefined for a spelling with a group, which may be a custom resource. */
export function likelyTypo({ text, builtIn, spelling, mayBeShortName }: WatchedKind): string | undefined {
  if (builtIn.length > 0 || spelling.qualifier !== undefined || mayBeShortName) return undefined
  return nearest(
    text,
    builtInKinds.flatMap(({ kind, plural }) => [kind, plural]),
    2,
  )
}

/** Returns whether a pattern of a rule's `kind`, without its `!`, may match the watched kind; true if it is uncertain. */
export function mayMean(pattern: Pattern, watched: WatchedKind): boolean {
  if (pattern.form === 'literal') return mayBeSame(parseSpelling(pattern.text), watched)
  const test = kindTest(pattern)
  return watched.builtIn.length === 0 || watched.builtIn.some((it) => test({ ...it, version: '' }))
}

export function mayBeEvent({ builtIn, mayBeShortName }: WatchedKind): boolean {
  return mayBeShortName || builtIn.some(isEventKind)
}

/** Returns true only if it is certain that its objects have no namespace. */
export function isClusterScoped({ builtIn }: WatchedKind): boolean {
  return builtIn.length > 0 && builtIn.every(({ namespaced }) => !namespaced)
}

/** Returns its names, for suggestions. */
export function namesOf({ text, builtIn }: WatchedKind): string[] {
  return [text, ...builtIn.flatMap(({ kind, plural }) => [kind, plural])]
}

/** Returns its name for messages: the built-in kind, or as written. */
export function titleOf({ text, builtIn }: WatchedKind): string {
  return builtIn[0]?.kind ?? text
}

function mayBeSame(spelling: Spelling | undefined, watched: WatchedKind): boolean {
  if (!spelling) return true
  if (!qualifiersMeet(spelling.qualifier, watched.spelling.qualifier)) return false
  const builtIn = builtInsOf(spelling)
  // All kinds of the core group are known: no custom resource can be in it.
  if (spelling.qualifier !== undefined && groupOf(spelling.qualifier) === '' && builtIn.length === 0)
    return false
  if (builtIn.length > 0 && watched.builtIn.length > 0) {
    const isEvent = builtIn.some(isEventKind) && watched.builtIn.some(isEventKind)
    return isEvent || builtIn.some((it) => watched.builtIn.includes(it))
  }
  if (watched.mayBeShortName) return builtIn.length === 0
  const forms = formsOf(watched.spelling.word)
  return formsOf(spelling.word).some((form) => forms.includes(form))
}

function builtInsOf({ word, qualifier }: Spelling): readonly BuiltInKind[] {
  const named = BY_WORD.get(word) ?? []
  return qualifier === undefined ? named : named.filter(({ group }) => groupOf(qualifier) === group)
}

const BY_WORD: ReadonlyMap<string, readonly BuiltInKind[]> = byWord()

function byWord(): Map<string, BuiltInKind[]> {
  const kinds = new Map<string, BuiltInKind[]>()
  for (const it of builtInKinds)
    for (const word of new Set([it.kind.toLowerCase(), it.plural, ...it.shortNames]))
      kinds.set(word, [...(kinds.get(word) ?? []), it])
  return kinds
}

/** Returns the forms that a cluster would have to distinguish: the word itself, its singular and its plural. */
function formsOf(word: string): string[] {
  const singulars = [
    /ies$/.test(word) && word.replace(/ies$/, 'y'),
    word.replace(/es$/, ''),
    word.replace(/s$/, ''),
  ]
  return [...new Set([word, pluralOf(word), `${word}s`, ...singulars.filter((it) => it !== false)])]
}

function qualifiersMeet(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || groupOf(a) === groupOf(b)
}

/** Returns the version in a spelling. */
export function versionOf({ spelling }: WatchedKind): string | undefined {
  return VERSION.exec(spelling.qualifier ?? '')?.[0].replace('.', '')
}

const VERSION = /^v\d+((alpha|beta)\d+)?(\.|$)/

/** `v1.apps` and `apps` are the group `apps`; `v1` is the core group. */
export function groupOf(qualifier: string): string {
  return qualifier.replace(VERSION, '')
}
