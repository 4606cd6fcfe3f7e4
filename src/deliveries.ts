import type { Config } from './config/schema.ts'
import type { Generations } from './generations.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Keys } from './queue/keys.ts'
import { createLanes, type Lanes } from './queue/lanes.ts'
import type { LiveProcesses } from './queue/live-processes.ts'
import type { MemoryGate } from './queue/memory-gate.ts'
import type { QueueBounds } from './queue/queue-bounds.ts'
import type { Troubles } from './queue/troubles.ts'
import type { Connections } from './redis-connections.ts'
import type { SinkSet } from './sink-set/set.ts'
import type { LineTracer } from './trace.ts'

export interface DeliveriesParts {
  connections: Connections
  keys: Keys
  processes: LiveProcesses
  sinkSet: SinkSet
  generations: Generations
  /** Nothing waits for a removed sink any more. */
  onDrained(sink: string): void
  gate: MemoryGate
  /** So many bytes, about, became dead letters beyond the bounds of sinks. */
  onGivenUp(bytes: number): void
  troubles: Troubles
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  trace: LineTracer['attempt'] | undefined
}

const DELIVER_TIMEOUT_MS = 60_000
const MAX_AGE_MS = 86_400_000
const MAX_TRIES = 5
const MIN_FAILING_MS = 300_000
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 300_000

/** Delivers what lies in the lanes to the sinks of this process, by the generation in force. */
export function startDeliveries(parts: DeliveriesParts): Lanes {
  const { connections, keys, processes, sinkSet, generations, onDrained } = parts
  const { gate, troubles, metrics, log, clock, trace } = parts
  return createLanes({
    redis: connections.lanes,
    queueConnection: connections.queue,
    workerConnection: connections.worker,
    keys,
    processes,
    sinks: sinkSet.sinks,
    maxBatchOf: (sink) => generations.of(sink).choices.typeOf(sink).maxBatch,
    render: (delivery, attempt) => generations.render(delivery, attempt),
    onDrained,
    joins: (sink) => generations.of(sink).choices.batches(sink),
    namesLanes: (sink) => generations.of(sink).choices.typeOf(sink).lane !== undefined,
    policy: {
      ...{ maxAgeMs: MAX_AGE_MS, maxTries: MAX_TRIES, minFailingMs: MIN_FAILING_MS },
      ...{ firstPauseMs: FIRST_PAUSE_MS, maxPauseMs: MAX_PAUSE_MS },
    },
    deliverTimeoutMs: DELIVER_TIMEOUT_MS,
    troubles,
    metrics,
    log,
    clock,
    random: Math.random,
    onOutOfMemory: gate.onOutOfMemory,
    maxmemory: gate.maxmemory,
    boundsOf: (sink) => queueOf(generations.of(sink).config, sink),
    onGivenUp: parts.onGivenUp,
    trace,
  })
}

/** What the configuration says of a sink's bounds. */
function queueOf({ sinks }: Config, sink: string): Partial<QueueBounds> {
  const { maxAge, maxBytes } = sinks.find(({ name }) => name === sink)?.queue ?? {}
  return { ...(maxAge !== undefined && { maxAgeMs: maxAge }), ...(maxBytes !== undefined && { maxBytes }) }
}
