import { changeTypes, compileTypes } from './change-values.ts'
import { builtInKinds, parseSpelling } from './kind.ts'
import {
  listOf,
  type Pattern,
  type Patterns,
  parsePattern,
  parsePatterns,
  type Test,
  testOf,
} from './pattern.ts'
import { type KeyValues, requirementsOf } from './selector.ts'

/*
 * Each function returns true if everything that matches the narrow value certainly matches the wide one. An undefined value matches
 * everything. Both must be free of faults.
 */

export function patternsCover(wide: Patterns, narrow: Patterns | undefined): boolean {
  if (narrow === undefined) return false
  const few = sidesOf(narrow)
  const many = sidesOf(wide)
  if (!few || !many) return false
  // Values that the narrow patterns both name and exclude do not count.
  const isExcluded = (it: Pattern) => few.negative.some((not) => not.test(it.text))
  if (few.isExact) return few.positive.every((it) => many.test(it.text) || isExcluded(it))
  const isExcludedToo = (it: Pattern) => few.keys.has(keyOf(it)) || (it.form === 'literal' && isExcluded(it))
  if (!many.negative.every(isExcludedToo)) return false
  if (many.positive.length === 0) return true
  const isCovered = (it: Pattern) => many.keys.has(keyOf(it)) || (it.form === 'literal' && many.test(it.text))
  return few.positive.length > 0 && (many.positive.some(isAny) || few.positive.every(isCovered))
}

/** A kind has several spellings: only the same word is certain, or a glob that covers it. */
export function kindsCover(wide: Patterns, narrow: Patterns | undefined): boolean {
  if (narrow === undefined) return false
  const few = sidesOf(narrow)
  const many = sidesOf(wide)
  if (!few || !many) return false
  if (!many.negative.every((it) => few.negative.some((other) => kindCovers(other, it)))) return false
  if (many.positive.length === 0) return true
  const isCovered = (it: Pattern) => many.positive.some((other) => kindCovers(other, it))
  return few.positive.length > 0 && few.positive.every(isCovered)
}

/** Compares the kinds without a leading `!`. */
function kindCovers(wide: Pattern, narrow: Pattern): boolean {
  if (isAny(wide) || isSame(narrow, wide)) return true
  const spelling = narrow.form === 'literal' ? parseSpelling(narrow.text) : undefined
  if (!spelling) return false
  if (wide.form === 'glob') return namesOf(spelling.word).every((name) => globMatches(wide, name))
  const other = wide.form === 'literal' ? parseSpelling(wide.text) : undefined
  if (!other || (other.qualifier !== undefined && other.qualifier !== spelling.qualifier)) return false
  return other.word === spelling.word
}

/** Returns the name itself, and the kinds that have it as their short name. */
function namesOf(name: string): string[] {
  const kinds = builtInKinds.filter(({ shortNames }) => shortNames.includes(name))
  return [name, ...kinds.map(({ kind }) => kind.toLowerCase())]
}

function globMatches({ text }: Pattern, name: string): boolean {
  const glob = parsePattern(text.toLowerCase())
  return glob.ok && glob.value.test(name)
}

export function typesCover(wide: Patterns, narrow: Patterns | undefined): boolean {
  const few = narrow === undefined ? undefined : compileTypes(narrow)
  const many = compileTypes(wide)
  if (!many.ok || (few && !few.ok)) return false
  const { change, event } = few?.value ?? {}
  const { change: wideChange, event: wideEvent } = many.value
  const areChanges = changeTypes.every((it) => change?.(it) === false || wideChange?.(it) !== false)
  if (!areChanges || !wideEvent) return areChanges
  // The API server accepts Events with other types than these two.
  const types = ['Normal', 'Warning', 'neither', undefined]
  return event !== undefined && types.every((it) => !event(it) || wideEvent(it))
}

export function keyValuesCover(wide: KeyValues, narrow: KeyValues | undefined): boolean {
  if (narrow === undefined) return false
  if (typeof narrow === 'string' && typeof wide === 'string') {
    const asked = requirementsOf(narrow).map((it) => JSON.stringify(it))
    return requirementsOf(wide).every((it) => asked.includes(JSON.stringify(it)))
  }
  if (typeof narrow === 'string' || typeof wide === 'string') return false
  return Object.entries(wide).every(([key, patterns]) =>
    patternsCover(patterns, Object.hasOwn(narrow, key) ? narrow[key] : undefined),
  )
}

/** Objects have several controllers: only the same patterns are certain. */
export function ownersCover(wide: Patterns, narrow: Patterns | undefined): boolean {
  if (narrow === undefined) return false
  const isNegative = (text: string) => text.startsWith('!')
  const [few, many] = [listOf(narrow), listOf(wide)]
  if (!many.filter(isNegative).every((text) => few.includes(text))) return false
  const positive = few.filter((text) => !isNegative(text))
  const covering = many.filter((text) => !isNegative(text))
  if (covering.length === 0) return true
  return positive.length > 0 && positive.every((text) => covering.includes(text) || covering.includes('*'))
}

export function agesCover(wide: Patterns, narrow: Patterns | undefined): boolean {
  const known = listOf(narrow ?? [])
  return listOf(wide).every((bound) => known.includes(bound))
}

interface Sides {
  positive: readonly Pattern[]
  negative: readonly Pattern[]
  /** Those of all patterns. */
  keys: ReadonlySet<string>
  test: Test
  /** Whether only literals match. */
  isExact: boolean
}

/** Each rule is compared with many others. */
const sidesOfLists = new WeakMap<readonly string[], { sides: Sides | undefined }>()

function sidesOf(patterns: Patterns): Sides | undefined {
  if (typeof patterns === 'string') return readSides(patterns)
  const found = sidesOfLists.get(patterns) ?? { sides: readSides(patterns) }
  sidesOfLists.set(patterns, found)
  return found.sides
}

function readSides(patterns: Patterns): Sides | undefined {
  const parsed = parsePatterns(patterns)
  if (!parsed.ok) return undefined
  const positive = parsed.value.filter(({ negated }) => !negated)
  return {
    positive,
    negative: parsed.value.filter(({ negated }) => negated),
    keys: new Set(parsed.value.map(keyOf)),
    test: testOf(parsed.value),
    isExact: positive.length > 0 && positive.every(({ form }) => form === 'literal'),
  }
}

function keyOf({ negated, form, text }: Pattern): string {
  return `${negated}:${form}:${text}`
}

function isSame(a: Pattern, b: Pattern): boolean {
  return a.form === b.form && a.text === b.text
}

/** Matches every existing value. */
function isAny({ form, text }: Pattern): boolean {
  return form === 'glob' && text === '*'
}
