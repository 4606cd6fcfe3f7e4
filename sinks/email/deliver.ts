import {
  deliverInOrder,
  type KeyValueStore,
  type Logger,
  type Mask,
  type Message,
  type Outcome,
  StoreFault,
} from '../../src/sink/index.ts'
import { isTooLarge, outcomeOfFault, outcomeOfReceipts, WaitedFor } from './answers.ts'
import { addressesOf, type EmailConfig, type EmailRoute, recipientsOf, targetOf } from './config.ts'
import { Interrupted, type Sent, type Session, SmtpFault } from './connection.ts'
import { subjectOf, writeMail } from './format.ts'
import { composeMail } from './mime.ts'
import type { Sessions } from './sessions.ts'
import { createReceipts, createThreads, messageIdOf } from './threads.ts'

interface DeliveryParts {
  /** Name of the sink. */
  name: string
  /** Within this time of a call its mails begin; what has not begun is left for the next call. */
  beginMs: number
  /** Within this time of a call its mails are answered. */
  callMs: number
  config: EmailConfig
  sessions: Sessions
  store: KeyValueStore
  log: Logger
  now(): number
  userAgent: string
  mask: Mask
  /** Counts recipients that were refused. */
  onRefused(recipients: number): void
}

type Mailed = Message<EmailRoute>

/** Delivers batches: messages of an object in order, as many at a time as there are sessions. */
export function createDelivery(
  parts: DeliveryParts,
): (batch: readonly Mailed[], signal: AbortSignal) => Promise<Outcome[]> {
  const { config, sessions, store, log, mask } = parts
  const threads = createThreads(store, config)
  const receipts = createReceipts(store)
  const waitedFor = new WaitedFor()
  const domain = config.from.address.slice(config.from.address.lastIndexOf('@') + 1)

  async function deliverOne(message: Mailed, { signal, begin, untilMs }: Limits): Promise<Outcome> {
    const found = recipientsOf(message, config)
    if (!found.ok) return { kind: 'rejected', reason: 'config', detail: found.detail }
    const { recipients } = found
    const messageId = messageIdOf(message.id, parts.name, recipients, domain)
    const place = await threads.placeOf(message, messageId, recipients, () =>
      subjectOf(message, config.subject),
    )
    const had = await receipts.get(messageId)
    const to = addressesOf(recipients).filter((it) => !had.includes(it))
    // A crash came between the last recipient and the outcome.
    if (to.length === 0) return { kind: 'delivered' }
    let truncated = false
    const compose = async (short: boolean) => {
      const written = writeMail(message, { short })
      truncated = written.truncated
      const { root, subject } = place
      const { from, replyTo } = config
      const own = { from, replyTo, recipients, subject, messageId, root }
      return composeMail(message, { ...own, userAgent: parts.userAgent, dateMs: parts.now() }, written)
    }
    const whole = await compose(false)
    const send = async (session: Session, stop: AbortSignal): Promise<Sent> => {
      const post = (raw: Buffer) => session.send({ from: config.from.address, to, raw }, stop, untilMs)
      try {
        return await post(whole)
      } catch (error) {
        if (!(error instanceof SmtpFault && isTooLarge(error) && session.isAlive()))
          return refusedByAll(error)
        await session.probe(stop)
        return post(await compose(true)).catch(refusedByAll)
      }
    }
    const stored = (change: Promise<void>) =>
      change.catch((error) => log.warn({ error }, 'the thread of a message could not be stored'))
    const sent = await sessions.run(send, signal, begin).catch(async (error) => {
      const isFinal = error instanceof SmtpFault && outcomeOfFault(error, config).kind === 'rejected'
      if (isFinal) await stored(had.length > 0 ? place.after() : place.refused())
      throw error
    })
    if (!sent) return LATER
    const outcome = await settled(messageId, had, sent)
    const hasReaders = had.length + sent.accepted.length > 0
    if (outcome.kind !== 'retry')
      await stored(hasReaders ? place.after(sent.serverMessageId) : place.refused())
    return outcome.kind === 'delivered' && truncated ? { kind: 'delivered', note: 'truncated' } : outcome
  }

  /** Returns the outcome for all recipients, and remembers those who have the message where others do not. */
  async function settled(messageId: string, had: readonly string[], sent: Sent): Promise<Outcome> {
    const { refused } = sent
    const accepted = [...had, ...sent.accepted]
    const nowMs = parts.now()
    if (accepted.length > 0) waitedFor.noted(sent, nowMs)
    const outcome = outcomeOfReceipts({ accepted, refused }, (address) => waitedFor.isOver(address, nowMs))
    if (refused.length === 0) return outcome
    parts.onRefused(refused.length)
    if (accepted.length > 0)
      await receipts
        .save(messageId, accepted)
        .catch((error) =>
          log.warn({ error }, 'the recipients of a message could not be stored: a repeat goes to all'),
        )
    return masked(outcome)
  }

  function masked(outcome: Outcome): Outcome {
    return 'detail' in outcome ? { ...outcome, detail: mask(outcome.detail) } : outcome
  }

  async function attempt(message: Mailed, limits: Limits): Promise<Outcome> {
    try {
      return await deliverOne(message, limits)
    } catch (error) {
      if (error instanceof SmtpFault) return masked(outcomeOfFault(error, config))
      if (error instanceof StoreFault)
        return { kind: 'retry', reason: 'network', detail: error.message, scope: 'sink' }
      if (error instanceof Interrupted) return { ...STOPPED, ...(error.ambiguous && { ambiguous: true }) }
      // Of a session that was waited for.
      if ((error as Error | undefined)?.name === 'AbortError') return STOPPED
      throw error
    }
  }

  return async (batch, signal) => {
    // Recipients that take nothing now need not refuse each message of the batch.
    const failing = new Map<string, Outcome>()
    const begin = AbortSignal.timeout(parts.beginMs)
    const untilMs = performance.now() + parts.callMs
    return deliverInOrder(
      batch,
      { concurrency: config.concurrency },
      async (message, stop) => {
        const target = targetOf(message, config)
        const known = failing.get(target)
        if (known) return known
        if (begin.aborted) return LATER
        const outcome = await attempt(message, { signal: stop, begin, untilMs })
        if (outcome.kind === 'retry' && outcome.scope === 'target') failing.set(target, outcome)
        return outcome
      },
      signal,
    )
  }
}

interface Limits {
  signal: AbortSignal
  /** Aborts when no mail may begin any more. */
  begin: AbortSignal
  /** End of the call, in `performance.now()` milliseconds. */
  untilMs: number
}

/** Mails that wait for a session have not failed. */
const LATER: Outcome = { kind: 'later', afterMs: 0 }

const STOPPED: Extract<Outcome, { kind: 'retry' }> = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was sent',
  scope: 'sink',
}

/** All recipients were refused: that is no fault of the session. */
function refusedByAll(error: unknown): Sent {
  if (error instanceof SmtpFault && error.refused.length > 0) return { accepted: [], refused: error.refused }
  throw error
}
