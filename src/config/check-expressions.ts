import { expressionHint } from '../rules/likely-expression.ts'
import { parsePattern } from '../rules/pattern.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft } from './draft.ts'
import { patternPlaces } from './pattern-places.ts'
import type { Problem } from './problem.ts'

/** Text and globs that look like expressions without their slashes, and so match what nobody meant. */
export function checkExpressions({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap((rule) =>
    patternPlaces(rule, document).flatMap(({ path, what, text }) => {
      const hint = expressionHint(text, what === 'a message' ? 'message' : 'name')
      const parsed = parsePattern(text)
      if (hint === undefined || !parsed.ok) return []
      const form = parsed.value.form === 'glob' ? 'a glob' : 'exact text'
      const message = `"${text}" looks like an expression, but is ${form}`
      return [document.problem(path, message, { hint, severity: 'warning' })]
    }),
  )
}
