import { type Requirement, requirementsOf } from './selector.ts'

/** The key that no object can have as a selector asks, with what it may be meant to be; undefined when there is none. */
export function contradictionIn(selector: string): { key: string; hint?: string } | undefined {
  const byKey = new Map<string, Requirement[]>()
  for (const it of requirementsOf(selector)) byKey.set(it.key, [...(byKey.get(it.key) ?? []), it])
  for (const [key, requirements] of byKey) {
    if (canHold(requirements)) continue
    const values = requirements.flatMap((it) => (it.operator === 'in' ? it.values : []))
    const isAlternative = values.length > 1 && requirements.every(({ operator }) => operator === 'in')
    return {
      key,
      ...(isAlternative && { hint: `for one or the other write: ${key} in (${values.join(', ')})` }),
    }
  }
  return undefined
}

/** Whether a value, or none, can answer all of them. Comparisons are taken to hold for some number. */
function canHold(requirements: readonly Requirement[]): boolean {
  const has = (operator: Requirement['operator']) => requirements.some((it) => it.operator === operator)
  const isWanted = has('in') || has('exists') || has('<') || has('>')
  if (has('absent')) return !isWanted
  const sets = requirements.filter(({ operator }) => operator === 'in')
  const [first, ...others] = sets
  if (!first) return true
  const excluded = requirements.flatMap((it) => (it.operator === 'notin' ? it.values : []))
  return first.values.some(
    (value) => !excluded.includes(value) && others.every(({ values }) => values.includes(value)),
  )
}
