import type { Delivery } from './delivery.ts'
import type { Generation } from './generation.ts'
import type { Message } from './sink/index.ts'

/** The generation in force, and for each sink that was removed the last one which had it: what waits for it still needs that. */
export class Generations {
  #current: Generation
  readonly #removed = new Map<string, Generation>()

  constructor(first: Generation) {
    this.#current = first
  }

  get current(): Generation {
    return this.#current
  }

  /** The one that knows a sink. */
  of(sink: string): Generation {
    return this.#removed.get(sink) ?? this.#current
  }

  /** delivery → message; of a rule that is gone, with the defaults of its sink. */
  render(delivery: Delivery, attempt: number): Message {
    return this.of(delivery.sink).choices.render(delivery, attempt)
  }

  /** Puts another one in force. */
  exchange(next: Generation): void {
    const has = (name: string) => next.config.sinks.some((sink) => sink.name === name)
    for (const { name } of this.#current.config.sinks) if (!has(name)) this.#removed.set(name, this.#current)
    for (const { name } of next.config.sinks) this.#removed.delete(name)
    this.#current = next
  }

  /** Nothing waits for a removed sink any more. */
  forget(sink: string): void {
    this.#removed.delete(sink)
  }
}
