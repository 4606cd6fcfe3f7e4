import type { Dispatcher } from 'undici'
import { outcomeOfStatus } from './answer.ts'
import type { Mask } from './mask.ts'
import type { Outcome } from './outcome.ts'

const MAX_RESPONSE_BYTES = 64 * 1024
const MAX_DETAIL_BYTES = 2 * 1024
/** Nobody reads the body of a success; its end frees the connection for the next request. */
const SUCCESS_BODY_MS = 1_000
/** A status that is known need not wait long for a body that only explains it. */
const DETAIL_BODY_MS = 5_000

/**
 * One request and its answer, as undici reports them. Decides the outcome once: when the answer is there, its time is over,
 * the connection fails or it is stopped.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #decide: (outcome: Outcome) => void
  readonly #mask: Mask
  readonly #totalTimer: NodeJS.Timeout
  #bodyTimer: NodeJS.Timeout | undefined
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #retryAfter: string | string[] | undefined
  #chunks: Buffer[] | undefined
  #bytes = 0
  #ended = false
  #decided = false

  constructor(decide: (outcome: Outcome) => void, timeoutMs: number, mask: Mask) {
    this.#decide = decide
    this.#mask = mask
    this.#totalTimer = setTimeout(outOfTime, timeoutMs, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#decided) controller.abort(new Error('too late'))
  }

  onResponseStart(_: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (status < 200) return
    this.#status = status
    const delivered = status < 300
    if (!delivered) {
      this.#retryAfter = headers['retry-after']
      this.#chunks = []
    }
    this.#bodyTimer = setTimeout(outOfTime, delivered ? SUCCESS_BODY_MS : DETAIL_BODY_MS, this)
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#bytes < MAX_DETAIL_BYTES) this.#chunks?.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes > MAX_RESPONSE_BYTES) this.#giveUp(this.#answered())
  }

  onResponseEnd(): void {
    this.#ended = true
    this.#conclude(this.#answered())
  }

  onResponseError(_: unknown, error: unknown): void {
    // The status decides, also when the body breaks off.
    this.#conclude(this.#status > 0 ? this.#answered() : networkFault(error, this.#mask))
  }

  /** Ends it because nobody waits for it any more. */
  stop(): void {
    this.#giveUp(this.#status > 0 ? this.#answered() : STOPPED)
  }

  outOfTime(): void {
    if (this.#status > 0) this.#giveUp(this.#answered())
    else this.#giveUp(this.#controller ? NO_ANSWER : NO_CONNECTION)
  }

  #giveUp(outcome: Outcome): void {
    this.#conclude(outcome)
    this.#controller?.abort(new Error('given up'))
  }

  #conclude(outcome: Outcome): void {
    if (this.#decided) return
    this.#decided = true
    clearTimeout(this.#totalTimer)
    clearTimeout(this.#bodyTimer)
    this.#decide(outcome)
  }

  #answered(): Outcome {
    if (this.#chunks === undefined) return DELIVERED
    const text = Buffer.concat(this.#chunks).toString('utf8', 0, MAX_DETAIL_BYTES)
    const cut = !this.#ended || this.#bytes > MAX_DETAIL_BYTES
    return outcomeOfStatus(this.#status, this.#retryAfter, this.#mask(text, cut), Date.now())
  }
}

/** A function of its own: a closure for each request would cost memory for nothing. */
function outOfTime(exchange: Exchange): void {
  exchange.outOfTime()
}

function networkFault(error: unknown, mask: Mask): Outcome {
  const { code, message } = (error ?? {}) as { code?: string; message?: string }
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return NO_ANSWER
  return {
    kind: 'retry',
    reason: 'network',
    detail: code || mask(message || 'the connection failed'),
    scope: 'sink',
  }
}

const DELIVERED: Outcome = { kind: 'delivered' }
const NO_ANSWER: Outcome = { kind: 'retry', reason: 'timeout', detail: 'no answer in time', scope: 'event' }
const NO_CONNECTION: Outcome = {
  kind: 'retry',
  reason: 'network',
  detail: 'no connection in time',
  scope: 'sink',
}
const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was answered',
  scope: 'sink',
}
