import { isMap } from '../../config/plain-data.ts'
import type { Config } from '../../config/schema.ts'
import { DAY_MINUTES, DAYS, type MuteWindow } from '../../rules/limits/mute-window.ts'
import { LIMIT_KEYS, type RuleLimits } from '../../rules/limits/schema.ts'
import { writtenDuration } from '../../sink/duration.ts'
import {
  type Content,
  MAX_SHOWN_CHANGES,
  type Message,
  type Preview,
  SEVERITY_SIGNS,
} from '../../sink/index.ts'
import { printable } from '../../text/printable.ts'
import type { Paint, Style } from '../output/colour.ts'
import type { DryRun, EventResult, Sent } from './dry-run.ts'

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
    if (outcome === 'suppressed') return `held back by ${limit} of ${rule}`
    if (outcome === 'waiting')
      return limit === 'for' ? `${rule} waits if it lasts` : `waits for ${limit} of ${rule}`
    if (outcome === 'dropped') return `dropped by ${rule}`
    return outcome === 'failed' ? `${rule} failed` : []
  })
  if (reasons.length === 0 && sent.length > 0) return ''
  const { kind, namespace, name, type, event: kubeEvent } = event
  const details = kubeEvent ? ` ${kubeEvent.type} ${kubeEvent.reason}` : ''
  const title = `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name} ${type}${details}`
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

/** The preview of a message, with the path of the URL where that is written into the configuration. */
export function shownPreview({ snapshot }: DryRun, message: Message, sink: string): Preview {
  const { path, options: _, ...preview } = snapshot.choices.preview(message, sink)
  const { target } = preview
  if (target === undefined || path === undefined || !hasLiteralUrl(snapshot.config, sink)) return preview
  return { ...preview, target: target + path }
}

/** Of a configuration that shows references as they are written. */
function hasLiteralUrl({ written }: Config, sink: string): boolean {
  const sinks = written?.['sinks']
  const section = isMap(sinks) ? sinks[sink] : undefined
  const url = isMap(section) ? section['url'] : undefined
  return typeof url === 'string' && !url.includes('${')
}

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

/** Of one JSON document, or of one on each line. */
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

const DURATIONS = new Set(['every', 'wait', 'interval', 'within', 'after', 'for', 'quiet', 'atMost'])

type Rule = Readonly<Record<string, unknown>> | RuleLimits

/** The limits of a rule in the order in which they apply: `throttle: per regarding, every 10m`. */
export function limitTexts(rule: Rule): { name: string; text: string }[] {
  const limits: Readonly<Record<string, unknown>> = { ...rule, for: minDurationOf(rule) }
  return LIMIT_KEYS.flatMap((name) => {
    const value = limits[name]
    return value === undefined || value === false ? [] : [{ name, text: limitText(name, value) }]
  })
}

/** Milliseconds that a state must last before it is sent (`for`). */
export function minDurationOf(rule: Rule): number | undefined {
  const { for: own, condition } = rule as Readonly<Record<string, unknown>>
  const duration = own ?? (isMap(condition) ? condition['for'] : undefined)
  return typeof duration === 'number' ? duration : undefined
}

function limitText(name: string, value: unknown): string {
  if (name === 'mute') return (value as readonly MuteWindow[]).map(windowText).join('; ')
  // `every` of `count` is a number of events.
  const textOf = (key: string, it: unknown) =>
    typeof it === 'number' && DURATIONS.has(key) && name !== 'count' ? writtenDuration(it) : String(it)
  if (Array.isArray(value)) return value.map((it) => limitText(name, it)).join(', ')
  if (!isMap(value)) return textOf(name, value)
  return Object.entries(value)
    .filter(([, it]) => it !== undefined)
    .map(([key, it]) => `${key} ${Array.isArray(it) ? it.join('+') : textOf(key, it)}`)
    .join(', ')
}

/** A window as the configuration writes it: `from 22:00, to 07:00, days mon+tue, timezone UTC`. */
function windowText(window: MuteWindow): string {
  const { timezone } = window
  if ('begin' in window) return `from ${window.begin}, to ${window.end}, timezone ${timezone}`
  const { from, to, days, dates } = window
  const isWholeDay = from === 0 && to === DAY_MINUTES
  const parts = [
    isWholeDay ? '' : `from ${timeOfDay(from)}, to ${timeOfDay(to)}`,
    days.length === DAYS.length ? '' : `days ${days.map((day) => DAYS[day]?.slice(0, 3)).join('+')}`,
    dates &&
      `dates ${dates.map(({ first, last }) => (first === last ? first : `${first}..${last}`)).join('+')}`,
    `timezone ${timezone}`,
  ]
  return parts.filter(Boolean).join(', ')
}

function timeOfDay(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((it) => String(it).padStart(2, '0')).join(':')
}

const MAX_LENGTH = 100

/** A value in one short line, safe on a terminal; lists and maps with commas. */
export function shownValue(value: unknown, maxLength = MAX_LENGTH): string {
  const text = printable(valueText(value, 0))
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
}

function valueText(value: unknown, depth: number): string {
  if (value === undefined || value === null) return '(none)'
  if (typeof value === 'string') return value === '' ? '""' : value.slice(0, 2 * MAX_LENGTH)
  if (typeof value !== 'object') return String(value)
  if (value instanceof Date) return value.toISOString()
  if (depth > 3) return '…'
  const isList = Array.isArray(value)
  const items = isList
    ? value.slice(0, MAX_LENGTH).map((it) => valueText(it, depth + 1))
    : Object.entries(value)
        .slice(0, MAX_LENGTH)
        .map(([key, it]) => `${key}: ${valueText(it, depth + 1)}`)
  const text = items.join(', ')
  if (depth === 0) return text || '(none)'
  return isList ? `[${text}]` : `{ ${text} }`
}
