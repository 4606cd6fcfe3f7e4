import { celPart } from './cel/part.ts'
import type { PartMaker } from './condition.ts'
import { whenPart } from './conditions.ts'
import { changedPart, conditionPart, statePart } from './paths/part.ts'

/** All that a rule can ask, key by key. A new kind of condition is one more entry. */
export const partMakers: readonly PartMaker[] = [whenPart, celPart, changedPart, statePart, conditionPart]
