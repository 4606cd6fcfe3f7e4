import { changeAt, changesOf, isKnown } from './changes.ts'
import { isRecent } from './meta.ts'
import { list, scalar, text } from './read.ts'
import type { Told } from './told.ts'

export interface Condition {
  readonly type: string
  /** True, False or Unknown. */
  readonly status: string
  readonly reason: string
  readonly message: string
  /** RFC 3339; '' when it is not known. */
  readonly since: string
  /** RFC 3339; only Deployments have it. */
  readonly updated: string
}

export function conditionsOf({ object }: Told): readonly Condition[] {
  return list(object, 'status', 'conditions').map((it) => ({
    type: text(it, 'type'),
    status: text(it, 'status'),
    reason: text(it, 'reason'),
    message: text(it, 'message'),
    since: text(it, 'lastTransitionTime'),
    updated: text(it, 'lastUpdateTime'),
  }))
}

export function conditionOf(told: Told, type: string): Condition | undefined {
  return conditionsOf(told).find((it) => it.type === type)
}

/**
 * Did a condition just become what it is? By the changes where they are known, else by its time. `old` is the status before:
 * '' when it is not known, `absent` when there was no such condition.
 */
export function flipOf(told: Told, type: string): { old: string } | undefined {
  const condition = conditionOf(told, type)
  if (!condition) return undefined
  if (!isKnown(told)) return isRecent(told, condition.since) ? { old: '' } : undefined
  const path = `status.conditions[type=${type}]`
  if (changesOf(told).some((it) => it.path === path && it.old === undefined)) return { old: 'absent' }
  const old = scalar(changeAt(told, `${path}.status`)?.old)
  return old !== '' && old !== condition.status ? { old } : undefined
}

/** Was there a condition that is gone? */
export function isGone(told: Told, type: string): boolean {
  const path = `status.conditions[type=${type}]`
  return changesOf(told).some((it) => it.path === path && it.new === undefined)
}
