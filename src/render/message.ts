import type { Delivery } from '../delivery.ts'
import { cloudEvent } from '../sink/cloud-event.ts'
import type { Content, Message, Words } from '../sink/index.ts'
import { wordsOf } from './words/index.ts'

/** What rendering needs to know of the configuration. */
export interface RenderOptions {
  /** The options that a rule has for a sink. */
  routeOf(rule: string, sink: string): unknown
  /** Makes what people read of the words, by the templates of rule and sink. */
  contentOf(message: Message, sink: string): Content
}

export type Render = (delivery: Delivery, attempt: number) => Message

/** Makes the messages that sinks get; what is expensive is made on first use. */
export function createRender(options: RenderOptions): Render {
  return (delivery, attempt) => new LazyMessage(delivery, attempt, options)
}

class LazyMessage implements Message {
  readonly attempt: number
  readonly #delivery: Delivery
  readonly #options: RenderOptions
  #object: Record<string, unknown> | undefined
  #cloudEvent: Buffer | undefined
  #words: Words | undefined
  #content: Content | undefined

  constructor(delivery: Delivery, attempt: number, options: RenderOptions) {
    this.#delivery = delivery
    this.attempt = attempt
    this.#options = options
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

  get route(): unknown {
    return this.#options.routeOf(this.#delivery.rule, this.#delivery.sink)
  }

  get object(): Readonly<Record<string, unknown>> {
    this.#object ??= JSON.parse(this.#delivery.objectJson.toString()) as Record<string, unknown>
    return this.#object
  }

  get objectJson(): Buffer {
    return this.#delivery.objectJson
  }

  get words(): Words {
    this.#words ??= wordsOf(this)
    return this.#words
  }

  get content(): Content {
    this.#content ??= this.#options.contentOf(this, this.#delivery.sink)
    return this.#content
  }

  get cloudEvent(): Buffer {
    this.#cloudEvent ??= cloudEvent(this.#delivery)
    return this.#cloudEvent
  }
}
