import { hostname } from 'node:os'
import type { Redis } from 'ioredis'
import type { ConfigStatus, QueueStatus, RuleStatus, SinkStatus, WatchStatus } from '../model/status.ts'
import { version } from '../version.ts'
import { readReport, readRules } from './commit/stored-json.ts'
import type { Keys } from './keys.ts'
import { describeFault, isRefusal, type Troubles } from './redis/redis-fault.ts'
import { valuesOf } from './redis/script.ts'

/** The state of a running process, for `kubeherald status`. */
export interface InstanceReport {
  id: string
  role: 'all' | 'watch' | 'deliver'
  version: string
  host: string
  pid: number
  startedMs: number
  atMs: number
  config?: ConfigStatus
  watches: readonly WatchStatus[]
  /** Watches of related metadata, if rules need any. */
  metadata?: readonly WatchStatus[]
  sinks: readonly SinkStatus[]
  /** The rules of its configuration, in order; undefined if they were not read. */
  rules?: readonly RuleStatus[]
  /** The bytes and bounds of dead letters; undefined for a process that does not deliver. */
  deadLetters?: QueueStatus
  /** Set while watches pause because Redis is nearly full. */
  backPressure?: true
  /** Why it cannot write to Redis, or not safely. */
  redisTrouble?: string
}

const MOST_INSTANCES = 10_000

/** A report expires if it is not renewed within this time. */
const REPORT_TTL_MS = 15_000

const REPORT_MS = 2_000

const REPORT = 'the report for status'

/** Stores a report for other processes and `kubeherald status`, and renews it until it is closed. */
export function startReporting(
  { redis, keys, clock, id }: { redis: Redis; keys: Keys; clock: { now(): number }; id: string },
  role: InstanceReport['role'],
  view: () => Pick<
    InstanceReport,
    'config' | 'watches' | 'metadata' | 'sinks' | 'rules' | 'deadLetters' | 'backPressure' | 'redisTrouble'
  >,
  troubles?: Troubles,
) {
  const fixed = {
    id,
    role,
    version,
    host: hostname(),
    pid: process.pid,
    startedMs: clock.now(),
  }
  // A Redis that refuses writes shows here first, also while there is nothing to commit or to deliver.
  const publish = () =>
    publishReport(redis, keys, { ...fixed, atMs: clock.now(), ...view() }).then(
      () => troubles?.over(REPORT),
      (error) => {
        if (isRefusal(error)) troubles?.note(REPORT, describeFault(error))
      },
    )
  const timer = setInterval(publish, REPORT_MS)
  void publish()
  return {
    async close() {
      clearInterval(timer)
      await withdrawReport(redis, keys, id).catch(() => {})
    },
  }
}

/** Stores a report; renew it every few seconds. Rules lie apart: there may be many, and few readers want them. */
export async function publishReport(
  redis: Redis,
  keys: Keys,
  { rules, ...report }: InstanceReport,
): Promise<void> {
  const multi = redis.multi()
  if (rules) multi.set(keys.instanceRules(report.id), JSON.stringify(rules), 'PX', REPORT_TTL_MS)
  multi.set(keys.instance(report.id), JSON.stringify(report), 'PX', REPORT_TTL_MS)
  valuesOf(await multi.sadd(keys.instances, report.id).exec())
}

/** Takes a report back at a clean stop. */
export async function withdrawReport(redis: Redis, keys: Keys, id: string): Promise<void> {
  await redis.multi().del(keys.instance(id), keys.instanceRules(id)).srem(keys.instances, id).exec()
}

/** The reports of the processes that are alive, in a lasting order; forgets the others. */
export async function readReports(redis: Redis, keys: Keys): Promise<Omit<InstanceReport, 'rules'>[]> {
  const count = await redis.scard(keys.instances)
  // Not ours, so many: those that are alive come back with their next report.
  if (count > MOST_INSTANCES) await redis.unlink(keys.instances).catch(() => {})
  const ids = count === 0 || count > MOST_INSTANCES ? [] : (await redis.smembers(keys.instances)).toSorted()
  if (ids.length === 0) return []
  const values = await redis.mget(ids.map(keys.instance))
  const gone = ids.filter((_, i) => values[i] === null)
  // A Redis that refuses writes can be read all the same.
  if (gone.length > 0) await redis.srem(keys.instances, ...gone).catch(() => {})
  return values.flatMap((value) => readReport(value) ?? [])
}

/** The same with their rules. */
export async function readReportsWithRules(redis: Redis, keys: Keys): Promise<InstanceReport[]> {
  const reports = await readReports(redis, keys)
  if (reports.length === 0) return []
  const rules = await redis.mget(reports.map(({ id }) => keys.instanceRules(id)))
  return reports.map((report, i) => {
    const own = readRules(rules[i])
    return { ...report, ...(own && { rules: own }) }
  })
}
