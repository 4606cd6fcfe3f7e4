import type { ObjectRef } from '../event.ts'
import { builtInKinds } from './built-in-kinds.ts'
import { isJoined, listHint } from './comma.ts'
import { type Compiled, compiled, type Fault, faulty, under } from './fault.ts'
import { expressionHint } from './likely-expression.ts'
import { type Pattern, parsePattern, parsePatterns } from './pattern.ts'
import { listOf, type Patterns } from './schema.ts'

/** What a kind is called: enough of a resource, or of a reference to an object. */
export interface KindNames {
  group: string
  version: string
  kind: string
  plural: string
}

/** A kind as people write it: `Deployment`, `deployments.apps`, `apps/v1/Deployment`. */
export interface Spelling {
  /** Kind, plural or short name, in lower case. */
  word: string
  /** What was said about the group: `apps`, `v1.apps` or `v1`; undefined if nothing was. */
  qualifier?: string
}

export type KindTest = (names: KindNames) => boolean

/** Compiles the `kind` of a rule: exact names in any spelling, globs and expressions over them. */
export function compileKinds(patterns: Patterns): Compiled<KindTest> {
  const parsed = parsePatterns(patterns)
  const faults = listOf(patterns).flatMap((text, index) =>
    under(typeof patterns === 'string' ? [] : [index], spellingFaults(text)),
  )
  if (!parsed.ok) return { ok: false, faults: [...parsed.faults, ...faults] }
  if (faults.length > 0) return { ok: false, faults }
  const negative = parsed.value.filter((it) => it.negated).map(kindTest)
  const positive = parsed.value.filter((it) => !it.negated).map(kindTest)
  return compiled(
    (names) =>
      !negative.some((test) => test(names)) &&
      (positive.length === 0 || positive.some((test) => test(names))),
  )
}

/** Takes a spelling apart; undefined when it is none. */
export function parseSpelling(text: string): Spelling | undefined {
  if (!/^[A-Za-z0-9][-A-Za-z0-9./]*$/.test(text)) return undefined
  const lower = text.toLowerCase()
  const parts = lower.split('/')
  if (parts.length > 3 || parts.includes('')) return undefined
  if (parts.length === 3) return { word: parts[2]!, qualifier: `${parts[1]}.${parts[0]}` }
  if (parts.length === 2) return { word: parts[1]!, qualifier: parts[0]! }
  const dot = lower.indexOf('.')
  if (dot === -1) return { word: lower }
  return dot === 0 || dot === lower.length - 1
    ? undefined
    : { word: lower.slice(0, dot), qualifier: lower.slice(dot + 1) }
}

/** Is this the cluster's own Event, of core/v1 or events.k8s.io? */
export function isEventKind({ kind, group }: Pick<KindNames, 'kind' | 'group'>): boolean {
  return kind === 'Event' && (group === '' || group === 'events.k8s.io')
}

const pluralOfBuiltIn = new Map(builtInKinds.map(({ kind, plural }) => [kind.toLowerCase(), plural]))

/** The usual plural of a kind, for references that do not carry it. */
export function pluralOf(kind: string): string {
  const lower = kind.toLowerCase()
  const builtIn = pluralOfBuiltIn.get(lower)
  if (builtIn !== undefined) return builtIn
  if (/[^aeiou]y$/.test(lower)) return `${lower.slice(0, -1)}ies`
  return /(s|x|z|ch|sh)$/.test(lower) ? `${lower}es` : `${lower}s`
}

function spellingFaults(text: string): Fault[] {
  const parsed = parsePattern(text)
  if (!parsed.ok) return []
  const pattern = parsed.value
  const joined = isJoined(pattern)
  if (!joined && (pattern.form !== 'literal' || parseSpelling(pattern.text))) return []
  const spellings = 'write it as Deployment, deployments.apps or apps/v1/Deployment'
  const fault = faulty(pattern.text === '' ? 'is empty: name a kind' : `"${pattern.text}" is no kind`, {
    hint: joined ? listHint(text) : (expressionHint(text) ?? spellings),
    offset: text.startsWith('!') ? 1 : 0,
  })
  return fault.faults
}

/** The names of a reference's kind. */
export function kindOf({ apiVersion = '', kind = '' }: ObjectRef): KindNames {
  const slash = apiVersion.indexOf('/')
  const group = slash === -1 ? '' : apiVersion.slice(0, slash)
  return { group, version: apiVersion.slice(slash + 1), kind, plural: pluralOf(kind) }
}

/** Is this the kind, plural or short name of a built-in kind? */
export function isKnownWord(text: string): boolean {
  const word = text.toLowerCase()
  return builtInKinds.some(
    ({ kind, plural, shortNames }) =>
      kind.toLowerCase() === word || plural === word || shortNames.includes(word),
  )
}

/** What one pattern means, apart from its `!`. */
export function kindTest(pattern: Pattern): KindTest {
  if (pattern.form === 'literal') return spellingTest(parseSpelling(pattern.text) as Spelling)
  if (pattern.form === 'regex') return (names) => namesOf(names).some((name) => pattern.test(name))
  const glob = parsePattern(pattern.text.toLowerCase())
  if (!glob.ok) throw new Error('a glob stays one in lower case')
  return (names) => namesOf(names).some((name) => glob.value.test(name.toLowerCase()))
}

function namesOf({ kind, plural, group }: KindNames): string[] {
  return group === '' ? [kind, plural] : [kind, plural, `${plural}.${group}`]
}

function spellingTest({ word, qualifier }: Spelling): KindTest {
  const short = builtInKinds.filter(({ shortNames }) => shortNames.includes(word))
  return (names) => {
    if (!isQualifiedBy(names, qualifier)) return false
    if (word === names.kind.toLowerCase() || word === names.plural) return true
    return short.some(({ kind, group }) => kind === names.kind && group === names.group)
  }
}

/** `apps`, `v1.apps`, and for the core group `v1`. */
function isQualifiedBy(names: KindNames, qualifier: string | undefined): boolean {
  if (qualifier === undefined || qualifier === names.group) return true
  if (isEventKind(names)) return /^(v1(beta1)?|(v1(beta1)?\.)?events\.k8s\.io)$/.test(qualifier)
  const full = names.group === '' ? names.version : `${names.version}.${names.group}`
  return qualifier === full
}
