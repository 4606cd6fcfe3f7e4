import {
  type LimitOutcome,
  NO_RULE_COUNTS,
  type RuleCounts,
  SUPPRESSED_BY,
  type SuppressedBy,
  sumOfCounts,
} from '../../model/limit.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { Transaction } from '../commit/transaction.ts'
import type { Keys } from '../keys.ts'

const COUNTS = ['matched', 'sent', 'digested', 'waiting', 'notices'] as const
const SUPPRESSED = 'suppressed:'
const PASSED = 'passed'
const TIMES_MS = 1_000

export function joinRules(
  ...parts: readonly (ReadonlyMap<string, RuleCounts> | undefined)[]
): ReadonlyMap<string, RuleCounts> {
  const [first, ...others] = parts.filter((it) => it !== undefined && it.size > 0)
  if (!first || others.length === 0) return first ?? new Map()
  const joined = new Map(first)
  for (const part of others)
    for (const [rule, counts] of part ?? []) {
      const before = joined.get(rule)
      joined.set(rule, before ? sumOfCounts(before, counts) : counts)
    }
  return joined
}

/** Queues changes of the rules' counts. `passed` counts events that were matched and sent immediately, the usual case, by one command. */
export function writeRules(
  transaction: Transaction,
  keys: Keys,
  rules: ReadonlyMap<string, RuleCounts>,
  { nowMs, times }: { nowMs: number; times?: RuleTimes },
): void {
  const matched: (number | string)[] = []
  for (const [rule, counts] of rules) {
    const key = keys.ruleLedger(rule)
    const passed = counts.matched === counts.sent ? counts.sent : 0
    if (passed > 0) transaction.add('HINCRBY', key, PASSED, passed)
    for (const name of COUNTS) {
      const count = counts[name] - (name === 'matched' || name === 'sent' ? passed : 0)
      if (count !== 0) transaction.add('HINCRBY', key, name, count)
    }
    for (const [by, count] of Object.entries(counts.suppressed))
      if (count) transaction.add('HINCRBY', key, `${SUPPRESSED}${by}`, count)
    if (counts.matched > 0 && times?.isDue(rule, nowMs) !== false) matched.push(nowMs, rule)
  }
  if (matched.length > 0) transaction.add('ZADD', keys.rules, ...matched)
}

/** The time of a rule's last match is written at most once a second. */
export class RuleTimes {
  readonly #writtenMs = new Map<string, number>()

  isDue(rule: string, nowMs: number): boolean {
    const writtenMs = this.#writtenMs.get(rule)
    return writtenMs === undefined || nowMs < writtenMs || nowMs >= writtenMs + TIMES_MS
  }

  /** Call when the commit is durable. */
  written(rules: ReadonlyMap<string, RuleCounts>, nowMs: number): void {
    for (const [rule, { matched }] of rules)
      if (matched > 0 && this.isDue(rule, nowMs)) this.#writtenMs.set(rule, nowMs)
  }
}

/** Updates the metrics of a durable commit. */
export function countRules(metrics: Metrics, rules: ReadonlyMap<string, RuleCounts>): void {
  for (const [rule, { suppressed }] of rules)
    for (const [limit, count] of Object.entries(suppressed))
      if (count) metrics.ruleSuppressed.inc({ rule, limit }, count)
}

export function countNotices(metrics: Metrics, { deliveries }: LimitOutcome): void {
  const counted = new Set<string>()
  for (const { rule, event, notice } of deliveries) {
    const one = notice && `${rule} ${notice.kind} ${event.id}`
    if (one === undefined || counted.has(one)) continue
    counted.add(one)
    metrics.ruleNotices.inc({ rule, notice: notice?.kind ?? '' })
  }
}

/** Parses a rule's hash, which can contain limits of a newer version. */
export function parseRule(hash: Record<string, string>): RuleCounts {
  const counts = { ...NO_RULE_COUNTS, suppressed: {} as Partial<Record<SuppressedBy, number>> }
  for (const name of COUNTS) counts[name] = Number(hash[name] ?? 0)
  const passed = Number(hash[PASSED] ?? 0)
  counts.matched += passed
  counts.sent += passed
  const stored = Object.keys(hash).filter((field) => field.startsWith(SUPPRESSED))
  for (const by of new Set([...SUPPRESSED_BY, ...stored.map((field) => field.slice(SUPPRESSED.length))])) {
    const count = Number(hash[`${SUPPRESSED}${by}`] ?? 0)
    if (count !== 0) counts.suppressed[by as SuppressedBy] = count
  }
  return counts
}

/** `matched = sent + digested + waiting + all of suppressed` */
export function ruleBalances({ matched, sent, digested, waiting, suppressed }: RuleCounts): boolean {
  const held = Object.values(suppressed).reduce((total, count) => total + count, 0)
  return matched === sent + digested + waiting + held
}
