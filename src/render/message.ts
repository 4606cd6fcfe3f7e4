import type { Delivery } from '../delivery.ts'
import type { Message } from '../sink/index.ts'
import { cloudEvent } from './cloud-event.ts'

/** A delivery as a message, or what is wrong with its template. */
export type Rendered = { kind: 'message'; message: Message } | { kind: 'fault'; detail: string }

/** Makes the message that a sink gets; what is expensive is made on first use. */
export function render(delivery: Delivery, attempt: number): Rendered {
  return { kind: 'message', message: new LazyMessage(delivery, attempt) }
}

class LazyMessage implements Message {
  readonly attempt: number
  readonly #delivery: Delivery
  #object: Record<string, unknown> | undefined
  #cloudEvent: Buffer | undefined

  constructor(delivery: Delivery, attempt: number) {
    this.#delivery = delivery
    this.attempt = attempt
  }

  get id(): string {
    return this.#delivery.event.id
  }

  get rule(): string {
    return this.#delivery.rule
  }

  get event(): Message['event'] {
    return this.#delivery.event
  }

  get object(): Readonly<Record<string, unknown>> {
    this.#object ??= JSON.parse(this.#delivery.objectJson.toString()) as Record<string, unknown>
    return this.#object
  }

  get cloudEvent(): Buffer {
    this.#cloudEvent ??= cloudEvent(this.#delivery)
    return this.#cloudEvent
  }
}
