import type { Redis } from 'ioredis'
import { Counter, Gauge, type Registry } from 'prom-client'
import { type Logger, withFields } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { KeyValueStore, SinkActions, SinkContext, SinkMetrics, SinkType } from '../../sink/index.ts'
import { wholeMs } from '../../sink/sink.ts'
import type { Keys } from '../../store/keys.ts'
import { evalScript } from '../../store/redis/script.ts'
import { userAgent } from '../../version.ts'

/** Maximum number of metrics of one sink type: a plug-in with more derives names from delivered data. */
const MAX_NAMES = 50

type Own = Counter<'sink'> | Gauge<'sink'>

const own = new WeakMap<Registry, Map<string, Own>>()

/** For each sink the names of the gauges that its newest context has. */
const gauges = new WeakMap<Registry, Map<string, Set<string>>>()

/**
 * Metrics of sink types: `kubeherald_<type>_<name>{sink}`, shared by sinks of one type. Their only label is the sink, so
 * delivered data cannot create series. Metrics beyond the limit count nothing and are reported by `onRefused`. Throws if
 * another metric has the name.
 */
export function createSinkMetrics(
  registry: Registry,
  type: string,
  sink: string,
  onRefused: () => void = () => {},
): SinkMetrics {
  const labelNames = ['sink'] as const
  const registers = [registry]
  const prefix = prefixOf(type)
  const known = own.get(registry) ?? new Map<string, Own>()
  own.set(registry, known)
  const newest = gauges.get(registry) ?? new Map<string, Set<string>>()
  gauges.set(registry, newest)
  const names = new Set<string>()
  newest.set(sink, names)

  /** Returns the metric of that name and kind; creates it within the limit. */
  function have<M extends Own>(
    name: string,
    kind: { new (...args: never[]): M },
    create: () => M,
  ): M | undefined {
    const fullName = prefix + name
    const before = known.get(fullName)
    if (before instanceof kind) return before
    if (before || registry.getSingleMetric(fullName))
      throw new Error(`the metric ${fullName} is there already, as something else: choose another name`)
    if ([...known.keys()].filter((it) => it.startsWith(prefix)).length >= MAX_NAMES) return void onRefused()
    const metric = create()
    known.set(fullName, metric)
    return metric
  }

  return {
    counter(name, help) {
      const config = { name: prefix + name, help, labelNames, registers }
      const counter = have(name, Counter<'sink'>, () => new Counter(config))
      counter?.inc({ sink }, 0)
      return (n = 1) => counter?.inc({ sink }, n)
    },
    gauge(name, help) {
      const config = { name: prefix + name, help, labelNames, registers }
      const gauge = have(name, Gauge<'sink'>, () => new Gauge(config))
      names.add(config.name)
      return (value) => gauge?.set({ sink }, value)
    },
  }
}

/** Removes the series of gauges that a sink had before it was replaced, and no longer has. */
export function forgetOldGauges(registry: Registry, sink: string): void {
  const names = gauges.get(registry)?.get(sink)
  for (const [name, metric] of own.get(registry) ?? [])
    if (metric instanceof Gauge && !names?.has(name)) metric.remove({ sink })
}

/** Returns the prefix of a type's metrics. */
export function prefixOf(type: string): string {
  return `kubeherald_${type.replaceAll(/[^a-zA-Z0-9]/g, '_')}_`
}

interface SinkContextParts {
  cluster: string
  log: Logger
  metrics: Metrics
  redis: Redis
  keys: Keys
  clock: { now(): number }
  actions: SinkActions
}

/** Returns the context of a sink: its log, metrics, store and actions. */
export function sinkContexts({ cluster, log, metrics, redis, keys, clock, actions }: SinkContextParts) {
  return (name: string, { type }: Pick<SinkType, 'type'>): SinkContext => ({
    name,
    cluster,
    log: withFields(log, { sink: name }),
    metrics: createSinkMetrics(metrics.registry, type, name, () =>
      metrics.sinkMetricsRefused.inc({ sink: name }),
    ),
    store: createKeyValueStore(redis, keys, name),
    userAgent,
    clock,
    actions,
  })
}

/** A sink's own state in Redis: values with an end, under its own prefix. */
export function createKeyValueStore(redis: Redis, keys: Keys, sink: string): KeyValueStore {
  const full = (key: string) => keys.sinkState(sink, key)
  return {
    get: async (key) => (await redis.get(full(key))) ?? undefined,
    async set(key, value, { ttlMs }) {
      await redis.set(full(key), value, 'PX', wholeMs(ttlMs))
    },
    add: async (key, value, { ttlMs }) =>
      (await redis.set(full(key), value, 'PX', wholeMs(ttlMs), 'NX')) === 'OK',
    increment: async (key, { ttlMs }) =>
      Number(await evalScript(redis, INCREMENT, [full(key)], [wholeMs(ttlMs)])),
    delete: async (key, value) =>
      value === undefined
        ? (await redis.del(full(key))) === 1
        : (await evalScript(redis, DELETE_IF, [full(key)], [value])) === 1,
  }
}

const INCREMENT = `
local now = redis.call('INCR', KEYS[1])
if now == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return now
`

const DELETE_IF = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`
