import { createMuted, type Muted } from './muted.ts'
import type { RuleLimits } from './schema.ts'

/** What limits need of a rule. */
export type LimitedRule = RuleLimits & {
  name: string
  to?: readonly string[] | undefined
  condition?: { for?: number | undefined } | undefined
}

/** The limits of a rule, with their defaults. Times in milliseconds. */
export interface RulePlan {
  name: string
  /** It follows the state of objects, and not single events. */
  follows: boolean
  muted?: Muted
  sample?: number
  /** How long it must hold. */
  forMs?: number
  /** Tells when it holds no longer. */
  resolves: boolean
  count?: { at: readonly number[]; every?: number | undefined }
  after?: { count: number; withinMs: number; per?: readonly string[] | undefined }
  throttle?: { everyMs: number; burst: number; per?: readonly string[] | undefined }
  group?: { waitMs: number; intervalMs: number; max: number; by?: readonly string[] | undefined }
  /** Tells when nothing has come for so long. */
  quiet?: { afterMs: number; per?: readonly string[] | undefined }
  /** What a limit counts by where the rule does not say it. */
  by(limit: string, isEvent: boolean): readonly string[]
}

export const DEFAULT_WAIT_MS = 30_000
export const DEFAULT_INTERVAL_MS = 300_000
const DEFAULT_MAX = 100

/** How long a rule must hold. */
export function forOf({ for: own, condition }: LimitedRule): number | undefined {
  return own ?? condition?.for
}

/** Does it follow the state of objects, and not single events? */
export function followsStates(rule: LimitedRule): boolean {
  return forOf(rule) !== undefined || rule.resolve === true
}

export function planOf(rule: LimitedRule): RulePlan {
  const { name, mute, sample, count, after, throttle, group, resolve } = rule
  const forMs = forOf(rule)
  const resolves = resolve === true
  const quiet = typeof resolve === 'object' ? resolve : undefined
  return {
    name,
    follows: followsStates(rule),
    resolves,
    ...(mute && { muted: createMuted(mute) }),
    ...(sample !== undefined && { sample }),
    ...(forMs !== undefined && { forMs }),
    ...(count && { count }),
    ...(after && { after: { count: after.count, withinMs: after.within, per: after.per } }),
    ...(throttle && {
      throttle: { everyMs: throttle.every, burst: throttle.burst ?? 1, per: throttle.per },
    }),
    ...(group && {
      group: {
        waitMs: group.wait ?? DEFAULT_WAIT_MS,
        intervalMs: group.interval ?? DEFAULT_INTERVAL_MS,
        max: group.max ?? DEFAULT_MAX,
        by: group.by,
      },
    }),
    ...(quiet && { quiet: { afterMs: quiet.after, per: quiet.per ?? group?.by } }),
    by(limit, isEvent) {
      const isGroup = limit === 'group' || (limit === 'quiet' && group !== undefined)
      if (!isGroup) return ['regarding']
      return ['namespace', isEvent ? 'reason' : 'kind']
    },
  }
}
