import { type HeldBy, LIMIT_NAMES } from '../limit.ts'
import type { Metrics } from '../metrics.ts'
import { NOTES, REASONS } from '../sink/outcome.ts'
import { mapInSlices } from '../slices.ts'
import type { WatchStatus } from '../status.ts'
import { isReady, type Vitals } from './health.ts'

const PHASES: readonly WatchStatus['phase'][] = [
  'resolving',
  'waiting-for-kind',
  'listing',
  'watching',
  'reconnecting',
  'failing',
  'standby',
  'stopped',
]
const RELIST_CAUSES = ['expired', 'regression', 'quick-end', 'unreadable', 'stalled']
const RECONNECT_CAUSES = ['end', 'network', 'expired', 'unreadable', 'fenced', 'position-lost', 'stalled']
/** Limits that have states by what they count by. */
const SHARED = ['after', 'throttle', 'group']

interface Named {
  name: string
}

/** What of a rule says how its matches may be held back, and what it tells besides. */
interface ConfiguredRule extends Named {
  drop?: boolean | undefined
  condition?: { for?: number | undefined } | undefined
  group?: unknown
  resolve?: unknown
}

/**
 * Gives every counter of the configuration its first sample, so that `increase()` sees the first event too. What has one keeps
 * its value.
 */
export async function startAtZero(
  metrics: Metrics,
  { sinks, rules }: { sinks: readonly Named[]; rules: readonly ConfiguredRule[] },
): Promise<void> {
  await mapInSlices(rules, (configured) => {
    const { name: rule, group, resolve } = configured
    for (const limit of waysHeld(configured)) metrics.ruleSuppressed.inc({ rule, limit }, 0)
    if (group) metrics.ruleNotices.inc({ rule, notice: 'digest' }, 0)
    if (resolve) metrics.ruleNotices.inc({ rule, notice: 'resolved' }, 0)
    if (SHARED.some((limit) => limit in configured)) metrics.ruleCrowded.inc({ rule }, 0)
    metrics.ruleErrors.inc({ rule }, 0)
    metrics.ruleMatches.inc(rule, 0)
    metrics.ruleWaiting.inc({ rule }, 0)
    metrics.ruleLastMatch.inc({ rule }, 0)
  })
  for (const { name: sink } of sinks) {
    metrics.enqueued.inc({ sink }, 0)
    metrics.enqueuedBytes.inc({ sink }, 0)
    metrics.delivered.inc({ sink }, 0)
    metrics.latency.zero({ sink })
    metrics.batchSeconds.zero({ sink })
    metrics.batchDeliveries.zero({ sink })
    metrics.pending.set({ sink }, 0)
    metrics.pendingLanes.set({ sink }, 0)
    metrics.oldestPending.set({ sink }, 0)
    metrics.deadLetters.set({ sink }, 0)
    metrics.ambiguous.inc({ sink }, 0)
    metrics.sinkMetricsRefused.inc({ sink }, 0)
    for (const note of NOTES) metrics.noted.inc({ sink, note }, 0)
    for (const reason of REASONS) {
      metrics.retried.inc({ sink, reason }, 0)
      metrics.dead.inc({ sink, reason }, 0)
    }
    for (const reason of ['unreadable', 'queue-full']) metrics.dead.inc({ sink, reason }, 0)
    metrics.deadLettersArchived.inc({ sink }, 0)
    metrics.deadLettersDropped.inc({ sink }, 0)
  }
}

/** Why matches of a rule may not be told. What waits for a group, or to have lasted, may be gone with the rule or the watch. */
function waysHeld(rule: ConfiguredRule): readonly HeldBy[] {
  if (rule.drop) return ['drop']
  const limits = LIMIT_NAMES.filter((name) => (rule as unknown as Record<string, unknown>)[name])
  const lasts = limits.includes('for') || rule.condition?.for !== undefined
  const own = lasts ? [...new Set<HeldBy>([...limits, 'for'])] : limits
  return lasts || rule.group ? [...own, 'gone'] : own
}

/** What is known of watches and sinks at the moment that somebody asks. */
export function sampleVitals(metrics: Metrics, { watches, metadata = [], sinks }: Vitals): void {
  // Watches come and go: a kind that is resolved gets the title of its source.
  const { watchReady, watchPhase, lastContact, watchLag } = metrics
  for (const gauge of [watchReady, watchPhase, lastContact, watchLag]) gauge.reset()
  for (const status of [...watches, ...metadata]) {
    const { title: watch, phase: current, lastContactMs } = status
    watchReady.set({ watch }, isReady(status) ? 1 : 0)
    for (const phase of PHASES) watchPhase.set({ watch, phase }, phase === current ? 1 : 0)
    if (lastContactMs > 0) lastContact.set({ watch }, lastContactMs / 1_000)
    if (!hasSource(status)) continue
    startWatchAtZero(metrics, watch, metadata.includes(status))
    // The process that works on it knows.
    if (current !== 'standby') watchLag.set({ watch }, (status.behind?.ms ?? 0) / 1_000)
  }
  for (const { sink, healthy, failingTargets, aside, lastDeliveredMs = 0 } of sinks) {
    metrics.sinkHealthy.set({ sink }, healthy ? 1 : 0)
    metrics.failingTargets.set({ sink }, failingTargets)
    metrics.aside.set({ sink }, aside)
    metrics.lastDelivery.set({ sink }, lastDeliveredMs / 1_000)
  }
}

/** Before that, a title is only what the configuration calls the kind. */
function hasSource({ key, title }: WatchStatus): boolean {
  return key !== title
}

function startWatchAtZero(metrics: Metrics, watch: string, metadataOnly: boolean): void {
  const { observed, unmatched, dropped, matched, limited, malformed, oversized, fenced } = metrics
  const changes = metadataOnly ? [] : [observed, unmatched, dropped, matched, limited, fenced]
  for (const counter of [malformed, oversized, ...changes]) counter.inc({ watch }, 0)
  for (const cause of RELIST_CAUSES) metrics.relists.inc({ watch, cause }, 0)
  for (const cause of RECONNECT_CAUSES) metrics.reconnects.inc({ watch, cause }, 0)
}
