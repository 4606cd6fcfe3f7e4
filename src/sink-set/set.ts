import type { SinkConfig } from '../config/schema.ts'
import type { Logger } from '../log.ts'
import type { Sink, SinkContext, SinkType } from '../sink/index.ts'

/** The sinks of the configuration, opened; each can be opened anew with other options while it works. */
export interface SinkSet {
  readonly sinks: ReadonlyMap<string, Sink>
  /** Opens those whose options are others than before, and closes the old ones after their last batch. Gives their names. */
  reopen(configs: readonly SinkConfig[]): Promise<string[]>
  close(): Promise<void>
}

export interface SinkSetParts {
  typeOf(name: string): SinkType
  contextOf(name: string): SinkContext
  log: Logger
  /** How long opening a sink anew may take. */
  reopenLimitMs?: number
}

const REOPEN_LIMIT_MS = 30_000

/** Opens the sinks; what was opened is closed again when one cannot be. */
export async function openSinkSet(configs: readonly SinkConfig[], parts: SinkSetParts): Promise<SinkSet> {
  await using opened = new AsyncDisposableStack()
  const sinks = new Map<string, ReplaceableSink>()
  const sources = new Map<string, string>()
  const open = async ({ name, options }: SinkConfig) =>
    parts.typeOf(name).open(options, parts.contextOf(name))
  for (const config of configs) {
    const sink = new ReplaceableSink(await open(config))
    opened.defer(() => sink.close())
    sinks.set(config.name, sink)
    sources.set(config.name, config.source)
  }
  opened.move()
  let closed = false

  async function reopenOne(config: SinkConfig): Promise<boolean> {
    const sink = sinks.get(config.name)
    if (!sink || sources.get(config.name) === config.source) return false
    try {
      const next = await withinLimit(open(config), parts.reopenLimitMs ?? REOPEN_LIMIT_MS)
      if (closed) {
        await next.close()
        return false
      }
      sink.replace(next)
      sources.set(config.name, config.source)
      parts.log.info({ sink: config.name }, 'its options changed: the sink was opened anew')
      return true
    } catch (error) {
      parts.log.error({ sink: config.name, error }, 'the sink cannot be opened with its new options')
      return false
    }
  }

  return {
    sinks,
    async reopen(next) {
      const names: string[] = []
      for (const config of next) if (await reopenOne(config)) names.push(config.name)
      return names
    },
    async close() {
      closed = true
      await Promise.all([...sinks.values()].map((sink) => sink.close()))
    },
  }
}

/** One that takes for ever must not keep others from being opened anew; what it opens in the end is closed. */
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

/** A sink whose inside can be exchanged: batches under way end with the one they began with. */
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

  replace(sink: Sink): void {
    const closing: Promise<void> = this.#current.retire().finally(() => this.#retiring.delete(closing))
    this.#retiring.add(closing)
    this.#current = new Used(sink)
  }

  async close(): Promise<void> {
    await Promise.all([this.#current.retire(), ...this.#retiring])
  }
}

/** How long what is under way may keep an exchanged sink open; then it is closed all the same. */
const RETIRE_MS = 65_000

class Used {
  readonly #sink: Sink
  readonly #idle = Promise.withResolvers<void>()
  #users = 0
  #retired: Promise<void> | undefined

  constructor(sink: Sink) {
    this.#sink = sink
  }

  async during<T>(work: (sink: Sink) => Promise<T>): Promise<T> {
    this.#users++
    try {
      return await work(this.#sink)
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
    await this.#sink.close().catch(() => {})
  }
}
