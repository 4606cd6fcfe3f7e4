import { LIMIT_NAMES, type SuppressedBy } from '../model/limit.ts'
import type { WatchStatus } from '../model/status.ts'
import {
  type ConfiguredRule,
  collected,
  counter,
  gauge,
  histogram,
  SECONDS,
  tally,
  WATCH_WITH_EVENTS,
} from './metric-types.ts'

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
const RECONNECT_CAUSES = [
  'end',
  'network',
  'internal',
  'expired',
  'unreadable',
  'fenced',
  'position-lost',
  'stalled',
]
/** Limits with a state for each value that they count by. */
const KEYED_LIMITS = ['debounce', 'after', 'throttle', 'group']

const EACH_RULE = { initial: { rule: () => true } }
const EACH_WATCH = { initial: { watch: () => true } }

export const buildMetrics = {
  buildInfo: gauge('build_info', 'The running version, in its labels; always 1.', [
    'version',
    'node_version',
  ]),
}

export const configurationMetrics = {
  configReloads: counter(
    'config_reloads_total',
    'Attempts to load a changed configuration, by result.',
    ['result'],
    {
      details:
        '`success`, or `failure` when the file has a problem and the previous configuration stays in use',
    },
  ),
  configSuccessful: gauge(
    'config_last_reload_successful',
    '1 while the file is the configuration in use, 0 after a failed reload.',
    [],
  ),
  configSuccessTime: gauge(
    'config_last_reload_success_timestamp_seconds',
    'Unix time when the configuration in use was loaded.',
    [],
  ),
}

