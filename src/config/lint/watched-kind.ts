import { type BuiltInKind, builtInKinds } from '../rules/built-in-kinds.ts'
import { isEventKind, kindTest, parseSpelling, pluralOf, type Spelling } from '../rules/kind.ts'
import type { Pattern } from '../rules/pattern.ts'
import { nearest } from './suggest.ts'

/** What is known of a watched kind without asking a cluster. */
export interface WatchedKind {
  /** As written. */
  text: string
  spelling: Spelling
  /** Empty for custom resources. */
  builtIn: readonly BuiltInKind[]
  /** A short word that may be the short name of any custom resource. */
  mayBeShortName: boolean
}

/** Undefined when the text is no kind. */
export function watchedKindOf(text: string): WatchedKind | undefined {
  const spelling = parseSpelling(text)
  if (!spelling) return undefined
  const builtIn = builtInsOf(spelling)
  const mayBeShortName = builtIn.length === 0 && /^[a-z0-9]{1,6}(\.|$)/.test(text)
  return { text, spelling, builtIn, mayBeShortName }
}

/** The built-in kind that a spelling nearly is; undefined when it names a group, and so a custom resource. */
export function likelyTypo({ text, builtIn, spelling, mayBeShortName }: WatchedKind): string | undefined {
  if (builtIn.length > 0 || spelling.qualifier !== undefined || mayBeShortName) return undefined
  return nearest(
    text,
    builtInKinds.flatMap(({ kind, plural }) => [kind, plural]),
    2,
  )
}

/** Can this pattern of a rule's `kind` (without its `!`) mean the watched kind? True when in doubt. */
export function mayMean(pattern: Pattern, watched: WatchedKind): boolean {
  if (pattern.form === 'literal') return mayBeSame(parseSpelling(pattern.text), watched)
  const test = kindTest(pattern)
  return watched.builtIn.length === 0 || watched.builtIn.some((it) => test({ ...it, version: '' }))
}

export function mayBeEvent({ builtIn, mayBeShortName }: WatchedKind): boolean {
  return mayBeShortName || builtIn.some(isEventKind)
}

/** True only when it is sure that its objects have no namespace. */
export function isClusterScoped({ builtIn }: WatchedKind): boolean {
  return builtIn.length > 0 && builtIn.every(({ namespaced }) => !namespaced)
}

/** The names that a person may have meant, for suggestions. */
export function namesOf({ text, builtIn }: WatchedKind): string[] {
  return [text, ...builtIn.flatMap(({ kind, plural }) => [kind, plural])]
}

/** How a message calls it: the built-in's kind, or as written. */
export function titleOf({ text, builtIn }: WatchedKind): string {
  return builtIn[0]?.kind ?? text
}

function mayBeSame(spelling: Spelling | undefined, watched: WatchedKind): boolean {
  if (!spelling) return true
  if (!qualifiersMeet(spelling.qualifier, watched.spelling.qualifier)) return false
  const builtIn = builtInsOf(spelling)
  if (builtIn.length > 0 && watched.builtIn.length > 0) {
    const isEvent = builtIn.some(isEventKind) && watched.builtIn.some(isEventKind)
    return isEvent || builtIn.some((it) => watched.builtIn.includes(it))
  }
  if (watched.mayBeShortName) return builtIn.length === 0
  const words = formsOf(watched.spelling.word)
  return formsOf(spelling.word).some((word) => words.includes(word))
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

/** The forms of one kind that cannot be told apart without a cluster: as it is, and its singular or plural. */
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

/** The version that a spelling asks for. */
export function versionOf({ spelling }: WatchedKind): string | undefined {
  return VERSION.exec(spelling.qualifier ?? '')?.[0].replace('.', '')
}

const VERSION = /^v\d+((alpha|beta)\d+)?(\.|$)/

/** `v1.apps` and `apps` are the group `apps`; `v1` is the core group. */
export function groupOf(qualifier: string): string {
  return qualifier.replace(VERSION, '')
}
