import type { Dispatcher } from 'undici'
import { type Destination, networkFault } from './connectivity.ts'
import { outcomeOfStatus } from './http-status.ts'
import type { Mask } from './mask.ts'
import type { Outcome } from './sink.ts'

/** So much of an answer is read, unless the request asks for more. */
export const MAX_REPLY_BYTES = 64 * 1024
/** Of the 2 KiB of a detail; the rest is for the status and masked secrets. */
const MAX_DETAIL_BYTES = 2_000
/** The body of a success is not used; its end frees the connection for the next request. */
const SUCCESS_BODY_MS = 1_000
/** A status that is known need not wait long for a body that only explains it. */
const READ_BODY_MS = 5_000

/** The destination of a request, for its error messages. */
export interface Peer extends Destination {
  /** Masks secrets. */
  mask(): Mask
}

/** Called once. `status` is 0 without a response; `body` is as long as the exchange reads, and may contain secrets. */
export type Decide = (outcome: Outcome, status: number, body: string) => void

/**
 * One request and its answer, as undici reports them. Decides the outcome once: when the answer is there, its time is over,
 * the connection fails or it is stopped. In a file of its own, because the published types of the client must not need undici.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #decide: Decide
  readonly #peer: Peer
  /** Of the body of a success: 0 reads none. */
  readonly #maxSuccessBytes: number
  readonly #totalTimer: NodeJS.Timeout
  #bodyTimer: NodeJS.Timeout | undefined
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #retryAfter: string | string[] | undefined
  #chunks: Buffer[] | undefined
  #bytes = 0
  #ended = false
  #decided = false

  /** The body of a success is read only on demand: `maxSuccessBytes` of it. */
  constructor(decide: Decide, timeoutMs: number, peer: Peer, maxSuccessBytes = 0) {
    this.#decide = decide
    this.#peer = peer
    this.#maxSuccessBytes = maxSuccessBytes
    this.#totalTimer = setTimeout(outOfTime, timeoutMs, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#decided) controller.abort(new Error('too late'))
  }

  onResponseStart(_: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (status < 200) return
    this.#status = status
    const read = status >= 300 || this.#maxSuccessBytes > 0
    if (read) {
      this.#retryAfter = headers['retry-after']
      this.#chunks = []
    }
    this.#bodyTimer = setTimeout(outOfTime, read ? READ_BODY_MS : SUCCESS_BODY_MS, this)
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#bytes += chunk.length
    const most = this.#maxReplyBytes()
    if (this.#bytes - chunk.length < most) this.#chunks?.push(chunk)
    if (this.#bytes > most) this.#giveUp(this.#answered())
  }

  onResponseEnd(): void {
    this.#ended = true
    this.#conclude(this.#answered())
  }

  onResponseError(_: unknown, error: unknown): void {
    // The status decides, also when the body breaks off.
    this.#conclude(this.#status > 0 ? this.#answered() : this.#failed(error))
  }

  /** Ends the request because its caller has stopped. */
  stop(): void {
    this.#giveUp(this.#status > 0 ? this.#answered() : this.#controller ? STOPPED : NOT_SENT)
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
    const body = this.#chunks === undefined ? '' : this.#body().toString('utf8', 0, this.#maxReplyBytes())
    this.#decide(outcome, this.#status, body)
  }

  #maxReplyBytes(): number {
    return this.#status < 300 && this.#maxSuccessBytes > 0 ? this.#maxSuccessBytes : MAX_REPLY_BYTES
  }

  #body(): Buffer {
    return Buffer.concat(this.#chunks ?? [])
  }

  #answered(): Outcome {
    if (this.#status < 300) return DELIVERED
    const text = this.#body().toString('utf8', 0, MAX_DETAIL_BYTES)
    const cut = !this.#ended || this.#bytes > MAX_DETAIL_BYTES
    return outcomeOfStatus(this.#status, this.#retryAfter, this.#peer.mask()(text, cut), Date.now())
  }

  #failed(error: unknown): Outcome {
    const { code, message } = (error ?? {}) as { code?: string; message?: string }
    if (code === 'UND_ERR_HEADERS_TIMEOUT') return NO_ANSWER
    if (code === 'UND_ERR_INVALID_ARG')
      return { kind: 'rejected', reason: 'config', detail: `no request can be made of it: ${message}` }
    const { reason, message: known } = networkFault(error, this.#peer)
    const detail = known ?? this.#peer.mask()(message || code || 'the connection failed')
    // After the first byte it is unknown how much has arrived.
    return { kind: 'retry', reason, detail, scope: 'sink', ...(this.#controller && { ambiguous: true }) }
  }
}

/** A function of its own: a closure for each request would cost memory for nothing. */
function outOfTime(exchange: Exchange): void {
  exchange.outOfTime()
}

const DELIVERED: Outcome = { kind: 'delivered' }
const NO_ANSWER: Outcome = {
  kind: 'retry',
  reason: 'timeout',
  detail: 'no answer in time',
  scope: 'event',
  ambiguous: true,
}
const NO_CONNECTION: Outcome = {
  kind: 'retry',
  reason: 'network',
  detail: 'no connection in time',
  scope: 'sink',
}
const NOT_SENT: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was sent',
  scope: 'sink',
}
const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was answered',
  scope: 'sink',
  ambiguous: true,
}
