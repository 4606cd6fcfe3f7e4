import { compileTypes } from '../rules/types.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft } from './draft.ts'
import type { Problem } from './problem.ts'

/** Keys that compare an object with what it was, and the changes that they look at. */
const COMPARING: Readonly<Record<string, readonly string[]>> = {
  changed: ['MODIFIED'],
  from: ['MODIFIED'],
  'to-state': ['ADDED', 'MODIFIED'],
  condition: ['ADDED', 'MODIFIED'],
}

/** Rules that never match because they compare states, and their `type` leaves no change that has two. */
export function checkStates({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap(({ index, sound: { type } }) => {
    const compiled = type === undefined ? undefined : compileTypes(type)
    const test = compiled?.ok ? compiled.value.change : undefined
    if (!test) return []
    return Object.entries(COMPARING).flatMap(([key, types]) => {
      const path = ['rules', index, key]
      if (!document.at(path) || types.some((it) => test(it))) return []
      const message = `this rule matches nothing: "${key}" looks at ${types.join(' and ')}, and "type" leaves those out`
      return [document.problem(path, message, { atKey: true, hint: 'leave "type" out', severity: 'warning' })]
    })
  })
}
