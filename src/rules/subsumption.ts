import { builtInKinds } from './built-in-kinds.ts'
import { eventKeysOf } from './event-conditions.ts'
import { parseSpelling } from './kind.ts'
import { compilePatterns, type Pattern, parsePattern, parsePatterns } from './pattern.ts'
import { type KeyValues, listOf, type Patterns, type Regarding, type When } from './schema.ts'
import { requirementsOf } from './selector.ts'
import { changeTypes, compileTypes } from './types.ts'

/** Does every event that passes the narrow conditions pass the wide ones? True only when that is certain; both were checked. */
export function implies(narrow: When, wide: When): boolean {
  const texts = ['namespace', 'name', 'reason', 'message'] as const
  const isAboutEvents = eventKeysOf(narrow).length > 0
  return (
    Object.keys(wide).every((key) => UNDERSTOOD.has(key)) &&
    (kindsImply(narrow.kind, wide.kind) || (isAboutEvents && kindsImply('Event', wide.kind))) &&
    texts.every((key) => patternsImply(narrow[key], wide[key])) &&
    typesImply(narrow.type, wide.type) &&
    keyValuesImply(narrow.labels, wide.labels) &&
    keyValuesImply(narrow.annotations, wide.annotations) &&
    keyValuesImply(narrow.namespaceLabels, wide.namespaceLabels) &&
    ownersImply(narrow.owner, wide.owner) &&
    regardingImplies(narrow.regarding, wide.regarding) &&
    (wide.synthesized === undefined || wide.synthesized === narrow.synthesized) &&
    agesImply(narrow.age, wide.age)
  )
}

/** Of a condition that is not among them nothing can be proved. */
const UNDERSTOOD: ReadonlySet<string> = new Set<keyof When>([
  'kind',
  'namespace',
  'namespaceLabels',
  'name',
  'labels',
  'annotations',
  'type',
  'reason',
  'message',
  'owner',
  'regarding',
  'synthesized',
  'age',
])

/** A chain has several controllers, so that only the same words count. */
function ownersImply(narrow: Patterns | undefined, wide: Patterns | undefined): boolean {
  if (wide === undefined) return true
  if (narrow === undefined) return false
  const isNegative = (text: string) => text.startsWith('!')
  const [few, many] = [listOf(narrow), listOf(wide)]
  if (!many.filter(isNegative).every((text) => few.includes(text))) return false
  const positive = few.filter((text) => !isNegative(text))
  const covering = many.filter((text) => !isNegative(text))
  if (covering.length === 0) return true
  return positive.length > 0 && positive.every((text) => covering.includes(text) || covering.includes('*'))
}

function agesImply(narrow: Patterns | undefined, wide: Patterns | undefined): boolean {
  const known = listOf(narrow ?? [])
  return listOf(wide ?? []).every((bound) => known.includes(bound))
}

function patternsImply(narrow: Patterns | undefined, wide: Patterns | undefined): boolean {
  if (wide === undefined) return true
  if (narrow === undefined) return false
  const test = compilePatterns(wide)
  const few = sidesOf(narrow)
  const many = sidesOf(wide)
  if (!test.ok || !few || !many) return false
  const isExact = few.positive.length > 0 && few.positive.every(({ form }) => form === 'literal')
  // What the narrow ones name and exclude at once does not count.
  const isNamed = (it: Pattern) => few.negative.some((not) => not.test(it.text))
  if (isExact) return few.positive.every((it) => test.value(it.text) || isNamed(it))
  const isExcluded = (it: Pattern) =>
    includes(few.negative, it) || (it.form === 'literal' && few.negative.some((not) => not.test(it.text)))
  if (!many.negative.every(isExcluded)) return false
  if (many.positive.length === 0) return true
  const isCovered = (it: Pattern) =>
    includes(many.positive, it) || (it.form === 'literal' && test.value(it.text)) || many.positive.some(isAny)
  return few.positive.length > 0 && few.positive.every(isCovered)
}

