import { inspect } from 'node:util'
import { type KeyValueStore, type Logger, type SinkContext, type SinkMetrics, wholeMs } from '../sink.ts'

export interface LogEntry {
  level: keyof Logger
  fields: object
  message: string
}

/** A context for tests: everything stays in the process, logs and metrics are kept. */
export interface TestContext extends SinkContext {
  readonly logged: readonly LogEntry[]
  /** The values of counters and gauges, by their names. */
  readonly measured: ReadonlyMap<string, number>
  /** All logs and metrics as text. */
  loggedText(): string
}

export function testContext(parts: Partial<SinkContext> = {}): TestContext {
  const logged: LogEntry[] = []
  const measured = new Map<string, number>()
  const help = new Set<string>()
  const note = (level: keyof Logger) => (fields: object, message: string) => {
    logged.push({ level, fields, message })
    // A sink that logs without end must not look like a leak.
    if (logged.length > MAX_LOGGED) logged.shift()
  }
  const metrics: SinkMetrics = {
    counter(name, text) {
      help.add(`${name} ${text}`)
      measured.set(name, measured.get(name) ?? 0)
      return (n = 1) => measured.set(name, (measured.get(name) ?? 0) + n)
    },
    gauge(name, text) {
      help.add(`${name} ${text}`)
      return (value) => measured.set(name, value)
    },
  }
  return {
    name: 'test',
    cluster: 'test',
    log: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') },
    metrics,
    store: memoryStore(parts.clock),
    userAgent: 'kubeherald/test',
    clock: { now: () => Date.now() },
    ...parts,
    logged,
    measured,
    loggedText: () =>
      [...logged.map((it) => inspect(it, { depth: 8, maxStringLength: null })), ...help].join('\n'),
  }
}

const MAX_LOGGED = 1_000

/** A store in memory; `clock` drives the expiry. */
export function memoryStore(clock: { now(): number } = { now: () => Date.now() }): KeyValueStore {
  const values = new Map<string, { value: string; untilMs: number }>()
  const live = (key: string) => {
    const found = values.get(key)
    if (found && found.untilMs > clock.now()) return found.value
    values.delete(key)
    return undefined
  }
  return {
    get: async (key) => live(key),
    async set(key, value, { ttlMs }) {
      values.set(key, { value, untilMs: clock.now() + wholeMs(ttlMs) })
    },
    async add(key, value, { ttlMs }) {
      if (live(key) !== undefined) return false
      values.set(key, { value, untilMs: clock.now() + wholeMs(ttlMs) })
      return true
    },
    async increment(key, { ttlMs }) {
      const next = Number(live(key) ?? 0) + 1
      values.set(key, {
        value: String(next),
        untilMs: values.get(key)?.untilMs ?? clock.now() + wholeMs(ttlMs),
      })
      return next
    },
    async delete(key, value) {
      const found = live(key)
      return found !== undefined && (value === undefined || found === value) && values.delete(key)
    },
  }
}
