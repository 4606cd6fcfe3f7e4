import { NOTES, REASONS } from '../sink/sink.ts'
import { counter, gauge, histogram, oldest, SECONDS, SIZES, WATCH_WITH_EVENTS } from './metric-types.ts'

const EACH_SINK = { initial: { sink: () => true } }

/** Commits, lanes, sinks and dead letters. */
export const deliveryMetrics = {
  commitSeconds: histogram(
    'commit_duration_seconds',
    'From the first attempt to commit changes to their commit in Redis, pauses included.',
    [],
    SECONDS,
  ),
  commitWaits: oldest(
    'commit_waiting_seconds',
    'Age of the oldest commit in progress; 0 when there is none.',
  ),
  commitChanges: histogram(
    'commit_changes',
    'Changes in one commit; 0 when only the position moves.',
    [],
    SIZES,
  ),
  enqueueSeconds: histogram(
    'enqueue_latency_seconds',
    'From observing a change to its commit in Redis, of the oldest change in each commit.',
    [],
    SECONDS,
  ),
  fenced: counter(
    'commits_fenced_total',
    'Commits refused because another process moved the position.',
    ['watch'],
    WATCH_WITH_EVENTS,
  ),
  enqueued: counter('deliveries_enqueued_total', 'Deliveries added to lanes.', ['sink'], EACH_SINK),
  enqueuedBytes: counter(
    'deliveries_enqueued_bytes_total',
    'Compressed bytes added to lanes.',
    ['sink'],
    EACH_SINK,
  ),
  delivered: counter('deliveries_delivered_total', 'Deliveries that the sink accepted.', ['sink'], EACH_SINK),
  retried: counter(
    'deliveries_retried_total',
    'Failures after which deliveries are retried, by reason.',
    ['sink', 'reason'],
    {
      details: 'A failure of a call counts once for each object in it',
      initial: { sink: () => REASONS },
    },
  ),
  dead: counter(
    'deliveries_dead_total',
    'Deliveries that became dead letters, by reason.',
    ['sink', 'reason'],
    {
      initial: { sink: () => [...REASONS, 'unreadable', 'queue-full'] },
    },
  ),
  latency: histogram(
    'delivery_latency_seconds',
    'From observing a change to its delivery.',
    ['sink'],
    SECONDS,
    EACH_SINK,
  ),
  batchSeconds: histogram(
    'delivery_batch_duration_seconds',
    'Duration of one call of the sink, whatever its outcome.',
    ['sink'],
    SECONDS,
    EACH_SINK,
  ),
  batchDeliveries: histogram(
    'delivery_batch_deliveries',
    'Deliveries in one call of the sink.',
    ['sink'],
    SIZES,
    EACH_SINK,
  ),
  sinkHealthy: gauge(
    'sink_healthy',
    '0 after a call that failed because of the sink itself, until one succeeds or other processes have all of its lanes; else 1.',
    ['sink'],
    {
      read: { sink: ({ healthy }) => (healthy ? 1 : 0) },
    },
  ),
  failingTargets: gauge('sink_failing_targets', 'Channels or topics of the sink that fail.', ['sink'], {
    read: { sink: ({ failingTargets }) => failingTargets },
  }),
  quarantined: gauge(
    'sink_objects_quarantined',
    'Objects in quarantine: they fail while others succeed.',
    ['sink'],
    {
      details: 'Their deliveries are retried alone',
      read: { sink: ({ quarantined }) => quarantined },
    },
  ),
  lastDelivery: gauge(
    'sink_last_delivery_timestamp_seconds',
    'Unix time when the sink last accepted a delivery of this process; 0 before the first.',
    ['sink'],
    { read: { sink: ({ lastDeliveredMs = 0 }) => lastDeliveredMs / 1_000 } },
  ),
  noted: counter('deliveries_noted_total', 'Deliveries in another form than usual.', ['sink', 'note'], {
    details:
      '`digest` (one message for several), `truncated`, `fallback` (plainer, because the receiver refused the usual form)',
    initial: { sink: () => NOTES },
  }),
  ambiguous: counter(
    'deliveries_ambiguous_total',
    'Failures after which the delivery may have arrived, so that its retry may be a duplicate.',
    ['sink'],
    EACH_SINK,
  ),
  pending: gauge('deliveries_pending', 'Deliveries that wait in lanes.', ['sink'], {
    shared: true,
    ...EACH_SINK,
  }),
  pendingLanes: gauge('lanes_pending', 'Lanes in which deliveries wait.', ['sink'], {
    shared: true,
    ...EACH_SINK,
  }),
  oldestPending: gauge(
    'deliveries_oldest_pending_seconds',
    'Age of the oldest waiting delivery; 0 when none waits.',
    ['sink'],
    { shared: true, ...EACH_SINK },
  ),
  queueBytes: gauge(
    'queue_bytes',
    'Estimated bytes of Redis that waiting deliveries of the sink use.',
    ['sink'],
    {
      shared: true,
      details: 'See [bounds of queues](operating.md#bounds-of-queues). Exposed by processes that deliver',
    },
  ),
  queueMaxBytes: gauge(
    'queue_max_bytes',
    'Bound of the sink in bytes: beyond it the oldest deliveries become dead letters.',
    ['sink'],
    { shared: true, details: 'Reason `queue-full`' },
  ),
  queueMaxAge: gauge(
    'queue_max_age_seconds',
    'Bound of the sink in age: deliveries that wait longer become dead letters.',
    ['sink'],
    { shared: true, details: 'Reason `expired`' },
  ),
  deadLettersBytes: gauge('dead_letters_bytes', 'Estimated bytes of Redis that dead letters use.', [], {
    shared: true,
    details: 'Exposed by processes that deliver',
  }),
  deadLettersMaxBytes: gauge(
    'dead_letters_max_bytes',
    'Bound of dead letters in bytes: beyond it the oldest are archived, or dropped.',
    [],
    { shared: true },
  ),
  deadLettersArchived: counter(
    'dead_letters_archived_total',
    'Dead letters beyond their bounds that this process moved to the archive.',
    ['sink'],
    EACH_SINK,
  ),
  deadLettersDropped: counter(
    'dead_letters_dropped_total',
    'Dead letters beyond their bounds that this process deleted without an archive.',
    ['sink'],
    EACH_SINK,
  ),
  deadLetters: gauge('dead_letters', 'Dead letters that have not been retried or dropped.', ['sink'], {
    shared: true,
    ...EACH_SINK,
  }),
  ledgerBalanced: gauge(
    'ledger_balanced',
    '0 while the counters of the ledger contradict each other, else 1.',
    [],
    {
      shared: true,
      details: 'Updated every 15 s',
    },
  ),
  sinkMetricsRefused: counter(
    'sink_metrics_refused_total',
    'Metrics of a plug-in beyond the 50 that one sink type may have; they are not counted.',
    ['sink'],
    EACH_SINK,
  ),
}

export const redisMetrics = {
  redisUp: gauge('redis_up', '1 while Redis answers this process.', []),
  redisReconnects: counter(
    'redis_reconnects_total',
    'Connections to Redis that broke and came back.',
    ['connection'],
    {
      details:
        '`commit` is for commits of watches, `report` for samples and reports, the others for deliveries',
    },
  ),
  redisTrouble: gauge(
    'redis_trouble',
    '1 while Redis refuses writes of this process, or may evict its keys.',
    [],
    {
      details:
        'Causes are a full disk, a replica, missing permissions, a key of another type, a damaged checkpoint. `/readyz` and `status` show the cause',
    },
  ),
  instances: gauge('instances', 'Running processes, by role.', ['role'], {
    shared: true,
    details: '`all`, `watch`, `deliver`',
  }),
  redisMemory: gauge('redis_memory_bytes', 'Memory that Redis uses.', [], { shared: true }),
  redisMaxMemory: gauge('redis_memory_max_bytes', 'Memory limit of Redis (maxmemory); 0 is unlimited.', [], {
    shared: true,
  }),
  backPressure: gauge('back_pressure', '1 while watches pause because Redis is nearly full.', []),
}
