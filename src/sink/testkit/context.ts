import { inspect } from 'node:util'
import type { Logger, SinkContext, SinkMetrics } from '../context.ts'
import { memoryStore } from '../memory-store.ts'

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
