import { type Pattern, parsePatterns } from '../rules/pattern.ts'
import { listOf, type When } from '../rules/schema.ts'

/** What tells most pairs of rules apart at once, so that a thousand rules are compared in no time. */
interface Sketch {
  /** Of each condition on texts, undefined where there is none, or where more has to be looked at. */
  texts: readonly (Side | undefined)[]
  kinds: ReadonlySet<string> | undefined
}

interface Side {
  first: Pattern
  isSimple: boolean
  known: ReadonlySet<string>
  globs: readonly Pattern[]
}

const KEYS = ['namespace', 'name', 'reason'] as const

export function sketchOf(when: When): Sketch {
  return { texts: KEYS.map((key) => sideOf(when[key])), kinds: plainKinds(when) }
}

/** False when it is certain that not every event of the narrow rule passes the wide one. */
export function mayImply(narrow: Sketch, wide: Sketch): boolean {
  if (narrow.kinds && wide.kinds && ![...narrow.kinds].every((it) => wide.kinds?.has(it))) return false
  return wide.texts.every((side, i) => {
    if (!side) return true
    const few = narrow.texts[i]
    if (!few?.isSimple) return true
    const { first } = few
    return (
      side.known.has(keyOf(first)) ||
      (first.form === 'literal' && side.globs.some((it) => it.test(first.text)))
    )
  })
}

function sideOf(patterns: When['name']): Side | undefined {
  const parsed = patterns === undefined ? undefined : parsePatterns(patterns)
  if (!parsed?.ok) return undefined
  const positive = parsed.value.filter(({ negated }) => !negated)
  const [first] = positive
  if (!first || positive.some(({ form, text }) => form === 'glob' && text === '*')) return undefined
  return {
    first,
    // With a "!" of its own, one of its patterns may mean nothing.
    isSimple: positive.length === parsed.value.length,
    known: new Set(positive.map(keyOf)),
    globs: positive.filter(({ form }) => form !== 'literal'),
  }
}

function keyOf({ form, text }: Pattern): string {
  return `${form} ${text}`
}

/** Kinds that are spelled as CamelCase words, each of which stands for itself alone; undefined for other spellings. */
function plainKinds({ kind }: When): ReadonlySet<string> | undefined {
  const kinds = kind === undefined ? [] : listOf(kind)
  return kinds.length > 0 && kinds.every((it) => /^[A-Z][A-Za-z]*$/.test(it)) ? new Set(kinds) : undefined
}
