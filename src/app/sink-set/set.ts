import type { SinkConfig } from '../../config/schema.ts'
import type { Logger } from '../../observe/log.ts'
import type { Sink, SinkContext, SinkType } from '../../sink/index.ts'

/** The opened sinks of the configuration; they can be replaced while they work. */
export interface SinkSet {
  /** Sinks by name, including removed ones until they are dropped. */
  readonly sinks: ReadonlyMap<string, Sink>
  /**
   * Opens sinks that are new or have another type or other options; replaces nothing before `use`. Throws
   * `OpenError` after closing what it opened.
   */
  prepare(configs: readonly SinkConfig[], typeOf: (name: string) => SinkType): Promise<Prepared>
  /** Closes a removed sink after its last batch, unless it is configured again. */
  drop(name: string): Promise<void>
  close(): Promise<void>
}

/** Disposed of without `use`, it closes the opened sinks. */
interface Prepared extends AsyncDisposable {
  /** The sinks that were opened. */
  opened: readonly string[]
  /** Replaces the sinks; the old ones are closed after their last batch. */
  use(): void
}

interface SinkSetParts {
  contextOf(name: string, type: SinkType): SinkContext
  log: Logger
  /** Called when a replaced sink is closed. */
  onReplaced?(name: string): void
  /** Time limit for opening a sink, in milliseconds. */
  openLimitMs?: number
}

/** A configured sink cannot be opened. */
class OpenError extends Error {
  override name = 'OpenError'
  readonly sink: string

  constructor(sink: string, cause: unknown) {
    super(`the sink "${sink}" cannot be opened: ${(cause as Error)?.message ?? String(cause)}`, { cause })
    this.sink = sink
  }
}

const OPEN_LIMIT_MS = 30_000

/** Creates an empty set. */
export function createSinkSet(parts: SinkSetParts): SinkSet {
  const { log, openLimitMs = OPEN_LIMIT_MS } = parts
  const sinks = new Map<string, ReplaceableSink>()
  /** The settings with which each sink was opened. */
  const sources = new Map<string, string>()
  /** Names of the newest configuration, which are not dropped. */
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
      void known.replace(sink).then(() => parts.onReplaced?.(name))
      log.info({ sink: name }, 'its options changed: it was opened again')
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
      const discard = async () => void (await Promise.allSettled(opened.map(async (sink) => sink.close())))
      const failed = results.find((it) => it.status === 'rejected')
      if (failed || closed) {
        needed = before
        await discard()
        throw failed?.reason ?? new Error('the sinks are closed')
      }
      let used = false
      return {
        opened: wanted.map(({ name }) => name),
        use() {
          used = true
          if (closed) return void discard()
          for (const [i, config] of wanted.entries()) exchange(config, opened[i] as Sink)
        },
        async [Symbol.asyncDispose]() {
          if (used) return
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

/** Opens a sink within the time limit; a sink that opens later is closed. */
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

/** A sink whose implementation can be replaced: batches in flight finish with the old one. */
class ReplaceableSink implements Sink {
  #current: Used
  readonly #retiring = new Set<Promise<void>>()

  constructor(sink: Sink) {
    this.#current = new Used(sink)
  }

  deliver(...call: Parameters<Sink['deliver']>): ReturnType<Sink['deliver']> {
    return this.#current.during((sink) => sink.deliver(...call))
  }

  health(signal: AbortSignal): ReturnType<NonNullable<Sink['health']>> {
    return this.#current.during(async (sink) => (await sink.health?.(signal)) ?? { ok: true })
  }

  warnings(): readonly string[] {
    return this.#current.sink.warnings?.() ?? []
  }

  /** Resolves when the old one is closed. */
  replace(sink: Sink): Promise<void> {
    const closing: Promise<void> = this.#current.retire().finally(() => this.#retiring.delete(closing))
    this.#retiring.add(closing)
    this.#current = new Used(sink)
    return closing
  }

  async close(): Promise<void> {
    await Promise.all([this.#current.retire(), ...this.#retiring])
  }
}

/** How long batches in flight can keep a replaced sink open, in milliseconds. */
const RETIRE_MS = 65_000

class Used {
  readonly sink: Sink
  readonly #idle = Promise.withResolvers<void>()
  #users = 0
  #retired: Promise<void> | undefined

  constructor(sink: Sink) {
    this.sink = sink
  }

  async during<T>(work: (sink: Sink) => Promise<T>): Promise<T> {
    this.#users++
    try {
      return await work(this.sink)
    } finally {
      if (--this.#users === 0 && this.#retired) this.#idle.resolve()
    }
  }

  retire(): Promise<void> {
    this.#retired ??= this.#close()
    return this.#retired
  }

  async #close(): Promise<void> {
    if (this.#users > 0) {
      const limit = setTimeout(() => this.#idle.resolve(), RETIRE_MS)
      await this.#idle.promise
      clearTimeout(limit)
    }
    // A plug-in in JavaScript can return nothing, or throw.
    await (async () => this.sink.close())().catch(() => {})
  }
}
