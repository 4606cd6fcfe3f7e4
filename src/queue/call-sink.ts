import type { Logger } from '../log.ts'
import type { Message, Outcome, Sink } from '../sink/index.ts'
import { checkedOutcomes, failure } from './checked-outcomes.ts'

/** A sink gets a moment after the abort to say what it had sent already. */
const LAST_WORDS_MS = 1_000

/**
 * Hands a batch to a sink. Never throws, never takes longer than the deadline, gives one outcome per message. Nothing of
 * it outlives the call: a timer or listener that did would keep the batch in memory.
 */
export async function callSink(
  sink: Sink,
  messages: readonly Message[],
  { deliverTimeoutMs, log }: { deliverTimeoutMs: number; log: Logger },
  signal: AbortSignal,
): Promise<Outcome[]> {
  const stop = new AbortController()
  const timers: NodeJS.Timeout[] = []
  const late = Promise.withResolvers<undefined>()
  const abort = () => {
    if (stop.signal.aborted) return
    timers.push(setTimeout(() => late.resolve(undefined), LAST_WORDS_MS))
    stop.abort(signal.aborted ? signal.reason : new DOMException('out of time', 'TimeoutError'))
  }
  timers.push(setTimeout(abort, deliverTimeoutMs))
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  const all = (outcome: Outcome) => messages.map(() => outcome)
  try {
    const answer = await Promise.race([sink.deliver(messages, stop.signal), late.promise])
    if (answer === undefined && stop.signal.aborted)
      return all(failure('timeout', 'the sink did not answer in time'))
    return checkedOutcomes(answer, messages.length)
  } catch (error) {
    log.error({ error }, 'a sink threw; its deliveries will be tried again')
    return all(failure('unknown', `the sink threw: ${wordsOf(error)}`))
  } finally {
    signal.removeEventListener('abort', abort)
    for (const timer of timers) clearTimeout(timer)
  }
}

/** Anything can be thrown. */
function wordsOf(error: unknown): string {
  try {
    return String((error as Error)?.message ?? error)
  } catch {
    return 'something that cannot be read'
  }
}
