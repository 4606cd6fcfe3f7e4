import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/schema.ts'
import type { ConfigStatus } from '../model/status.ts'
import { forgetSeries } from '../observe/forget-series.ts'
import type { Logger } from '../observe/log.ts'
import { type Metrics, startAtZero } from '../observe/metrics.ts'
import type { Lanes } from '../store/lanes/lanes.ts'
import { placeOf } from '../store/redis/redis-target.ts'
import { mapInSlices } from '../text/yielding.ts'
import type { WatchManager } from '../watch/reflector/manager.ts'
import { type ConfigSnapshotParts, type ConfigSnapshots, createConfigSnapshot } from './config-snapshot.ts'
import type { Enrichment } from './metadata-informers.ts'
import { prefixOf } from './sink-set/contexts.ts'
import type { SinkHealth } from './sink-set/health.ts'
import type { SinkSet } from './sink-set/set.ts'

interface ApplyParts {
  snapshots: ConfigSnapshots
  snapshotParts: ConfigSnapshotParts
  sinkSet: SinkSet
  /** False for a process that does not deliver. */
  delivers: boolean
  lanes: Pick<Lanes, 'use' | 'tryNow'>
  watches: Pick<WatchManager, 'apply' | 'reopen'> | undefined
  enrichment: Pick<Enrichment, 'prepare' | 'use'> | undefined
  health: SinkHealth
  metrics: Metrics
  log: Logger
}

/**
 * Applies another configuration. The steps that can fail come first and change nothing; then everything is replaced together, between
 * two commits and two batches: each of those uses one configuration from its beginning to its end.
 */
export async function apply(parts: ApplyParts, config: Config): Promise<Differences> {
  const { snapshots, sinkSet, lanes, watches, health, metrics } = parts
  const next = await createConfigSnapshot(config, { ...parts.snapshotParts, before: snapshots.current })
  const delivered = parts.delivers ? config.sinks : []
  await using prepared = await sinkSet.prepare(delivered, next.choices.typeOf)
  await parts.enrichment?.prepare(next.needs)

  const before = snapshots.current
  const changes = await differences(before.config, config)
  const newRules = new Set([...changes.rules.added, ...changes.rules.changed])
  await startAtZero(metrics, {
    sinks: config.sinks.filter(({ name }) => changes.sinks.added.includes(name)),
    rules: config.rules.filter(({ name }) => newRules.has(name)),
  })
  const { retyped, oldPrefixes } = otherTypes(snapshots, delivered)
  snapshots.exchange(next)
  parts.enrichment?.use(next.needs, config.enrich?.maxObjects)
  prepared.use()
  lanes.use(
    delivered.map(({ name }) => name),
    retyped,
  )
  watches?.apply(config.watch)
  // A session decides when it is opened whether it stores previous objects.
  watches?.reopen((resource) => before.keepsPrevious(resource) !== next.keepsPrevious(resource))

  lanes.tryNow(prepared.opened)
  health.ask(prepared.opened)
  await forgetSeries(metrics.registry, 'rule', changes.rules.removed)
  for (const [sink, prefix] of oldPrefixes) await forgetSeries(metrics.registry, 'sink', [sink], prefix)
  if (!parts.delivers) {
    // No lane of this process waits for them, so that nothing lets go of them later.
    for (const sink of changes.sinks.removed) snapshots.forget(sink)
    await forgetSeries(metrics.registry, 'sink', changes.sinks.removed)
  }
  return changes
}

/** Closes a removed sink for which no delivery waits. */
export async function letGo(
  { snapshots, health, sinkSet, metrics, log }: ApplyParts,
  sink: string,
): Promise<void> {
  log.info({ sink }, 'the removed sink has no waiting deliveries any more: it is closed')
  snapshots.forget(sink)
  health.forget(sink)
  await Promise.all([sinkSet.drop(sink), forgetSeries(metrics.registry, 'sink', [sink])])
}

/** Returns the sinks whose name has another type now, with the metric prefixes of their old types. */
function otherTypes(snapshots: ConfigSnapshots, sinks: Config['sinks']) {
  const retyped = new Set<string>()
  const oldPrefixes = new Map<string, string>()
  for (const { name, type } of sinks) {
    const before = snapshots.of(name).config.sinks.find((sink) => sink.name === name)
    if (!before || before.type === type) continue
    retyped.add(name)
    oldPrefixes.set(name, prefixOf(before.type))
  }
  return { retyped, oldPrefixes }
}

/** Names that were added, removed or changed. */
interface Changed {
  added: readonly string[]
  removed: readonly string[]
  changed: readonly string[]
}

/** The differences of two configurations. Contains no values, because they can be secrets. */
export interface Differences {
  /** Entries of `watch:` by their kinds; an entry with other selectors is another entry. */
  watches: Changed
  sinks: Changed
  rules: Changed
  /** The remaining rules have another order. */
  reordered: boolean
  /** Changed keys that need a restart. */
  restart: readonly string[]
}

/**
 * Compares the values as read, because compiled templates and options are not comparable. Yields to the event loop, because
 * there can be thousands of rules.
 */
