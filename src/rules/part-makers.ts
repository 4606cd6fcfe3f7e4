import type { PartMaker } from './condition.ts'
import { whenPart } from './conditions.ts'
import { compiled, type Fault } from './fault.ts'

/** All that a rule can ask, key by key. A new kind of condition is one more entry. */
export const partMakers: readonly PartMaker[] = [whenPart, effectPart]

/** Keys of a rule that contradict each other. */
function effectPart({ drop, continue: goesOn, onError }: Parameters<PartMaker>[0]): ReturnType<PartMaker> {
  const faults: Fault[] = []
  if (drop === true && onError === 'deliver')
    faults.push({
      path: ['onError'],
      message: 'a rule that drops delivers nothing',
      hint: 'leave it out: what goes wrong in it does not drop',
    })
  if (drop === true && goesOn === true)
    faults.push({
      path: ['continue'],
      message: 'a rule that drops always ends',
      hint: 'leave "continue" out, or "drop"',
    })
  return faults.length > 0 ? { ok: false, faults } : compiled({ conditions: [] })
}
