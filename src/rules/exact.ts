import { parsePatterns } from './pattern.ts'
import type { KeyValues, Patterns } from './schema.ts'
import { requirementsOf } from './selector.ts'

/** The only texts that pass, where that can be told; what `!` patterns exclude of them may be among them. */
export function exactTexts(patterns: Patterns): readonly string[] | undefined {
  const parsed = parsePatterns(patterns)
  if (!parsed.ok) return undefined
  const positive = parsed.value.filter(({ negated }) => !negated)
  const isExact = positive.length > 0 && positive.every(({ form }) => form === 'literal')
  return isExact ? [...new Set(positive.map(({ text }) => text))] : undefined
}

/** A key that must have one of a few values, where there is one. */
export function exactKey(wanted: KeyValues): { key: string; values: readonly string[] } | undefined {
  const keys =
    typeof wanted === 'string'
      ? requirementsOf(wanted).flatMap(({ key, operator, values }) =>
          operator === 'in' ? { key, values: [...new Set(values)] } : [],
        )
      : Object.entries(wanted).flatMap(([key, patterns]) => {
          const values = exactTexts(patterns)
          return values ? { key, values } : []
        })
  return keys.reduce<(typeof keys)[number] | undefined>(
    (best, it) => (best && best.values.length <= it.values.length ? best : it),
    undefined,
  )
}

/** The keys that are asked about. */
export function keysOf(wanted: KeyValues): readonly string[] {
  if (typeof wanted !== 'string') return Object.keys(wanted)
  return [...new Set(requirementsOf(wanted).map(({ key }) => key))]
}