export async function differences(before: Config, after: Config): Promise<Differences> {
  const [rulesBefore, rulesAfter] = [await rulesOf(before), await rulesOf(after)]
  const stay = (rules: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>) =>
    [...rules.keys()].filter((name) => others.has(name))
  return {
    watches: compareEntries(before.watch, after.watch),
    sinks: compare(sinksOf(before), sinksOf(after)),
    rules: compare(rulesBefore, rulesAfter),
    reordered: !isDeepStrictEqual(stay(rulesBefore, rulesAfter), stay(rulesAfter, rulesBefore)),
    restart: restartKeys(before, after),
  }
}

/** Returns `+1 watch, -2 sinks, rules changed`; undefined without differences. */
export function describeDifferences({ watches, sinks, rules, reordered }: Differences): string | undefined {
  const rulesChanged = reordered || Object.values(rules).some(({ length }) => length > 0)
  const parts = [
    ...describeChanged(watches, 'watch', 'watches'),
    ...describeChanged(sinks, 'sink', 'sinks'),
    ...(rulesChanged ? ['rules changed'] : []),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}

function describeChanged({ added, removed, changed }: Changed, one: string, many: string): string[] {
  const count = (n: number) => `${n} ${n === 1 ? one : many}`
  return [
    ...(added.length > 0 ? [`+${count(added.length)}`] : []),
    ...(removed.length > 0 ? [`-${count(removed.length)}`] : []),
    ...(changed.length > 0 ? [`${count(changed.length)} changed`] : []),
  ]
}

/** Keys that a reload applies, and keys that only describe the file. */
const APPLIED = new Set<string>([
  'watch',
  'sinks',
  'rules',
  'journal',
  'history',
  'deadLetters',
  'enrich',
  'notify',
  'routes',
  'placeOf',
  'secrets',
  'written',
] satisfies (keyof Config)[])

/** Returns the changed keys that need a restart. */
export function restartKeys(before: Config, after: Config): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  const under = (config: Config, key: string) =>
    key === 'redis'
      ? placeOf(config.redis)
      : key === 'server'
        ? listening(config.server)
        : (config as unknown as Record<string, unknown>)[key]
  return [...keys]
    .filter((key) => !APPLIED.has(key) && !isDeepStrictEqual(under(before, key), under(after, key)))
    .toSorted()
}

/** Omits who may use the API: that is asked of the configuration in force. */
function listening(server: Config['server']): unknown {
  return server && [server.host, server.port]
}

async function rulesOf({ written, rules }: Config): Promise<Map<string, string>> {
  const list = (written?.['rules'] ?? rules) as readonly { name: string }[]
  return new Map(await mapInSlices(list, (rule) => [rule.name, JSON.stringify(rule)]))
}

function sinksOf({ written, sinks }: Config): Map<string, string> {
  const sections = written?.['sinks'] as Record<string, unknown> | undefined
  return new Map(sinks.map(({ name, source }) => [name, JSON.stringify(sections?.[name]) ?? source]))
}

function compare(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Changed {
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after]
      .filter(([name, text]) => before.has(name) && before.get(name) !== text)
      .map(([name]) => name),
  }
}

function compareEntries(before: Config['watch'], after: Config['watch']): Changed {
  const without = (entries: Config['watch'], others: Config['watch']) => {
    const known = new Set(others.map(identityOf))
    return entries.filter((entry) => !known.has(identityOf(entry))).map(({ kind }) => kind)
  }
  return { added: without(after, before), removed: without(before, after), changed: [] }
}

/** Compares independently of the order of keys. */
function identityOf(entry: Config['watch'][number]): string {
  return JSON.stringify(Object.entries(entry).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** The state of the configuration's reloads, for status, readiness and metrics. */
export interface ReloadState {
  status(): ConfigStatus
  /** A file was applied; `restart` lists its keys that need a restart. */
  applied(digest: string | undefined, restart: readonly string[]): void
  /** A file was rejected: reason without secrets, and `file:line`. The running configuration stays. */
  rejected(problem: string, place?: string): void
}

/** Creates the state, with the configuration of the start applied. */
export function createReloadState(
  { metrics, clock }: { metrics: Metrics; clock: { now(): number } },
  digest: string | undefined,
): ReloadState {
  let status = statusOf(digest, [], clock.now())
  const succeeded = () => {
    metrics.configSuccessful.set(1)
    metrics.configSuccessTime.set(status.appliedMs / 1_000)
  }
  succeeded()
  for (const result of ['success', 'failure']) metrics.configReloads.inc({ result }, 0)
  return {
    status: () => status,
    applied(newDigest, restart) {
      status = statusOf(newDigest, restart, clock.now())
      metrics.configReloads.inc({ result: 'success' })
      succeeded()
    },
    rejected(problem, place) {
      const sinceMs = status.rejected?.sinceMs ?? clock.now()
      status = { ...status, rejected: { problem, sinceMs, ...(place !== undefined && { place }) } }
      metrics.configReloads.inc({ result: 'failure' })
      metrics.configSuccessful.set(0)
    },
  }
}

function statusOf(digest: string | undefined, restart: readonly string[], appliedMs: number): ConfigStatus {
  return { appliedMs, ...(digest !== undefined && { digest }), ...(restart.length > 0 && { restart }) }
}
