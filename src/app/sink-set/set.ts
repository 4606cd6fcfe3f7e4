import type { SinkConfig } from '../config/schema.ts'
import type { Logger } from '../log.ts'
import type { Sink, SinkContext, SinkType } from '../sink/index.ts'
import { ReplaceableSink } from './replaceable.ts'

/** The sinks of the configuration, opened; they can be exchanged while they work. */
export interface SinkSet {
  /** By name, also those that the configuration does not have any more, until they are dropped. */
  readonly sinks: ReadonlyMap<string, Sink>
  /**
   * Opens what is new or has another type or other options, beside what works; nothing is exchanged before `use`. Throws an
   * `OpenError`, and has closed what it opened.
   */
  prepare(configs: readonly SinkConfig[], typeOf: (name: string) => SinkType): Promise<Prepared>
  /** Closes one for good, after its last batch, unless the configuration has it again. */
  drop(name: string): Promise<void>
  close(): Promise<void>
}

export interface Prepared {
  /** The sinks that were opened. */
  opened: readonly string[]
  /** Exchanges them at once; the old ones are closed after their last batch. */
  use(): void
  /** Closes what was opened instead. */
  discard(): Promise<void>
}

export interface SinkSetParts {
  contextOf(name: string, type: SinkType): SinkContext
  log: Logger
  /** How long opening a sink may take. */
  openLimitMs?: number
}

/** A sink of the configuration cannot be opened. */
export class OpenError extends Error {
  override name = 'OpenError'
  readonly sink: string

  constructor(sink: string, cause: unknown) {
    super(`the sink "${sink}" cannot be opened: ${(cause as Error)?.message ?? String(cause)}`, { cause })
    this.sink = sink
  }
}

const OPEN_LIMIT_MS = 30_000

/** Begins without any. */
export function createSinkSet(parts: SinkSetParts): SinkSet {
  const { log, openLimitMs = OPEN_LIMIT_MS } = parts
  const sinks = new Map<string, ReplaceableSink>()
  /** What each was opened with. */
  const sources = new Map<string, string>()
  /** Those of the newest configuration: they are not dropped. */
  let needed: ReadonlySet<string> = new Set()
  let closed = false

  async function open({ name, options }: SinkConfig, type: SinkType): Promise<Sink> {
    const opening = (async () => type.open(options, parts.contextOf(name, type)))()
    return withinLimit(opening, openLimitMs).catch((error) => {
      throw new OpenError(name, error)
    })
  }

  function exchange({ name, source }: SinkConfig, sink: Sink): void {
    const known = sinks.get(name)
    if (known) {
      known.replace(sink)
      log.info({ sink: name }, 'its options changed: the sink was opened anew')
    } else sinks.set(name, new ReplaceableSink(sink))
    sources.set(name, source)
  }

  return {
    sinks,
    async prepare(configs, typeOf) {
      const before = needed
      needed = new Set(configs.map(({ name }) => name))
      const wanted = configs.filter(({ name, source }) => sources.get(name) !== source || !sinks.has(name))
      const results = await Promise.allSettled(wanted.map((config) => open(config, typeOf(config.name))))
      const opened = results.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []))
      const discard = async () => void (await Promise.allSettled(opened.map((sink) => sink.close())))
      const failed = results.find((it) => it.status === 'rejected')
      if (failed || closed) {
        needed = before
        await discard()
        throw failed?.reason ?? new Error('the sinks are closed')
      }
      return {
        opened: wanted.map(({ name }) => name),
        use() {
          if (closed) return void discard()
          for (const [i, config] of wanted.entries()) exchange(config, opened[i] as Sink)
        },
        async discard() {
          needed = before
          await discard()
        },
      }
    },
    async drop(name) {
      if (needed.has(name)) return
      const sink = sinks.get(name)
      sinks.delete(name)
      sources.delete(name)
      await sink?.close()
    },
    async close() {
      closed = true
      await Promise.all([...sinks.values()].map((sink) => sink.close()))
    },
  }
}

/** One that takes for ever must not keep others waiting; what it opens in the end is closed. */
async function withinLimit(opening: Promise<Sink>, limitMs: number): Promise<Sink> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`opening took more than ${limitMs} ms`)), limitMs)
  late.promise.catch(() => opening.then((sink) => sink.close()).catch(() => {}))
  try {
    return await Promise.race([opening, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
