import { createHash } from 'node:crypto'
import { type KindTest, versionsIn } from '../kind.ts'
import { kindTestOf, type When } from '../when.ts'
import { createMuted, type Muted } from './mute.ts'
import type { RuleLimits } from './schema.ts'

/** The keys of a rule that limits read. */
export type LimitedRule = RuleLimits & {
  name: string
  to?: readonly string[] | undefined
  condition?: { for?: number | undefined } | undefined
  when?: unknown
  if?: unknown
  changed?: unknown
  unchanged?: unknown
  from?: unknown
  'to-state'?: unknown
}

/** Limits with a group key, by the names of their states. */
export type KeyedLimit = 'debounce' | 'after' | 'throttle' | 'group' | 'resolve-after'

/** The limits of a rule, with their defaults. Times in milliseconds. */
export interface RulePlan {
  name: string
  /** The sinks that the rule names; absent if it names none. */
  to?: readonly string[]
  /** Tracks the state of each object instead of single events: `for` and `resolve: true`. */
  tracksState: boolean
  muted?: Muted
  sample?: number
  forMs?: number
  /** Whether a rule that tracks states matches a kind, in any version. */
  ofKind?: KindTest
  /** What a rule that tracks states matches, as JSON. */
  conditions?: string
  /** The rules that track the same states, this one included: each escalates the incidents of the others. */
  sameConditions?: readonly string[]
  /** Emits a notification when the state ends: `resolve: true`. */
  resolves: boolean
  count?: { at: readonly number[]; every?: number | undefined }
  debounce?: { quietMs: number; atMostMs: number; per?: readonly string[] | undefined }
  /** The rule's `debounce` with another group key, before a reload: events can still wait under it. */
  formerDebounce?: { per?: readonly string[] | undefined }
  after?: { count: number; withinMs: number; per?: readonly string[] | undefined }
  throttle?: { everyMs: number; burst: number; per?: readonly string[] | undefined }
  group?: { waitMs: number; intervalMs: number; max: number; by?: readonly string[] | undefined }
  /** `resolve: {after}` */
  resolveAfter?: { afterMs: number; per?: readonly string[] | undefined }
  /** The group key of a limit that has none in the rule. */
  defaultGroupKey(limit: KeyedLimit, isEvent: boolean): readonly string[]
}

export const DEFAULT_WAIT_MS = 30_000
export const DEFAULT_INTERVAL_MS = 300_000
const DEFAULT_MAX = 100
const DEFAULT_GROUP_KEY: readonly string[] = ['regarding']
const LONGEST_MS = 7 * 86_400_000

/** Returns the duration of `for`, which is a key of the rule or of its `condition`; in milliseconds. */
export function forOf({ for: own, condition }: LimitedRule): number | undefined {
  return own ?? condition?.for
}

export function tracksState(rule: LimitedRule): boolean {
  return forOf(rule) !== undefined || rule.resolve === true
}

export function planOf(rule: LimitedRule): RulePlan {
  const { name, to, mute, sample, count, debounce, after, throttle, group, resolve } = rule
  const forMs = forOf(rule)
  const resolveAfter = typeof resolve === 'object' ? resolve : undefined
  return {
    name,
    tracksState: tracksState(rule),
    resolves: resolve === true,
    ...(to && to.length > 0 && { to: [...new Set(to)] }),
    ...(tracksState(rule) && { ...ofKindOf(rule), conditions: conditionsOf(rule) }),
    ...(mute && { muted: createMuted(mute) }),
    ...(sample !== undefined && { sample }),
    ...(forMs !== undefined && { forMs }),
    ...(count && { count }),
    ...(debounce && {
      debounce: {
        quietMs: debounce.quiet,
        atMostMs: debounce.atMost ?? Math.min(10 * debounce.quiet, LONGEST_MS),
        per: debounce.per,
      },
    }),
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
    ...(resolveAfter && {
      resolveAfter: { afterMs: resolveAfter.after, per: resolveAfter.per ?? group?.by },
    }),
    defaultGroupKey(limit, isEvent) {
      const isGroup = limit === 'group' || (limit === 'resolve-after' && group !== undefined)
      return isGroup ? ['namespace', isEvent ? 'reason' : 'kind'] : DEFAULT_GROUP_KEY
    },
  }
}

/** Returns the group key under which events of a rule can still wait after a reload. */
export function formerDebounceOf(
  { debounce }: LimitedRule,
  before: RulePlan | undefined,
): RulePlan['formerDebounce'] {
  const keyOf = (limit: { per?: readonly string[] | undefined } | undefined) =>
    limit && String(limit.per ?? DEFAULT_GROUP_KEY)
  const former = [before?.debounce, before?.formerDebounce].find((it) => it && keyOf(it) !== keyOf(debounce))
  return former && { per: former.per }
}

/** A state goes on when the watch and the rule name another version: the object is the same in each. */
function ofKindOf(rule: LimitedRule): Pick<RulePlan, 'ofKind'> {
  const when = (rule.when ?? {}) as When
  const kinds = kindTestOf(when)
  if (!kinds.ok) return {}
  const versions = versionsIn(when.kind ?? [])
  const isOfKind = kinds.value
  return {
    ofKind: (names) =>
      isOfKind(names) ||
      versions.some(({ version, group }) => group === names.group && isOfKind({ ...names, version })),
  }
}

/** Times and limits of the rule are no part of them. */
function conditionsOf(rule: LimitedRule): string {
  const { for: _, ...condition } = rule.condition ?? {}
  const { when = {}, if: expression, changed, unchanged, from } = rule
  return JSON.stringify({ when, expression, changed, unchanged, from, to: rule['to-state'], condition })
}

/** Whether an event is in the sample. A function of its id: a smaller share is a subset of a larger one. */
export function isSampled(id: string, share: number): boolean {
  return createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32 < share
}
