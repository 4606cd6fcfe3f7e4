import type { Acknowledgement } from '../../model/control.ts'
import type { LimitTransaction } from './limit-transaction.ts'
import type { RulePlan } from './rule-plan.ts'

/**
 * The acknowledgement of an incident of one object. Its state changes only together with its source's checkpoint, so the acknowledgement is
 * stored apart; it belongs to the incident that began at `sinceMs`.
 */
export interface StoredAcknowledgement extends Acknowledgement {
  sinceMs: number
}

/** Returns undefined for no text, and for one that is damaged. */
export function readAcknowledgement(text: string | undefined): StoredAcknowledgement | undefined {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as StoredAcknowledgement
  } catch {
    return undefined
  }
}

/**
 * Returns who acknowledged the incident that a pending state escalates: that of another rule with the same conditions, of the same object,
 * which is open now.
 */
export function escalatedAcknowledgement(
  tx: LimitTransaction,
  { name, sameConditions = [] }: RulePlan,
  key: string,
): Acknowledgement | undefined {
  const uid = key.slice(0, key.lastIndexOf(':'))
  for (const rule of sameConditions) {
    if (rule === name) continue
    const other = `${uid}:${rule}`
    const state = tx.read('own', other, 'for-resolve')
    if (!state || state.pending || state.over) continue
    const stored = readAcknowledgement(tx.acknowledged(other))
    if (stored?.sinceMs === state.sinceMs) return stored
  }
  return undefined
}

/** `by token:ci: on it` */
export function acknowledgedBy({ by, reason }: Acknowledgement): string {
  return `by ${by}${reason === undefined ? '' : `: ${reason}`}`
}
