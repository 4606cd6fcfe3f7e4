import { type Content, type Message, printable, type Severity, timeOf } from '../../src/sink/index.ts'

const COLOURS: Readonly<Record<Severity, number>> = { error: 31, warning: 33, info: 36, resolved: 32 }
const MAX_TITLE = 240
const MAX_QUOTE = 160

/** A line for people: when, how bad, what happened, why or what was said, and by which rule. Throws a TemplateFault. */
export function textLine(message: Message, colour: boolean): string {
  const { event, rule, content, heldBack } = message
  const { severity, title } = content
  const word = paint(severity.padEnd(8), COLOURS[severity], colour)
  const said = afterTitle(content)
  const more = said === '' ? '' : `  ${paint(printable(shorten(said, MAX_QUOTE)), 90, colour)}`
  const what = printable(shorten(title, MAX_TITLE))
  const before = heldBack ? `, ${heldBack.count} held back before` : ''
  const origin = printable(`[${rule}${event.synthesized ? ', synthesized' : ''}${before}]`)
  return `${printable(timeOf(message).slice(11, 19))}  ${word}  ${what}${more}  ${paint(origin, 90, colour)}\n`
}

/** In JSON they stand within texts only, as they are: C1 controls, line separators, marks that turn the direction. */
const UNSEEN = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

/** A CloudEvent on one line; no byte of it moves a terminal's cursor. */
export function jsonLine({ cloudEvent }: Pick<Message, 'cloudEvent'>): string {
  const text = cloudEvent.toString().replace(/[\r\n]/g, ' ')
  return `${text.replace(UNSEEN, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`
}

/** What the title does not say already. */
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
