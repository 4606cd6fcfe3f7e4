import type { Delivery } from '../delivery.ts'
import { cloudEvent } from '../sink/cloud-event.ts'
import type { Content, Message, RuleSeverity, Words } from '../sink/index.ts'
import { messageId } from '../sink/notice.ts'
import { wordsOf } from './words/index.ts'

/** What a rule says of all that it sends. */
export interface RuleSays {
  severity?: RuleSeverity | undefined
  labels?: Readonly<Record<string, string>> | undefined
}

/** What rendering needs to know of the configuration. */
export interface RenderOptions {
  /** The options that a rule has for a sink. */
  routeOf(rule: string, sink: string): unknown
  /** Its severity and labels; without it no rule has any. */
  ruleOf?(rule: string): RuleSays | undefined
  /** Makes what people read of the words, by the templates of rule and sink. */
  contentOf(message: Message, sink: string): Content
}

export type Render = (delivery: Delivery, attempt: number) => Message

/** Makes the messages that sinks get; what is expensive is made on first use. */
export function createRender(options: RenderOptions): Render {
  return (delivery, attempt) => new LazyMessage(delivery, attempt, options)
}

const NO_LABELS = {}

class LazyMessage implements Message {
  readonly attempt: number
  readonly labels: Readonly<Record<string, string>>
  declare readonly severity?: RuleSeverity
  declare readonly notice?: NonNullable<Message['notice']>
  declare readonly order?: string
  declare readonly heldBack?: NonNullable<Message['heldBack']>
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
    const { severity, labels = NO_LABELS } = options.ruleOf?.(delivery.rule) ?? {}
    this.labels = labels
    if (severity) this.severity = severity
    if (delivery.notice) this.notice = delivery.notice
    if (delivery.order !== undefined) this.order = delivery.order
    if (delivery.heldBack) this.heldBack = delivery.heldBack
  }

  get id(): string {
    return messageId(this.#delivery)
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
    this.#words ??= this.#tell()
    return this.#words
  }

  get content(): Content {
    this.#content ??= this.#options.contentOf(this, this.#delivery.sink)
    return this.#content
  }

  get cloudEvent(): Buffer {
    this.#cloudEvent ??= cloudEvent(this)
    return this.#cloudEvent
  }

  #tell(): Words {
    const words = wordsOf(this)
    const { severity } = this
    return severity === undefined || words.severity === 'resolved' ? words : { ...words, severity }
  }
}
