import { type KeyValues, listOf } from './schema.ts'
import { requirementsOf } from './selector.ts'

/** The keys that everything has which meets a selector, or a map of patterns, that was checked. */
export function askedKeys(asked: KeyValues | undefined): string[] {
  if (asked === undefined) return []
  if (typeof asked === 'string')
    return requirementsOf(asked)
      .filter(({ operator }) => operator !== 'absent' && operator !== 'notin')
      .map(({ key }) => key)
  return Object.entries(asked).flatMap(([key, patterns]) =>
    listOf(patterns).some((it) => !it.startsWith('!')) ? [key] : [],
  )
}
