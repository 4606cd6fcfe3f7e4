import { type EventHeader, type Message, printable } from '../../src/sink/index.ts'

const COLOURS = { ADDED: 32, MODIFIED: 36, DELETED: 31, Warning: 33, Normal: 34 } as const
const MAX_MESSAGE = 160

/** A line for people: when, what, which object, and for Events what they say. */
export function textLine({ event, rule }: Message, colour: boolean): string {
  const word = printable(wordOf(event))
  const painted = paint(word.padEnd(8), COLOURS[word as keyof typeof COLOURS], colour)
  const about = event.event?.regarding
  const object = about
    ? `${about.kind ?? '?'} ${nameOf(about.namespace, about.name)}`
    : `${event.kind} ${nameOf(event.namespace, event.name)}`
  const said = event.event
    ? `  ${event.event.reason}: ${shorten(event.event.message)}${times(event.event.count)}`
    : ''
  const line = `${printable(event.time.slice(11, 19))}  ${painted}  ${printable(object)}${printable(said)}`
  const origin = printable(`[${rule}${event.synthesized ? ', synthesized' : ''}]`)
  return `${line}  ${paint(origin, 90, colour)}\n`
}

/** In JSON they stand within texts only, as they are: C1 controls, line separators, marks that turn the direction. */
const UNSEEN = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

/** A CloudEvent on one line; no byte of it moves a terminal's cursor. */
export function jsonLine({ cloudEvent }: Pick<Message, 'cloudEvent'>): string {
  const text = cloudEvent.toString().replace(/[\r\n]/g, ' ')
  return `${text.replace(UNSEEN, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`
}

/** Events tell Normal or Warning; that they were added or modified says little. */
function wordOf({ type, event }: EventHeader): string {
  return event && type !== 'DELETED' ? event.type || type : type
}

function nameOf(namespace: string | undefined, name: string | undefined): string {
  return namespace ? `${namespace}/${name ?? '?'}` : (name ?? '?')
}

function times(count: number): string {
  return count > 1 ? ` (×${count})` : ''
}

function shorten(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE - 1)}…` : text
}

function paint(text: string, code: number | undefined, colour: boolean): string {
  return colour && code !== undefined ? `\u001b[${code}m${text}\u001b[0m` : text
}
