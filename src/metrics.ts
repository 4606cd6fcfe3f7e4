import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { commitWaits, enrichObjects, eventLoopLag, ruleMatches } from './metrics-when-asked.ts'
import { version } from './version.ts'

/**
 * Every metric of the program, in one list; docs/metrics.md explains them. Labels are bounded: watches, sinks and rules of
 * the configuration, and fixed lists. Those of the process have the names that dashboards know: `process_*`, `nodejs_*`.
 */
export function createMetrics() {
  const registry = new Registry()
  // Its sampler would wake the process a hundred times a second.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 2 ** 31 - 1 })
  eventLoopLag(registry)
  // Gauges that are named like counters; those without `_total` say the same by type.
  for (const what of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${what}_total`)
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name: `kubeherald_${name}`, help, labelNames, registers })
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Gauge({ name: `kubeherald_${name}`, help, labelNames, registers })
  const histogram = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    buckets: number[],
  ) => new Histogram({ name: `kubeherald_${name}`, help, labelNames, buckets, registers })

  gauge('build_info', 'The version that runs, in its labels; always 1.', ['version', 'node_version']).set(
    { version, node_version: process.versions.node },
    1,
  )
  const ledgerBalanced = gauge(
    'ledger_balanced',
    '0 while the counters of the ledger contradict each other, else 1.',
    [],
  )
  ledgerBalanced.set(1)

  return {
    registry,
    observed: counter('changes_observed_total', 'Changes seen once, before rules.', ['watch']),
    unmatched: counter('changes_unmatched_total', 'Changes that no rule matched.', ['watch']),
    dropped: counter('changes_dropped_total', 'Changes that a rule dropped.', ['watch']),
    matched: counter('changes_matched_total', 'Changes that at least one rule sent on.', ['watch']),
    limited: counter(
      'changes_limited_total',
      'Changes of which nothing was sent at once, because limits of rules held them back.',
      ['watch'],
    ),
    ruleMatches: ruleMatches(registry),
    ruleSuppressed: counter('rule_suppressed_total', 'Matches of a rule that were not told, by why.', [
      'rule',
      'limit',
    ]),
    ruleCrowded: counter(
      'rule_limits_full_total',
      'Times that a limit of the rule had no room for what it counts by, and let it pass.',
      ['rule'],
    ),
    ruleNotices: counter('rule_notices_total', 'Digests, and notices that something is over.', [
      'rule',
      'notice',
    ]),
    ruleWaiting: gauge('rule_waiting', 'Changes that wait for a digest of the rule, or to have lasted.', [
      'rule',
    ]),
    ruleLastMatch: gauge(
      'rule_last_match_timestamp_seconds',
      'When the rule last matched something, in Unix time; 0 when it never did.',
      ['rule'],
    ),
    ruleErrors: counter('rule_errors_total', 'Rules that failed at run time and so did not match.', ['rule']),
    malformed: counter('frames_malformed_total', 'Watch frames that could not be read.', ['watch']),
    oversized: counter(
      'objects_oversized_total',
      'Objects larger than kubernetes.maxObjectSize, read without their content.',
      ['watch'],
    ),
    relists: counter('watch_relists_total', 'New lists after the first, by cause.', ['watch', 'cause']),
    reconnects: counter('watch_reconnects_total', 'Watch requests after the first, by cause.', [
      'watch',
      'cause',
    ]),
    leaseHeld: gauge('lease_held', '1 while this process holds the lease of the watch.', ['watch']),
    leaseTransitions: counter(
      'lease_transitions_total',
      'Leases of watches that this process acquired, released or lost.',
      ['watch', 'transition'],
    ),
    watchReady: gauge('watch_ready', '1 when the watch has a position, 0 before.', ['watch']),
    watchPhase: gauge('watch_phase', '1 for what the watch does now, 0 for what else it could do.', [
      'watch',
      'phase',
    ]),
    lastContact: gauge(
      'watch_last_contact_timestamp_seconds',
      'When the API server last said something to the watch, in Unix time.',
      ['watch'],
    ),
    watchLag: gauge(
      'watch_lag_seconds',
      'How long the position of the watch has been behind the API server, in seconds; 0 while it is not known to be behind.',
      ['watch'],
    ),
    position: gauge(
      'watch_position_timestamp_seconds',
      'When the stored position of the watch last moved, in Unix time.',
      ['watch'],
    ),
    knownObjects: gauge('watch_objects', 'Objects that the index of the watch knows.', ['watch']),
    apiRequests: counter('api_requests_total', 'Requests to the API server, by what they asked and status.', [
      'verb',
      'code',
    ]),
    apiSeconds: histogram(
      'api_request_duration_seconds',
      'Requests to the API server; of a watch, until its first answer.',
      ['verb'],
      BUCKETS,
    ),
    enrichObjects: enrichObjects(registry),
    enrichMisses: counter(
      'enrich_misses_total',
      'Objects around changes that were decided without them, although rules ask for them.',
      ['resource'],
    ),
    enrichEvictions: counter(
      'enrich_evictions_total',
      'Objects that were forgotten because there are more than may be remembered.',
      ['resource'],
    ),
    enrichWaitSeconds: histogram(
      'enrich_wait_duration_seconds',
      'How long changes waited for objects around them that were not known yet.',
      [],
      BUCKETS,
    ),
    commitSeconds: histogram(
      'commit_duration_seconds',
      'From trying to commit changes to Redis having them, pauses included.',
      [],
      BUCKETS,
    ),
    commitChanges: histogram('commit_changes', 'Changes in one commit.', [], SIZES),
    commitWaits: commitWaits(registry),
    enqueueSeconds: histogram(
      'enqueue_latency_seconds',
      'From observing a change to Redis having it, of the oldest change in each commit.',
      [],
      BUCKETS,
    ),
    fenced: counter('commits_fenced_total', 'Commits refused because another process moved on.', ['watch']),
    enqueued: counter('deliveries_enqueued_total', 'Deliveries put into lanes.', ['sink']),
    enqueuedBytes: counter('deliveries_enqueued_bytes_total', 'Bytes put into lanes, compressed.', ['sink']),
    delivered: counter('deliveries_delivered_total', 'Deliveries that the sink took.', ['sink']),
    retried: counter('deliveries_retried_total', 'Deliveries to be tried again, by reason.', [
      'sink',
      'reason',
    ]),
    dead: counter('deliveries_dead_total', 'Deliveries that became dead letters, by reason.', [
      'sink',
      'reason',
    ]),
    noted: counter('deliveries_noted_total', 'Deliveries in an unusual form: in a digest, cut, plainer.', [
      'sink',
      'note',
    ]),
    ambiguous: counter(
      'deliveries_ambiguous_total',
      'Failures after which nobody knows whether the delivery arrived: its repeat may be a duplicate.',
      ['sink'],
    ),
    batchSeconds: histogram(
      'delivery_batch_duration_seconds',
      'How long the sink took for a batch, whatever came of it.',
      ['sink'],
      BUCKETS,
    ),
    batchDeliveries: histogram('delivery_batch_deliveries', 'Deliveries in one batch.', ['sink'], SIZES),
    failingTargets: gauge('sink_failing_targets', 'Channels or topics of the sink that fail.', ['sink']),
    aside: gauge('sink_objects_aside', 'Objects that fail while others pass, and are tried alone.', ['sink']),
    lastDelivery: gauge(
      'sink_last_delivery_timestamp_seconds',
      'When the sink last took something, in Unix time; 0 when it has not since the start.',
      ['sink'],
    ),
    pending: gauge('deliveries_pending', 'Deliveries waiting in lanes.', ['sink']),
    pendingLanes: gauge('lanes_pending', 'Lanes in which deliveries wait.', ['sink']),
    oldestPending: gauge('deliveries_oldest_pending_seconds', 'Age of the oldest waiting delivery.', [
      'sink',
    ]),
    queueBytes: gauge('queue_bytes', 'Bytes of Redis that waiting deliveries of the sink take, about.', [
      'sink',
    ]),
    queueMaxBytes: gauge(
      'queue_max_bytes',
      'The bound of the sink in bytes: beyond it the oldest deliveries become dead letters.',
      ['sink'],
    ),
    queueMaxAge: gauge(
      'queue_max_age_seconds',
      'The bound of the sink in age: deliveries that wait for longer become dead letters.',
      ['sink'],
    ),
    deadLettersBytes: gauge('dead_letters_bytes', 'Bytes of Redis that dead letters take, about.', []),
    deadLettersMaxBytes: gauge(
      'dead_letters_max_bytes',
      'The bound of dead letters in bytes: beyond it the oldest are archived, or dropped.',
      [],
    ),
    deadLettersArchived: counter(
      'dead_letters_archived_total',
      'Dead letters beyond their bounds that were put into the archive.',
      ['sink'],
    ),
    deadLettersDropped: counter(
      'dead_letters_dropped_total',
      'Dead letters beyond their bounds that were deleted without an archive.',
      ['sink'],
    ),
    deadLetters: gauge('dead_letters', 'Dead letters that wait for somebody to retry or drop them.', [
      'sink',
    ]),
    ledgerBalanced,
    sinkHealthy: gauge('sink_healthy', '1 while the last answer of the sink was no failure of the sink.', [
      'sink',
    ]),
    sinkMetricsRefused: counter(
      'sink_metrics_refused_total',
      'Metrics that a plug-in asked for beyond what one may have.',
      ['sink'],
    ),
    latency: histogram(
      'delivery_latency_seconds',
      'From observing a change to its delivery.',
      ['sink'],
      BUCKETS,
    ),
    instances: gauge('instances', 'Processes that say they are alive, by role.', ['role']),
    configReloads: counter(
      'config_reloads_total',
      'Times that a changed configuration was read, by result.',
      ['result'],
    ),
    configSuccessful: gauge(
      'config_last_reload_successful',
      '1 while the file is the configuration in use.',
      [],
    ),
    configSuccessTime: gauge(
      'config_last_reload_success_timestamp_seconds',
      'When the configuration in use was applied.',
      [],
    ),
    redisUp: gauge('redis_up', '1 while Redis answers.', []),
    redisTrouble: gauge(
      'redis_trouble',
      '1 while Redis refuses what this process writes, or may evict it; /readyz and status show why.',
      [],
    ),
    redisMemory: gauge('redis_memory_bytes', 'Memory that Redis uses.', []),
    redisMaxMemory: gauge('redis_memory_max_bytes', 'Memory limit of Redis (maxmemory); 0 is unlimited.', []),
    redisReconnects: counter('redis_reconnects_total', 'Connections to Redis that broke and came back.', [
      'connection',
    ]),
    backPressure: gauge('back_pressure', '1 while watches pause because Redis is nearly full.', []),
  }
}

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000]

export type Metrics = ReturnType<typeof createMetrics>
