import { printable } from '../printable.ts'
import type { Fate, Sent } from './dry-run.ts'
import type { Paint, Style } from './paint.ts'
import { shownValue } from './shown-value.ts'

const STYLES: Readonly<Record<string, Style>> = {
  error: 'bad',
  warning: 'warn',
  info: 'info',
  resolved: 'good',
}

/** A line for each destination of an event: when, where to, what people would read, and by which rule. */
export function sentLine({ atMs, delivery, message }: Sent, paint: Paint): string {
  const { sink, rule, event, notice } = delivery
  const [what, style] = titleOf(message)
  const origin = [rule, notice?.kind, event.synthesized && 'synthesized'].filter(Boolean).join(', ')
  return `${timeOf(atMs)}  ${paint('good', '→')} ${printable(sink)}  ${paint(style, what)}  ${paint('dim', `[${origin}]`)}`
}

/** Why an event goes nowhere, or why a rule that matches does not send it (now); '' where all that matches sends. */
export function unsentLine({ event, atMs, rules, sent }: Fate, paint: Paint): string {
  const held = rules.flatMap(({ rule, fate, limit }) => {
    if (fate === 'held') return `held back by ${limit} of ${rule}`
    if (fate === 'waits')
      return limit === 'for' ? `${rule} waits if it lasts` : `waits for ${limit} of ${rule}`
    if (fate === 'dropped') return `dropped by ${rule}`
    return fate === 'failed' ? `${rule} failed` : []
  })
  if (held.length === 0 && sent.length > 0) return ''
  const why = held.length > 0 ? held.join(', ') : 'no rule sends it'
  return paint('dim', `${timeOf(atMs)}  ∅ ${eventTitle(event)}  [${why}]`)
}

/** `Event shop/web-1.17c ADDED Warning BackOff`. */
function eventTitle({ kind, namespace, name, type, event }: Fate['event']): string {
  const place = namespace === undefined ? '' : `${namespace}/`
  const said = event ? ` ${event.type} ${event.reason}` : ''
  return shownValue(`${kind} ${place}${name} ${type}${said}`, 200)
}

function titleOf(message: Sent['message']): [string, Style] {
  try {
    const { severity, title } = message.content
    return [shownValue(title, 200), STYLES[severity] ?? 'info']
  } catch (error) {
    return [shownValue(`cannot be rendered: ${(error as Error).message}`, 200), 'bad']
  }
}

function timeOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19)
}
