import { defineSink, type Message, type Outcome, renderFault } from '../../src/sink/index.ts'
import { StdoutConfig } from './config.ts'
import { textLine } from './format.ts'
import { messageText } from './message-text.ts'

/** Prints every event: a CloudEvent a line, a line for people on a terminal, or what chats show. */
export default defineSink<StdoutConfig>({
  apiVersion: 1,
  type: 'stdout',
  config: StdoutConfig,
  tellsChanges: ({ format }) => format === 'message',
  // One lane: lines come out in the order in which they happened.
  lane: () => '0',
  open: ({ format }) => openOutput(process.stdout, format),
})

/** What was handed to the stream. */
interface Write {
  ids: ReadonlySet<string>
  /** Resolves when the stream has taken it, or with why it cannot. */
  taken: Promise<Error | undefined>
}

/** Writes to a stream; a delivery counts when the stream has taken it. */
export function openOutput(output: NodeJS.WriteStream, format: StdoutConfig['format']) {
  const text = format === 'text' || (format === 'auto' && output.isTTY === true)
  const colour = output.isTTY === true && !process.env['NO_COLOR']
  let broken: Error | undefined
  let closed = false
  // When the reader stalls, a write stays in the stream's buffer: what comes again must not be added once more.
  let unanswered: Write | undefined
  output.on('error', (error: Error) => {
    broken = error
  })

  function shown(message: Message): string | Outcome {
    try {
      if (format === 'message') return messageText(message)
      return text ? textLine(message, colour) : `${message.cloudEvent.toString()}\n`
    } catch (error) {
      const fault = renderFault(error)
      if (!fault) throw error
      return fault
    }
  }

  function write(messages: readonly Message[], lines: readonly string[]): Write {
    const { promise, resolve } = Promise.withResolvers<Error | undefined>()
    output.write(lines.join(''), (error) => resolve(error ?? undefined))
    return { ids: new Set(messages.map(({ id }) => id)), taken: promise }
  }

  /** Waits until the stream has taken it; gives what to answer otherwise. */
  async function settle(it: Write, signal: AbortSignal): Promise<Retry | undefined> {
    unanswered = it
    const error = await Promise.race([it.taken, whenAborted(signal)])
    if (error === ABORTED) return STALLED
    if (unanswered === it) unanswered = undefined
    return error && gone(error)
  }

  async function deliver(batch: readonly Message[], signal: AbortSignal): Promise<Outcome[]> {
    if (closed) return batch.map(() => CLOSED)
    const earlier = unanswered
    const fault = broken ? gone(broken) : earlier && (await settle(earlier, signal))
    if (fault) return batch.map(({ id }) => (earlier?.ids.has(id) ? { ...fault, ambiguous: true } : fault))
    const rest = batch.filter(({ id }) => !earlier?.ids.has(id))
    if (rest.length === 0) return batch.map(() => DELIVERED)
    const outputs = new Map(rest.map((it) => [it, shown(it)]))
    const lines = [...outputs.values()].filter((it) => typeof it === 'string')
    const failure = signal.aborted
      ? STALLED
      : lines.length === 0
        ? undefined
        : maybe(await settle(write(rest, lines), signal))
    return batch.map((it) => {
      const output = outputs.get(it)
      if (output !== undefined && typeof output !== 'string') return output
      return failure && output !== undefined ? failure : DELIVERED
    })
  }

  return {
    deliver,
    async close() {
      closed = true
    },
  }
}

const ABORTED = Symbol('aborted')

function whenAborted(signal: AbortSignal): Promise<typeof ABORTED> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(ABORTED)
    // The core's signal lives as long as a call.
    else signal.addEventListener('abort', () => resolve(ABORTED), { once: true })
  })
}

type Retry = Extract<Outcome, { kind: 'retry' }>

/** What was handed to the stream may come out, however that ended. */
function maybe(failure: Retry | undefined): Retry | undefined {
  return failure && { ...failure, ambiguous: true }
}

const DELIVERED: Outcome = { kind: 'delivered' }
const STALLED: Retry = {
  kind: 'retry',
  reason: 'timeout',
  detail: 'the reader of standard output has stalled',
  scope: 'sink',
}
const CLOSED: Outcome = { kind: 'retry', reason: 'unknown', detail: 'the sink is closed', scope: 'sink' }

function gone({ code, message }: NodeJS.ErrnoException): Retry {
  const detail = `nobody reads standard output (${code ?? message})`
  return { kind: 'retry', reason: 'network', detail, scope: 'sink' }
}
