import {
  type Content,
  type FieldChange,
  type Link,
  type Message,
  type Severity,
  timeOf,
} from '../../../src/sink/index.ts'

/** What chat messages show: title, text, fields and the titles of links in the preset's markup, the others plain. */
export interface Parts {
  severity: Severity
  /** One line. */
  headline: string
  /** The same with a sign in front. */
  title: string
  text: string
  fields: readonly { title: string; value: string }[]
  quote: string
  changes: string
  command: string
  links: readonly Link[]
  /** Where it comes from, one line. */
  source: string
}

export const COLOURS: Readonly<Record<Severity, string>> = {
  error: '#E01E5A',
  warning: '#ECB22E',
  info: '#36C5F0',
  resolved: '#2EB67D',
}

const SIGNS: Readonly<Record<Severity, string>> = { error: '🔴', warning: '🟠', info: '🔵', resolved: '✅' }
const MAX_LINKS = 5
const MAX_LINK = 2_000
const MAX_CHANGES = 8
const MAX_VALUE = 100

/** A message in parts; what is empty is left out by whoever shows it. */
export function partsOf(message: Pick<Message, 'content' | 'event' | 'rule' | 'notice'>): Parts {
  const { content, event, rule } = message
  const headline = oneLine(content.title)
  return {
    severity: content.severity,
    headline,
    title: `${SIGNS[content.severity]} ${headline}`,
    text: clean(content.text).trim(),
    fields: shownFields(content),
    quote: clean(content.quote).trim(),
    changes: content.changes.slice(0, MAX_CHANGES).map(changeLine).join('\n'),
    command: oneLine(content.command),
    links: shownLinks(content.links),
    source: oneLine(`${event.cluster} · ${rule} · ${timeOf(message)}`),
  }
}

/** Without what moves cursors, turns the direction of text or is no character at all. */
export function clean(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, ' ')
    .toWellFormed()
}

export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim()
}

function shownFields({ fields }: Content) {
  return fields
    .map(({ title, value }) => ({ title: oneLine(title), value: clean(value).trim() }))
    .filter(({ title, value }) => title !== '' && value !== '')
}

/** Links become parts of markup everywhere: what could end one is encoded. */
export function shownLinks(links: readonly Link[]): Link[] {
  return links
    .filter(({ url }) => url.length <= MAX_LINK && /^https?:\/\//.test(url))
    .slice(0, MAX_LINKS)
    .map(({ title, url }) => ({ title: oneLine(title) || 'link', url: encoded(url) }))
}

function encoded(url: string): string {
  return url.replace(
    /[()<>|"'\\\s]/g,
    (it) => `%${it.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}

/** `path: old → new`, one line. */
export function changeLine(change: FieldChange): string {
  return oneLine(`${change.path}: ${valueText(change.old)} → ${valueText(change.new)}`)
}

function valueText(value: unknown): string {
  if (value === undefined) return '(none)'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text
}
