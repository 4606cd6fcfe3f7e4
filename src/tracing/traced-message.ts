import type { Content, Message, Words } from '../sink/index.ts'
import type { TraceContext } from '../trace-context.ts'
import { startStopwatch } from './stopwatch.ts'

/** What was rendered, when, in milliseconds since 1970, and why it could not be. */
export type OnRendered = (
  form: 'content' | 'cloudevent',
  startMs: number,
  endMs: number,
  fault?: string,
) => void

/** A message with the trace that its peer may go on from; tells when it is rendered, which is when a sink first asks. */
export class TracedMessage implements Message {
  readonly trace: TraceContext
  declare readonly severity?: NonNullable<Message['severity']>
  declare readonly notice?: NonNullable<Message['notice']>
  declare readonly heldBack?: NonNullable<Message['heldBack']>
  readonly #message: Message
  readonly #onRendered: OnRendered
  readonly #rendered = new Set<string>()

  constructor(message: Message, trace: TraceContext, onRendered: OnRendered) {
    this.#message = message
    this.trace = trace
    this.#onRendered = onRendered
    const { severity, notice, heldBack } = message
    if (severity) this.severity = severity
    if (notice) this.notice = notice
    if (heldBack) this.heldBack = heldBack
  }

  get id(): string {
    return this.#message.id
  }

  get rule(): string {
    return this.#message.rule
  }

  get labels(): Message['labels'] {
    return this.#message.labels
  }

  get event(): Message['event'] {
    return this.#message.event
  }

  get route(): unknown {
    return this.#message.route
  }

  get attempt(): number {
    return this.#message.attempt
  }

  get object(): Readonly<Record<string, unknown>> {
    return this.#message.object
  }

  get objectJson(): Buffer {
    return this.#message.objectJson
  }

  get words(): Words {
    return this.#message.words
  }

  get content(): Content {
    return this.#render('content', () => this.#message.content)
  }

  get cloudEvent(): Buffer {
    return this.#render('cloudevent', () => this.#message.cloudEvent)
  }

  #render<T>(form: Parameters<OnRendered>[0], make: () => T): T {
    if (this.#rendered.has(form)) return make()
    this.#rendered.add(form)
    const watch = startStopwatch()
    try {
      const made = make()
      this.#onRendered(form, watch.startedMs, watch.nowMs())
      return made
    } catch (error) {
      this.#onRendered(form, watch.startedMs, watch.nowMs(), String((error as Error)?.message ?? error))
      throw error
    }
  }
}
