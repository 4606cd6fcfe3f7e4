import type { DryRun, EventResult, Sent } from '../../app/dry-run/dry-run.ts'
import { shownPreview } from '../../app/dry-run/explanation.ts'
import { shownValue } from '../../app/dry-run/rule-texts.ts'
import { type Content, MAX_SHOWN_CHANGES, type Message, SEVERITY_SIGNS } from '../../sink/index.ts'
import { objectTitle } from '../../text/object-title.ts'
import { printable } from '../../text/printable.ts'
import type { Paint, Style } from '../output/colour.ts'

const STYLES: Readonly<Record<Content['severity'], Style>> = {
  error: 'bad',
  warning: 'warn',
  info: 'info',
  resolved: 'good',
}

/** A line for one delivery: time, sink, title and rule. */
export function sentLine({ atMs, delivery, message }: Sent, paint: Paint): string {
  const { sink, rule, event, notice } = delivery
  const [title, style] = titleOf(message)
  const origin = [rule, notice?.kind, event.synthesized && 'synthesized'].filter(Boolean).join(', ')
  return `${timeOf(atMs)}  ${paint('good', '→')} ${printable(sink)}  ${paint(style, title)}  ${paint('dim', `[${origin}]`)}`
}

/** The reason why an event, or a rule that matches it, sends nothing (yet); '' where all matches are sent. */
export function unsentLine({ event, atMs, rules, sent }: EventResult, paint: Paint): string {
  const reasons = rules.flatMap(({ rule, outcome, limit }) => {
    if (outcome === 'suppressed') return `suppressed by ${limit} of ${rule}`
    if (outcome === 'waiting')
      return limit === 'for' ? `${rule} waits if it lasts` : `waits for ${limit} of ${rule}`
    if (outcome === 'dropped') return `dropped by ${rule}`
    return outcome === 'failed' ? `${rule} failed` : []
  })
  if (reasons.length === 0 && sent.length > 0) return ''
  const { type, event: kubeEvent } = event
  const details = kubeEvent ? ` ${kubeEvent.type} ${kubeEvent.reason}` : ''
  const title = `${objectTitle(event)} ${type}${details}`
  const why = reasons.length > 0 ? reasons.join(', ') : 'no rule sends it'
  return paint('dim', `${timeOf(atMs)}  ∅ ${shownValue(title, 200)}  [${why}]`)
}

function titleOf(message: Message): [string, Style] {
  try {
    const { severity, title } = message.content
    return [shownValue(title, 200), STYLES[severity]]
  } catch (error) {
    return [shownValue(`cannot be rendered: ${(error as Error).message}`, 200), 'bad']
  }
}

function timeOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19)
}

/** A delivery as the sink would get it, safe on a terminal. */
interface PreviewLines {
  /** '' where the sink type has no preview. */
  target: string
  lines: readonly string[]
  /** It cannot be rendered: the delivery would be a dead letter. */
  fault?: string
}

const MAX_BODY = 200

/**
 * `short` and `whole`: the readable content where the sink shows one, else the begin of the body, or all of it. `exact`: the body that
 * the sink sends, where its type has one.
 */
type Detail = 'short' | 'whole' | 'exact'

export function previewLines(run: DryRun, message: Message, sink: string, detail: Detail): PreviewLines {
  const { choices } = run.snapshot
  try {
    const { target = '', body } = shownPreview(run, message, sink)
    const isReadable = body === undefined || (detail !== 'exact' && choices.showsChanges(sink))
    const lines = isReadable ? contentLines(message.content) : bodyLines(body, detail !== 'short')
    return { target: printable(target), lines }
  } catch (error) {
    const fault = printable(error instanceof Error ? error.message : String(error))
    return { target: '', lines: [], fault }
  }
}

function bodyLines(body: string, whole: boolean): string[] {
  const text = body.trimEnd()
  if (whole) return indentedJson(text).split('\n').map(printable)
  const line = printable(text)
  return [line.length > MAX_BODY ? `${line.slice(0, MAX_BODY)}… (${Buffer.byteLength(text)} bytes)` : line]
}

/** Indents one JSON document, or one on each line. */
function indentedJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text.includes('\n') ? text.split('\n').map(indentedJson).join('\n') : text
  }
}

/** The readable content of a message, line by line, safe on a terminal. */
export function contentLines(content: Content): string[] {
  const fields = content.fields.map(({ title, value }) => `${title}: ${value}`).join(' · ')
  return [
    `${SEVERITY_SIGNS[content.severity]} ${content.title}`,
    ...linesOf(content.text),
    ...linesOf(fields),
    ...linesOf(content.quote).map((line) => `> ${line}`),
    ...linesOf(content.logs ?? '').map((line) => `| ${line}`),
    ...content.changes
      .slice(0, MAX_SHOWN_CHANGES)
      .map(({ path, old, new: next }) => `${path}  ${shownValue(old)} → ${shownValue(next)}`),
    ...(content.command === '' ? [] : [`$ ${content.command}`]),
    ...content.links.map(({ title, url }) => `${title}: ${url}`),
  ].map(printable)
}

function linesOf(text: string): string[] {
  const trimmed = text.trim()
  return trimmed === '' ? [] : trimmed.split(/\r\n?|\n/)
}
