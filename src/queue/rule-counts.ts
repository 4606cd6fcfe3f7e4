import type { ChainableCommander } from 'ioredis'
import {
  type HeldBy,
  type LimitOutcome,
  NO_RULE_COUNTS,
  type RuleCounts,
  sumOfCounts,
  WAYS_HELD,
} from '../limit.ts'
import type { Metrics } from '../metrics.ts'
import type { Keys } from './keys.ts'

const COUNTS = ['matched', 'sent', 'digested', 'waiting', 'notices'] as const
const SUPPRESSED = 'suppressed:'

/** Both together, by rule. */
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

/** Queues changes of the rules' counts. */
export function writeRules(
  multi: ChainableCommander,
  keys: Keys,
  rules: ReadonlyMap<string, RuleCounts>,
  nowMs: number,
): void {
  const matched: (number | string)[] = []
  for (const [rule, counts] of rules) {
    const key = keys.ruleLedger(rule)
    for (const name of COUNTS) if (counts[name] !== 0) multi.hincrby(key, name, counts[name])
    for (const [by, count] of Object.entries(counts.suppressed))
      if (count) multi.hincrby(key, `${SUPPRESSED}${by}`, count)
    if (counts.matched > 0) matched.push(nowMs, rule)
  }
  if (matched.length > 0) multi.zadd(keys.rules, ...matched)
}

/** Counts what is durable. */
export function countRules(metrics: Metrics, rules: ReadonlyMap<string, RuleCounts>): void {
  for (const [rule, { suppressed }] of rules)
    for (const [limit, count] of Object.entries(suppressed))
      if (count) metrics.ruleSuppressed.inc({ rule, limit }, count)
}

/** One notice may go to several sinks. */
export function countNotices(metrics: Metrics, { deliveries }: LimitOutcome): void {
  const told = new Set<string>()
  for (const { rule, event, notice } of deliveries) {
    const one = notice && `${rule} ${notice.kind} ${event.id}`
    if (one === undefined || told.has(one)) continue
    told.add(one)
    metrics.ruleNotices.inc({ rule, notice: notice?.kind ?? '' })
  }
}

/** What a rule's hash holds; also what limits held back that only a newer version knows. */
export function parseRule(hash: Record<string, string>): RuleCounts {
  const counts = { ...NO_RULE_COUNTS, suppressed: {} as Partial<Record<HeldBy, number>> }
  for (const name of COUNTS) counts[name] = Number(hash[name] ?? 0)
  const stored = Object.keys(hash).filter((field) => field.startsWith(SUPPRESSED))
  for (const by of new Set([...WAYS_HELD, ...stored.map((field) => field.slice(SUPPRESSED.length))])) {
    const count = Number(hash[`${SUPPRESSED}${by}`] ?? 0)
    if (count !== 0) counts.suppressed[by as HeldBy] = count
  }
  return counts
}

/** `matched = sent + digested + waiting + all of suppressed` */
export function ruleBalances({ matched, sent, digested, waiting, suppressed }: RuleCounts): boolean {
  const held = Object.values(suppressed).reduce((total, count) => total + count, 0)
  return matched === sent + digested + waiting + held
}