/** Watches, rules and metadata: everything before the commit. */
export const watchMetrics = {
  watchReady: gauge('watch_ready', '1 when the watch has a position, else 0.', ['watch'], {
    details:
      'Also 1 while the position does not move (`kubeherald_watch_lag_seconds`), while the kind is not installed, and while another process works on the watch',
    read: { watch: ({ ready }) => (ready ? 1 : 0) },
  }),
  watchPhase: gauge(
    'watch_phase',
    '1 for the current phase of the watch, 0 for the others.',
    ['watch', 'phase'],
    {
      details: 'The phases are below',
      read: {
        watch: (status) => Object.fromEntries(PHASES.map((phase) => [phase, phase === status.phase ? 1 : 0])),
      },
    },
  ),
  lastContact: gauge(
    'watch_last_contact_timestamp_seconds',
    'Unix time when the API server last sent data to the watch.',
    ['watch'],
    {
      details: 'Missing before the first data; not updated while another process works on the watch',
      read: { watch: ({ lastContactMs }) => (lastContactMs > 0 ? lastContactMs / 1_000 : undefined) },
    },
  ),
  watchLag: gauge(
    'watch_lag_seconds',
    'Time for which the position of the watch has been behind the API server; 0 while it is not known to be behind.',
    ['watch'],
    {
      details:
        'Includes the time for which the positions could not be compared. Missing while another process works on the watch. [How it is measured](#how-far-a-watch-is-behind)',
      read: { watch: lagOf },
    },
  ),
  position: gauge(
    'watch_position_timestamp_seconds',
    'Unix time when the stored position of the watch last moved.',
    ['watch'],
    { shared: true, details: 'Exposed by processes that watch' },
  ),
  knownObjects: gauge('watch_objects', 'Objects in the index of the watch.', ['watch'], {
    shared: true,
    details: 'Exposed by processes that watch',
  }),
  leaseHeld: gauge('lease_held', '1 while this process holds the lease of the watch.', ['watch'], {
    details: 'Only with `leases`. The `sum` over all processes is 1, and 0 while a watch changes hands',
  }),
  leaseTransitions: counter(
    'lease_transitions_total',
    'Leases of watches that this process acquired, released or lost.',
    ['watch', 'transition'],
    { details: '`lost`: another process took it, or it was not renewed in time' },
  ),
  observed: counter(
    'changes_observed_total',
    'Observed changes, before rules; each counts once.',
    ['watch'],
    WATCH_WITH_EVENTS,
  ),
  unmatched: counter(
    'changes_unmatched_total',
    'Changes that matched no rule.',
    ['watch'],
    WATCH_WITH_EVENTS,
  ),
  dropped: counter(
    'changes_dropped_total',
    'Changes that a rule with drop: true ended.',
    ['watch'],
    WATCH_WITH_EVENTS,
  ),
  matched: counter(
    'changes_matched_total',
    'Changes that at least one rule sent to a sink.',
    ['watch'],
    WATCH_WITH_EVENTS,
  ),
  limited: counter(
    'changes_limited_total',
    'Changes that matched a rule, and were all suppressed or held by limits.',
    ['watch'],
    WATCH_WITH_EVENTS,
  ),
  ruleMatches: tally('rule_matches_total', 'Events that met the conditions of the rule.', 'rule', EACH_RULE),
  ruleErrors: counter(
    'rule_errors_total',
    'Evaluations of the rule that failed at run time, and count as no match, or with onError: deliver as a match.',
    ['rule'],
    EACH_RULE,
  ),
  silences: gauge('silences', 'Silences in force, as this process knows them.', []),
  silencesUntested: counter(
    'silences_untested_total',
    'Events of a rule that a silence could not test, because a value is too long for its pattern: it does not suppress them.',
    [],
  ),
  ruleSuppressed: counter(
    'rule_suppressed_total',
    'Suppressed matches of the rule, by reason.',
    ['rule', 'limit'],
    {
      details:
        'A limit (`mute`, `sample`, `count`, `debounce`, `after`, `throttle`, `for`, `resolve`), `drop`, `silence`, `acknowledged` (somebody has taken over the incident), or `gone`: the rule or the watch was removed',
      initial: { rule: suppressionReasons },
    },
  ),
  ruleCrowded: counter(
    'rule_limits_full_total',
    'Events for which a limit of the rule was at capacity.',
    ['rule'],
    {
      details:
        'A limit counts by at most 10,000 objects or values. Beyond that, `debounce`, `after` and `throttle` let the event pass, and `group` collects it with the others beyond the bound',
      initial: { rule: (rule) => KEYED_LIMITS.some((limit) => limit in rule) },
    },
  ),
  ruleNotices: counter(
    'rule_notices_total',
    'Digests and resolve notifications of the rule.',
    ['rule', 'notice'],
    {
      details: '`digest`, `resolved`',
      initial: {
        rule: ({ group, resolve }) => [...(group ? ['digest'] : []), ...(resolve ? ['resolved'] : [])],
      },
    },
  ),
  ruleWaiting: gauge(
    'rule_waiting',
    'Changes that wait for a digest of the rule, or for its "for" to pass.',
    ['rule'],
    {
      shared: true,
      details: 'Updated every 15 s; for removed rules as long as changes wait',
      ...EACH_RULE,
    },
  ),
  ruleLastMatch: gauge(
    'rule_last_match_timestamp_seconds',
    'Unix time of the last match of the rule in any process; 0 before the first.',
    ['rule'],
    { shared: true, details: 'Updated every 15 s', ...EACH_RULE },
  ),
  malformed: counter(
    'frames_malformed_total',
    'Watch frames and objects that could not be read.',
    ['watch'],
    EACH_WATCH,
  ),
  oversized: counter(
    'objects_oversized_total',
    'Objects larger than kubernetes.maxObjectSize, of which only the metadata was read.',
    ['watch'],
    { details: 'The log names them', ...EACH_WATCH },
  ),
  watchDifferences: gauge(
    'watch_index_differences',
    'Objects of which the index and the cluster differed, in the last comparison.',
    ['watch'],
    {
      details:
        '0 is expected, and before the first one. Only of watches with `verify`, in the process that works on the watch',
    },
  ),
  watchVerified: gauge(
    'watch_verified_timestamp_seconds',
    'When the index was last compared with the cluster; 0 before the first time.',
    ['watch'],
    { details: 'Only of watches with `verify`, in the process that works on the watch' },
  ),
  relists: counter('watch_relists_total', 'Lists after the first one, by cause.', ['watch', 'cause'], {
    details: 'Each is compared with the index. The causes are below',
    initial: { watch: () => RELIST_CAUSES },
  }),
  reconnects: counter(
    'watch_reconnects_total',
    'Watch requests after the first one, by cause.',
    ['watch', 'cause'],
    {
      details: 'The causes are below',
      initial: { watch: () => RECONNECT_CAUSES },
    },
  ),
  enrichObjects: collected(
    'enrich_objects',
    'Objects whose metadata is cached, because rules use it.',
    'resource',
    {
      details:
        'See [enrich](configuration.md#enrich). Without objects that were deleted in the last ten minutes',
    },
  ),
  enrichMisses: counter(
    'enrich_misses_total',
    'Related objects that rules use and that were not known when a change was evaluated.',
    ['resource'],
    {
      details:
        'They arrived too late, or may not be read. `unknown` while the kinds of the cluster are not known',
    },
  ),
  enrichEvictions: counter(
    'enrich_evictions_total',
    'Related objects removed from the cache for lack of room.',
    ['resource'],
    { details: 'More than `enrich.maxObjects`, or many or very long labels: the log has the reason' },
  ),
  enrichWaitSeconds: histogram(
    'enrich_wait_duration_seconds',
    'Time for which changes waited for related objects; only of changes that waited.',
    [],
    SECONDS,
  ),
  logReads: counter(
    'log_reads_total',
    'Logs of containers that rules with `logs` asked for, by outcome.',
    ['outcome'],
    {
      details:
        '`read`; `gone`: the pod or the log no longer exists; `not-started`; `forbidden`; `timeout`; `rate`: more than `kubernetes.logsPerSecond`; `failed`. See [logs](rules/logs.md)',
    },
  ),
  apiRequests: counter(
    'api_requests_total',
    'Requests to the API server, by verb and status code.',
    ['verb', 'code'],
    {
      details:
        '`get` (discovery, pages of lists, Leases), `watch` (streams), `create`, `update` and `delete` (Leases); `code` is the status, `other` for a rare one, `none` without an answer',
    },
  ),
  apiSeconds: histogram(
    'api_request_duration_seconds',
    'Duration of requests to the API server; of watches and pages of lists, until the answer begins.',
    ['verb'],
    SECONDS,
  ),
}

/** In seconds. The process that works on the watch knows it; while no process is known to, each counts. */
function lagOf({ key, title, phase, behind, holder }: WatchStatus): number | undefined {
  // Without a source the title is only the configuration's spelling of the kind.
  if (key === title || (phase === 'standby' && holder !== '')) return undefined
  return (behind?.ms ?? 0) / 1_000
}

/** The reasons for which matches of a rule may be suppressed. `gone` concerns changes that wait for `group` or `for`. */
function suppressionReasons(rule: ConfiguredRule): readonly SuppressedBy[] {
  if (rule.drop) return ['drop']
  const limits = LIMIT_NAMES.filter((name) => (rule as unknown as Record<string, unknown>)[name])
  const hasFor = limits.includes('for') || rule.condition?.for !== undefined
  const own = hasFor ? [...new Set<SuppressedBy>([...limits, 'for'])] : limits
  return hasFor || rule.group ? [...own, 'gone'] : own
}
