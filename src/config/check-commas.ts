import { isJoined, listHint } from '../rules/comma.ts'
import { parsePattern } from '../rules/pattern.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft } from './draft.ts'
import { patternPlaces } from './pattern-places.ts'
import type { Problem } from './problem.ts'

/** Names, reasons and labels with a comma, where a list was meant; kinds and namespaces with one are refused elsewhere. */
export function checkCommas({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap((rule) =>
    patternPlaces(rule, document).flatMap(({ path, what, text }) => {
      const parsed = parsePattern(text)
      if (what === 'a message' || !parsed.ok || !isJoined(parsed.value)) return []
      const message = `"${text}" is one text, and hardly ever has ${what} a comma`
      return [document.problem(path, message, { hint: listHint(text), severity: 'warning' })]
    }),
  )
}
