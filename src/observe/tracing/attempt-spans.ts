import { type Context, type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import type { TraceContext } from '../../model/delivery.ts'
import type { Content, Message, Outcome, Reason, Summary } from '../../sink/index.ts'
import { orderOf } from '../../sink/order.ts'
import { redactMessage } from '../../text/redact.ts'
import type { Attempted, AttemptTrace, Settled } from '../trace.ts'
import {
  attributesOf,
  contextOf,
  inside,
  linkBatch,
  messagingAttributes,
  redisAttributes,
  remoteContext,
  startStopwatch,
} from './attributes.ts'

/** A sampled delivery of a batch, while it is tried. */
interface Attempt {
  readonly process: Span
  deliver: Span | undefined
  outcome: Outcome | undefined
  /** It was not sent. */
  held: boolean
  settled: boolean
}

function newAttempt(process: Span): Attempt {
  return { process, deliver: undefined, outcome: undefined, held: false, settled: false }
}

/**
 * The side of a trace behind the queue, once for each attempt:
 *
 *   send ─── process <sink> ─┬─ deliver <sink> ─── render     its context is the peer's parent
 *                            └─ settle
 *
 * A batch of several also has one span for the call of the sink, linked with all of them.
 */
export function traceAttempt(
  tracer: Tracer,
  sink: string,
  lane: string,
  items: readonly Attempted[],
): AttemptTrace | undefined {
  if (!items.some(({ delivery }) => delivery.trace !== undefined)) return undefined
  const trace = new AttemptSpans(tracer, sink, lane, items)
  return trace.isSampled ? trace : undefined
}

class AttemptSpans implements AttemptTrace {
  readonly #tracer: Tracer
  readonly #sink: string
  readonly #lane: string
  readonly #attempts = new Map<Attempted, Attempt>()
  readonly #items: readonly Attempted[]
  #batch: Span | undefined
  #answeredMs = 0

  constructor(tracer: Tracer, sink: string, lane: string, items: readonly Attempted[]) {
    this.#tracer = tracer
    this.#sink = sink
    this.#lane = lane
    this.#items = items
    const startTime = Date.now()
    for (const item of items) {
      const process = this.#startProcess(item, startTime)
      if (process?.isRecording()) this.#attempts.set(item, newAttempt(process))
    }
  }

  get isSampled(): boolean {
    return this.#attempts.size > 0
  }

  traced(place: number, message: Message): Message {
    const attempt = this.#attempts.get(this.#items[place] as Attempted)
    if (!attempt) return message
    if (this.#attempts.size > 1)
      this.#batch ??= this.#client(`deliver batch ${this.#sink}`, inside(attempt.process))
    const deliver = this.#client(`deliver ${this.#sink}`, inside(attempt.process))
    attempt.deliver = deliver
    return new TracedMessage(message, contextOf(deliver), (form, startTime, endTime, fault) => {
      const options = { startTime, attributes: { 'kubeherald.render.form': form } }
      const render = this.#tracer.startSpan('render', options, inside(deliver))
      if (fault) fail(render, 'render', fault)
      render.end(endTime)
    })
  }

  answered(outcomes: readonly Outcome[]): void {
    this.#answeredMs = Date.now()
    const failed = new Set<string>()
    for (const [place, item] of this.#items.entries()) {
      const outcome = outcomes[place]
      if (!outcome) continue
      const uid = orderOf(item.delivery)
      const again = outcome.kind === 'retry' || outcome.kind === 'later'
      this.#answer(item, outcome, again && failed.has(uid))
      if (again) failed.add(uid)
    }
    this.#endBatch(outcomes)
  }

  settled({ delivered, dead }: Settled): void {
    const nowMs = Math.max(Date.now(), this.#answeredMs)
    for (const item of delivered) this.#end(item, 'delivered', nowMs)
    for (const { item, reason, detail } of dead) {
      if (!this.#attempts.has(item)) this.#giveUp(item)
      this.#end(item, 'dead-letter', nowMs, { reason, detail })
    }
    for (const [item, { outcome, held }] of this.#attempts) {
      const failure = outcome && 'reason' in outcome && !held ? outcome : undefined
      this.#end(item, held ? 'held' : outcome?.kind === 'later' ? 'later' : 'retry', nowMs, failure)
    }
  }

  [Symbol.dispose](): void {
    const lost = [...this.#attempts].filter(([, { settled }]) => !settled)
    if (lost.length === 0) return
    if (this.#answeredMs === 0) this.#endBatch([])
    const failure = { reason: 'unsettled', detail: 'what became of it could not be stored: it comes again' }
    for (const [item] of lost) this.#end(item, 'retry', Math.max(Date.now(), this.#answeredMs), failure)
  }

  /** One that is held was not sent: it waits behind an earlier delivery of its object. */
  #answer(item: Attempted, outcome: Outcome, held: boolean): void {
    const attempt = this.#attempts.get(item)
    if (!attempt?.deliver) return
    attempt.outcome = outcome
    attempt.held = held
    attempt.deliver.setAttribute('kubeherald.outcome', held ? 'held' : outcome.kind)
    if ('reason' in outcome && !held) fail(attempt.deliver, outcome.reason, outcome.detail)
  }

  #startProcess({ delivery, tries }: Attempted, startTime: number): Span | undefined {
    const { trace, event, rule, replay, replayed } = delivery
    const parent = trace && remoteContext(trace)
    if (!parent) return undefined
    const attributes = {
      ...messagingAttributes('process', this.#sink, event.id),
      'messaging.destination.partition.id': this.#lane,
      ...attributesOf(event),
      'kubeherald.rule': rule,
      'kubeherald.delivery.tries': tries,
      ...((replay || replayed) && { 'kubeherald.delivery.replay': true }),
    }
    return this.#tracer.startSpan(
      `process ${this.#sink}`,
      { kind: SpanKind.CONSUMER, startTime, attributes },
      parent,
    )
  }

  #client(name: string, parent: Context): Span {
    return this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime: Date.now() }, parent)
  }

  /** One that was not even tried: it waited behind others for too long. */
  #giveUp(item: Attempted): void {
    const process = this.#startProcess(item, Date.now())
    if (process?.isRecording()) this.#attempts.set(item, newAttempt(process))
  }

  #endBatch(outcomes: readonly Outcome[]): void {
    const nowMs = Math.max(Date.now(), this.#answeredMs)
    const delivers = [...this.#attempts.values()].flatMap(({ deliver }) => deliver ?? [])
    if (this.#batch) {
      linkBatch(this.#batch, delivers)
      this.#batch.setAttribute('messaging.batch.message_count', this.#items.length)
      const failed = outcomes.find((it) => it.kind === 'retry' || it.kind === 'rejected')
      if (failed) fail(this.#batch, failed.reason, failed.detail)
      this.#batch.end(nowMs)
    }
    for (const deliver of delivers) deliver.end(nowMs)
  }

  /** The first word counts. */
  #end(item: Attempted, result: string, nowMs: number, failure?: { reason: string; detail: string }): void {
    const attempt = this.#attempts.get(item)
    if (!attempt || attempt.settled) return
    attempt.settled = true
    const { process } = attempt
    process.setAttribute('kubeherald.result', result)
    if (failure) fail(process, failure.reason, failure.detail)
    if (this.#answeredMs > 0 && failure?.reason !== 'unsettled') {
      const options = {
        kind: SpanKind.CLIENT,
        startTime: this.#answeredMs,
        attributes: redisAttributes('EVAL'),
      }
      this.#tracer.startSpan('settle', options, inside(process)).end(nowMs)
    }
    process.end(nowMs)
  }
}

/** With the reasons of logs and dead letters. */
function fail(span: Span, reason: Reason | string, detail: string): void {
  span.setAttribute('error.type', reason)
  span.setStatus({ code: SpanStatusCode.ERROR, message: redactMessage(detail).slice(0, 300) })
}

/** What was rendered, when, in milliseconds since 1970, and why it could not be. */
type OnRendered = (form: 'content' | 'cloudevent', startMs: number, endMs: number, fault?: string) => void

/** A message with the trace context for its peer; reports when it is rendered, which is when a sink first reads it. */
export class TracedMessage implements Message {
  readonly trace: TraceContext
  declare readonly severity?: NonNullable<Message['severity']>
  declare readonly notice?: NonNullable<Message['notice']>
  declare readonly suppressed?: NonNullable<Message['suppressed']>
  declare readonly logs?: NonNullable<Message['logs']>
  declare readonly order?: string
  declare readonly releasedAt?: string
  declare readonly replayed?: true
  declare readonly retried?: true
  declare readonly truncated?: true
  readonly #message: Message
  readonly #onRendered: OnRendered
  readonly #rendered = new Set<string>()

  constructor(message: Message, trace: TraceContext, onRendered: OnRendered) {
    this.#message = message
    this.trace = trace
    this.#onRendered = onRendered
    const { severity, notice, suppressed, logs, order, releasedAt, replayed, retried, truncated } = message
    if (severity) this.severity = severity
    if (notice) this.notice = notice
    if (suppressed) this.suppressed = suppressed
    if (logs) this.logs = logs
    if (order !== undefined) this.order = order
    if (releasedAt !== undefined) this.releasedAt = releasedAt
    if (replayed) this.replayed = true
    if (retried) this.retried = true
    if (truncated) this.truncated = true
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

  get summary(): Summary {
    return this.#message.summary
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
