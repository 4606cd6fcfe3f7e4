import { type KeyValues, listOf, type Patterns } from '../rules/schema.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { RuleDraft } from './draft.ts'

/** A pattern of a rule, where it stands, and what it is asked of. */
export interface PatternPlace {
  path: Path
  text: string
  what: 'a name' | 'a reason' | 'a message' | 'a label'
}

/** The patterns of a rule as they stand in the file, without those that `${…}` is part of; kinds and namespaces have checks of their own. */
export function patternPlaces({ index, sound }: RuleDraft, document: ConfigDocument): PatternPlace[] {
  const path = ['rules', index, 'when']
  const { name, reason, message, regarding, labels, namespaceLabels } = sound
  return [
    ...each([...path, 'name'], 'a name', name),
    ...each([...path, 'regarding', 'name'], 'a name', regarding?.name),
    ...each([...path, 'reason'], 'a reason', reason),
    ...each([...path, 'message'], 'a message', message),
    ...labelPlaces(labels, [...path, 'labels']),
    ...labelPlaces(namespaceLabels, [...path, 'namespaceLabels']),
    ...labelPlaces(regarding?.labels, [...path, 'regarding', 'labels']),
  ].filter((place) => document.at(place.path)?.written === undefined)
}

function each(path: Path, what: PatternPlace['what'], patterns: Patterns | undefined): PatternPlace[] {
  if (patterns === undefined) return []
  const isList = typeof patterns !== 'string'
  return listOf(patterns).map((text, index) => ({ path: isList ? [...path, index] : path, text, what }))
}

function labelPlaces(labels: KeyValues | undefined, path: Path): PatternPlace[] {
  if (labels === undefined || typeof labels === 'string') return []
  return Object.entries(labels).flatMap(([key, patterns]) => each([...path, key], 'a label', patterns))
}
