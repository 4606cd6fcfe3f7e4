import type { ConfigDocument } from './document.ts'
import { type Places, placesIn } from './places.ts'

/** What was checked, as plain data that may go to another thread. It holds secrets: never to be shown. */
export interface CheckedValue {
  /** All keys but `rules`. */
  rest: Readonly<Record<string, unknown>>
  rules: readonly unknown[]
  places: Places
}

/** Of a configuration in which nothing is wrong. */
export function checkedValueOf(document: ConfigDocument): CheckedValue {
  const { rules, tests: _t, vars: _v, ...rest } = document.value as Record<string, unknown>
  return { rest, rules: rules as readonly unknown[], places: placesIn(document) }
}
