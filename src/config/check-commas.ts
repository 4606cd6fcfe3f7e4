import { isJoined, listHint } from '../rules/comma.ts'
import { parsePattern } from '../rules/pattern.ts'
import { type KeyValues, listOf, type Patterns } from '../rules/schema.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { Draft, RuleDraft } from './draft.ts'
import type { Problem } from './problem.ts'

/** Names and labels with a comma, where a list was meant; kinds and namespaces with one are refused elsewhere. */
export function checkCommas({ rules }: Draft, document: ConfigDocument): Problem[] {
  return rules.flatMap((rule) =>
    placesOf(rule).flatMap(({ path, what, patterns }) =>
      listOf(patterns).flatMap((text, index) => {
        const parsed = parsePattern(text)
        const place = typeof patterns === 'string' ? path : [...path, index]
        if (!parsed.ok || !isJoined(parsed.value) || document.at(place)?.written !== undefined) return []
        const message = `"${text}" is one text, and hardly ever has ${what} a comma`
        return [document.problem(place, message, { hint: listHint(text), severity: 'warning' })]
      }),
    ),
  )
}

interface Place {
  path: Path
  what: string
  patterns: Patterns
}

function placesOf({ index, sound }: RuleDraft): Place[] {
  const path = ['rules', index, 'when']
  const { name, regarding, labels } = sound
  return [
    ...(name === undefined ? [] : [{ path: [...path, 'name'], what: 'a name', patterns: name }]),
    ...(regarding?.name === undefined
      ? []
      : [{ path: [...path, 'regarding', 'name'], what: 'a name', patterns: regarding.name }]),
    ...labelPlaces(labels, [...path, 'labels']),
  ]
}

function labelPlaces(labels: KeyValues | undefined, path: Path): Place[] {
  if (labels === undefined || typeof labels === 'string') return []
  return Object.entries(labels).map(([key, patterns]) => ({
    path: [...path, key],
    what: 'a label',
    patterns,
  }))
}
