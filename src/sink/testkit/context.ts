import { inspect } from 'node:util'
import type { KeyValueStore, Logger, SinkContext, SinkMetrics } from '../context.ts'

export interface LogEntry {
  level: keyof Logger
  fields: object
  message: string
}

/** A context for tests: nothing of it leaves the process, everything that is told is kept. */
export interface TestContext extends SinkContext {
  readonly logged: readonly LogEntry[]
  /** The values of counters and gauges, by their names. */
  readonly measured: ReadonlyMap<string, number>
  /** All that logs and metrics tell, as text. */
  told(): string
}

export function testContext(parts: Partial<SinkContext> = {}): TestContext {
  const logged: LogEntry[] = []
  const measured = new Map<string, number>()
  const help = new Set<string>()
  const tell = (level: keyof Logger) => (fields: object, message: string) => {
    logged.push({ level, fields, message })
    // A sink that logs without end must not look like one that leaks.
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
    log: { debug: tell('debug'), info: tell('info'), warn: tell('warn'), error: tell('error') },
    metrics,
    store: memoryStore(parts.clock),
    userAgent: 'kubeherald/test',
    clock: { now: () => Date.now() },
    ...parts,
    logged,
    measured,
    told: () => [...logged.map((it) => inspect(it, { depth: 8, maxStringLength: null })), ...help].join('\n'),
  }
}

const MAX_LOGGED = 1_000

/** A store that lies in memory; the clock moves its ends of life. */
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
      values.set(key, { value, untilMs: clock.now() + ttlMs })
    },
    async add(key, value, { ttlMs }) {
      if (live(key) !== undefined) return false
      values.set(key, { value, untilMs: clock.now() + ttlMs })
      return true
    },
    async delete(key, value) {
      const found = live(key)
      return found !== undefined && (value === undefined || found === value) && values.delete(key)
    },
  }
}
