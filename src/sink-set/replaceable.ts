import type { Sink } from '../sink/index.ts'

/** A sink whose inside can be exchanged: batches under way end with the one they began with. */
export class ReplaceableSink implements Sink {
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
