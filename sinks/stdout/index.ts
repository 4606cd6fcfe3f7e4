import * as z from 'zod'
import {
  type Content,
  clock,
  defineSink,
  type FieldChange,
  MAX_SHOWN_CHANGES,
  type Message,
  type Outcome,
  printable,
  renderFault,
  SEVERITY_SIGNS,
  type Severity,
  timeOf,
} from '../../src/sink/index.ts'
export const StdoutConfig = z.strictObject({
  format: z
    .enum(['auto', 'json', 'text', 'message'])
    .default('auto')
    .meta({ description: 'auto (text on a terminal, else JSON), json, text, or message: what chats show.' }),
})
export type StdoutConfig = z.output<typeof StdoutConfig>

/** Prints every event: a CloudEvent a line, a readable line on a terminal, or the content of messages. */
export default defineSink<StdoutConfig>({
  apiVersion: 1,
  type: 'stdout',
  printsToStdout: true,
  example: '{ type: stdout }',
  config: StdoutConfig,
  // One lane: lines come out in the order in which they happened.
  lane: () => '0',
  showsChanges: ({ format }) => format === 'message' || isText(process.stdout, format),
  preview: (message, { format }) =>
    format === 'message'
      ? {}
      : { body: isText(process.stdout, format) ? textLine(message, false) : jsonLine(message) },
  open: ({ format }) => openOutput(process.stdout, format),
})

/** Lines that were passed to the stream. */
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
  // If the reader stalls, a write stays in the stream's buffer: messages that are retried must not be written
  // again.
  let unanswered: Write | undefined
  // Ids that the stream took after their call had ended. They are delivered again, often one by one.
  const late = new Set<string>()
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

  /** Waits until the stream has taken the lines. Returns the outcome otherwise. */
  async function settle(it: Write, signal: AbortSignal): Promise<Retry | undefined> {
    unanswered = it
    const error = await Promise.race([it.taken, whenAborted(signal)])
    if (error === ABORTED) {
      void it.taken.then((fault) => {
        if (late.size > MOST_LATE) late.clear()
        if (!fault) for (const id of it.ids) late.add(id)
      })
      return STALLED
    }
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
      const line = late.delete(message.id) ? undefined : lineOf(message)
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

/** Beyond that those before are forgotten: others may have delivered them. */
const MOST_LATE = 1_000

const ABORTED = Symbol('aborted')

function whenAborted(signal: AbortSignal): Promise<typeof ABORTED> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(ABORTED)
    // The core's signal lives as long as a call.
    else signal.addEventListener('abort', () => resolve(ABORTED), { once: true })
  })
}

type Retry = Extract<Outcome, { kind: 'retry' }>

/** Lines that were passed to the stream may still be printed. */
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

const COLOURS: Readonly<Record<Severity, number>> = { error: 31, warning: 33, info: 36, resolved: 32 }
const MAX_TITLE = 240
const MAX_QUOTE = 160

/** A readable line: time, severity, title, cause, rule. Throws a TemplateFault. */
export function textLine(message: Message, colour: boolean): string {
  const { event, rule, content, suppressed, replayed } = message
  const { severity, title } = content
  const word = paint(severity.padEnd(8), COLOURS[severity], colour)
  const said = afterTitle(content)
  const more = said === '' ? '' : `  ${paint(printable(shorten(said, MAX_QUOTE)), 90, colour)}`
  const what = printable(shorten(title, MAX_TITLE))
  const before = suppressed ? `, ${suppressed.count} suppressed before` : ''
  const origin = printable(
    `[${rule}${event.synthesized ? ', synthesized' : ''}${replayed ? ', replayed' : ''}${before}]`,
  )
  return `${printable(timeOf(message).slice(11, 19))}  ${word}  ${what}${more}  ${paint(origin, 90, colour)}\n`
}

/** Characters that JSON permits inside strings: C1 controls, line separators, direction marks. */
const UNSEEN = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

/** A CloudEvent on one line; no byte of it moves a terminal's cursor. */
export function jsonLine({ cloudEvent }: Pick<Message, 'cloudEvent'>): string {
  const text = cloudEvent.toString().replace(/[\r\n]/g, ' ')
  return `${text.replace(UNSEEN, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`
}

/** Returns the text, or the quote unless the title contains it. */
function afterTitle({ title, text, quote }: Content): string {
  if (text !== '') return text
  return title.includes(quote) ? '' : quote
}

function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

function paint(text: string, code: number, colour: boolean): string {
  return colour ? `\u001b[${code}m${text}\u001b[0m` : text
}

const MAX_VALUE = 100

/** Returns the content of a message as lines of text, with an empty line at the end. */
export function messageText(message: Message): string {
  const { content, event, rule } = message
  const fields = content.fields.map(({ title, value }) => `${title}: ${value}`)
  const lines = [
    `${SEVERITY_SIGNS[content.severity]} [${event.cluster}] ${content.title}`,
    ...indented(content.text),
    ...indented(fields.join(' · ')),
    ...indented(content.quote, '> '),
    ...indented(content.logs ?? '', '| '),
    ...content.changes.slice(0, MAX_SHOWN_CHANGES).map((it) => `   ${changeLine(it)}`),
    ...(content.command === '' ? [] : [`   $ ${content.command}`]),
    ...content.links.map(({ title, url }) => `   ${title}: ${url}`),
    `   ${rule} · ${clock(timeOf(message))}`,
    '',
  ]
  return lines.map((line) => `${printable(line)}\n`).join('')
}

function indented(text: string, mark = ''): string[] {
  const trimmed = text.trim()
  return trimmed === '' ? [] : trimmed.split(/\r\n?|\n/).map((line) => `   ${mark}${line}`)
}

function changeLine({ path, old, new: next }: FieldChange): string {
  return `${path}  ${valueText(old)} → ${valueText(next)}`
}

function valueText(value: unknown): string {
  if (value === undefined) return '(none)'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text
}
