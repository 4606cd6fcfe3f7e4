import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { version } from './version.ts'

/**
 * Every metric of the program, in one list; docs/metrics.md explains them. Labels are bounded: watches, sinks and reasons
 * of the configuration. Those of the process have the names that dashboards know: `process_*`, `nodejs_*`.
 */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
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
    ruleErrors: counter('rule_errors_total', 'Rules that failed at run time and so did not match.', ['rule']),
    malformed: counter('frames_malformed_total', 'Watch frames that could not be read.', ['watch']),
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
    watchReady: gauge('watch_ready', '1 when the watch has a position and makes progress.', ['watch']),
    commitSeconds: histogram(
      'commit_duration_seconds',
      'From trying to commit changes to Redis having them, pauses included.',
      [],
      BUCKETS,
    ),
    fenced: counter('commits_fenced_total', 'Commits refused because another process moved on.', ['watch']),
    enqueued: counter('deliveries_enqueued_total', 'Deliveries put into lanes.', ['sink']),
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
    failingTargets: gauge('sink_failing_targets', 'Channels or topics of the sink that fail.', ['sink']),
    pending: gauge('deliveries_pending', 'Deliveries waiting in lanes.', ['sink']),
    oldestPending: gauge('deliveries_oldest_pending_seconds', 'Age of the oldest waiting delivery.', [
      'sink',
    ]),
    deadLetters: gauge('dead_letters', 'Dead letters that wait for somebody to retry or drop them.', [
      'sink',
    ]),
    ledgerBalanced,
    sinkHealthy: gauge('sink_healthy', '1 while the last answer of the sink was no failure of the sink.', [
      'sink',
    ]),
    latency: histogram(
      'delivery_latency_seconds',
      'From observing a change to its delivery.',
      ['sink'],
      BUCKETS,
    ),
    redisUp: gauge('redis_up', '1 while Redis answers.', []),
    redisMemory: gauge('redis_memory_bytes', 'Memory that Redis uses.', []),
    redisMaxMemory: gauge('redis_memory_max_bytes', 'Memory limit of Redis (maxmemory); 0 is unlimited.', []),
    backPressure: gauge('back_pressure', '1 while watches pause because Redis is nearly full.', []),
  }
}

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export type Metrics = ReturnType<typeof createMetrics>
