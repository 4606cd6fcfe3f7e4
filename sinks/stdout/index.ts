import { defineSink, type Message, type Outcome, renderFault } from '../../src/sink/index.ts'
import { StdoutConfig } from './config.ts'
import { jsonLine, textLine } from './format.ts'
import { messageText } from './message-text.ts'

/** Prints every event: a CloudEvent a line, a line for people on a terminal, or what chats show. */
export default defineSink<StdoutConfig>({
  apiVersion: 1,
  type: 'stdout',
  config: StdoutConfig,
  // One lane: lines come out in the order in which they happened.
  lane: () => '0',
  tellsChanges: ({ format }) => format === 'message' || isText(process.stdout, format),
  preview: (message, { format }) =>
    format === 'message'
      ? {}
      : { body: isText(process.stdout, format) ? textLine(message, false) : jsonLine(message) },
  open: ({ format }) => openOutput(process.stdout, format),
})

/** What was handed to the stream. */
interface Write {
  ids: ReadonlySet<string>
  /** Resolves when the stream has taken it, or with why it cannot. */
  taken: Promise<Error | undefined>
}

function isText({ isTTY }: NodeJS.WriteStream, format: StdoutConfig['format']): boolean {
  return format === 'text' || (format === 'auto' && isTTY === true)
}

/** Writes to a stream; a delivery counts when the stream has taken it. */
export function openOutput(output: NodeJS.WriteStream, format: StdoutConfig['format']) {
  const text = isText(output, format)
  const colour = output.isTTY === true && !process.env['NO_COLOR']
  let broken: Error | undefined
  let closed = false
  // When the reader stalls, a write stays in the stream's buffer: what comes again must not be added once more.
  let unanswered: Write | undefined
  output.on('error', (error: Error) => {
    broken = error
  })

  function lineOf(message: Message): string | Outcome {
    try {
      if (format === 'message') return messageText(message)
      return text ? textLine(message, colour) : jsonLine(message)
    } catch (error) {
      const fault = renderFault(error)
      if (fault) return fault
      throw error
    }
  }

  function write(lines: ReadonlyMap<string, string>): Write {
    const { promise, resolve } = Promise.withResolvers<Error | undefined>()
    output.write([...lines.values()].join(''), (error) => resolve(error ?? undefined))
    return { ids: new Set(lines.keys()), taken: promise }
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
    const lines = new Map<string, string>()
    const faults = new Map<string, Outcome>()
    for (const message of batch) {
      const line = earlier?.ids.has(message.id) ? undefined : lineOf(message)
      if (typeof line === 'string') lines.set(message.id, line)
      else if (line) faults.set(message.id, line)
    }
    const isSent = lines.size > 0 && !signal.aborted
    const failure = isSent ? maybe(await settle(write(lines), signal)) : signal.aborted ? STALLED : undefined
    return batch.map(({ id }) => faults.get(id) ?? (failure && lines.has(id) ? failure : DELIVERED))
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