/** Kinds are spelled in several ways, so only the same word counts, or a glob that covers it. */
function kindsImply(narrow: Patterns | undefined, wide: Patterns | undefined): boolean {
  if (wide === undefined) return true
  if (narrow === undefined) return false
  const few = sidesOf(narrow)
  const many = sidesOf(wide)
  if (!few || !many) return false
  if (!many.negative.every((it) => few.negative.some((other) => kindImplies(it, other)))) return false
  if (many.positive.length === 0) return true
  const isCovered = (it: Pattern) => many.positive.some((other) => kindImplies(it, other))
  return few.positive.length > 0 && few.positive.every(isCovered)
}

/** Is every kind that the narrow pattern means, apart from its `!`, meant by the wide one? */
function kindImplies(narrow: Pattern, wide: Pattern): boolean {
  if (isAny(wide) || isSame(narrow, wide)) return true
  const spelling = narrow.form === 'literal' ? parseSpelling(narrow.text) : undefined
  if (!spelling) return false
  if (wide.form === 'glob') return wordsOf(spelling.word).every((word) => globMeans(wide, word))
  const other = wide.form === 'literal' ? parseSpelling(wide.text) : undefined
  if (!other || (other.qualifier !== undefined && other.qualifier !== spelling.qualifier)) return false
  return other.word === spelling.word
}

/** The word, one of which a kind of this spelling has as its kind or plural; for a short name also those it stands for. */
function wordsOf(word: string): string[] {
  const meant = builtInKinds.filter(({ shortNames }) => shortNames.includes(word))
  return [word, ...meant.map(({ kind }) => kind.toLowerCase())]
}

function globMeans({ text }: Pattern, word: string): boolean {
  const glob = parsePattern(text.toLowerCase())
  return glob.ok && glob.value.test(word)
}

function typesImply(narrow: Patterns | undefined, wide: Patterns | undefined): boolean {
  if (wide === undefined) return true
  const few = narrow === undefined ? undefined : compileTypes(narrow)
  const many = compileTypes(wide)
  if (!many.ok || (few && !few.ok)) return false
  const { change, event } = few?.value ?? {}
  const { change: wideChange, event: wideEvent } = many.value
  const areChanges = changeTypes.every((it) => change?.(it) === false || wideChange?.(it) !== false)
  if (!areChanges || !wideEvent) return areChanges
  // An Event's type is one of two words, but nothing keeps an author from others.
  const texts = ['Normal', 'Warning', 'neither', undefined]
  return event !== undefined && texts.every((it) => !event(it) || wideEvent(it))
}

function keyValuesImply(narrow: KeyValues | undefined, wide: KeyValues | undefined): boolean {
  if (wide === undefined) return true
  if (narrow === undefined) return false
  if (typeof narrow === 'string' && typeof wide === 'string') {
    const asked = requirementsOf(narrow).map((it) => JSON.stringify(it))
    return requirementsOf(wide).every((it) => asked.includes(JSON.stringify(it)))
  }
  if (typeof narrow === 'string' || typeof wide === 'string') return false
  return Object.entries(wide).every(([key, patterns]) =>
    patternsImply(Object.hasOwn(narrow, key) ? narrow[key] : undefined, patterns),
  )
}

function regardingImplies(narrow: Regarding | undefined, wide: Regarding | undefined): boolean {
  if (wide === undefined) return true
  if (narrow === undefined) return false
  return (
    kindsImply(narrow.kind, wide.kind) &&
    patternsImply(narrow.namespace, wide.namespace) &&
    patternsImply(narrow.name, wide.name) &&
    keyValuesImply(narrow.labels, wide.labels) &&
    ownersImply(narrow.owner, wide.owner)
  )
}

interface Sides {
  positive: readonly Pattern[]
  negative: readonly Pattern[]
}

function sidesOf(patterns: Patterns): Sides | undefined {
  const parsed = parsePatterns(patterns)
  if (!parsed.ok) return undefined
  return {
    positive: parsed.value.filter(({ negated }) => !negated),
    negative: parsed.value.filter(({ negated }) => negated),
  }
}

function includes(patterns: readonly Pattern[], pattern: Pattern): boolean {
  return patterns.some((it) => isSame(it, pattern))
}

function isSame(a: Pattern, b: Pattern): boolean {
  return a.form === b.form && a.text === b.text
}

/** Means every value that is there. */
function isAny({ form, text }: Pattern): boolean {
  return form === 'glob' && text === '*'
}
