import type { JoinedDocument } from './include/joined-document.ts'
import { type Places, placesIn } from './places.ts'
import { secretsOf } from './values/secrets.ts'

/** What was checked, as plain data that may go to another thread. It holds secrets: never to be shown. */
export interface CheckedValue {
  /** All keys but `rules`. */
  rest: Readonly<Record<string, unknown>>
  rules: readonly unknown[]
  secrets: readonly string[]
  places: Places
}

/** Of a configuration in which nothing is wrong. */
export function checkedValueOf(document: JoinedDocument): CheckedValue {
  const { rules, tests: _t, vars: _v, ...rest } = document.value as Record<string, unknown>
  const secrets = secretsOf(document)
  return { rest, rules: rules as readonly unknown[], secrets, places: placesIn(document) }
}
