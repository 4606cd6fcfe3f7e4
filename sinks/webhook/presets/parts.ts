import { createHash } from 'node:crypto'
import {
  type Content,
  clock,
  endOfLog,
  type FieldChange,
  type Link,
  MAX_SHOWN_CHANGES,
  type Markup,
  type Message,
  markRemover,
  SEVERITY_SIGNS,
  type Severity,
  timeOf,
} from '../../../src/sink/index.ts'

/**
 * The content of a chat message: title, text, fields and titles of links in the preset's markup, the others plain.
 */
export interface Parts {
  severity: Severity
  /** One line. */
  headline: string
  /** The same behind the cluster. */
  subject: string
  /** The same with a sign in front. */
  title: string
  text: string
  fields: readonly { title: string; value: string }[]
  quote: string
  /** The first line names the container; cut it by `cutLog`. */
  logs: string
  changes: string
  command: string
  links: readonly Link[]
  /** The rule and the time, one line. */
  source: string
}

export const COLOURS: Readonly<Record<Severity, string>> = {
  error: '#E01E5A',
  warning: '#ECB22E',
  info: '#36C5F0',
  resolved: '#2EB67D',
}

const MAX_LINKS = 5
const MAX_LINK = 2_000
const MAX_VALUE = 100

/** Splits a message into parts; a preset leaves out empty ones. `inMarkup` escapes the cluster in the title. */
export function partsOf(
  message: Pick<Message, 'content' | 'event' | 'rule' | 'notice'>,
  { escape: inMarkup = (text) => text }: Markup = {},
): Parts {
  const { content, event, rule } = message
  const headline = oneLine(content.title)
  // Brackets before a space are no link. A title by a template may name the cluster itself.
  const cluster = `[${inMarkup(oneLine(event.cluster))}]`
  const subject = headline.includes(cluster) ? headline : `${cluster} ${headline}`
  return {
    severity: content.severity,
    headline,
    subject,
    title: `${SEVERITY_SIGNS[content.severity]} ${subject}`,
    text: clean(content.text).trim(),
    fields: shownFields(content),
    quote: clean(content.quote).trim(),
    logs: clean(content.logs ?? '').trim(),
    changes: content.changes.slice(0, MAX_SHOWN_CHANGES).map(changeLine).join('\n'),
    command: oneLine(content.command),
    links: shownLinks(content.links),
    source: oneLine(`rule ${rule} · ${clock(timeOf(message))}`),
  }
}

/** Removes control characters, direction marks and unpaired surrogates. */
export function clean(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, ' ')
    .toWellFormed()
}

function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim()
}

function shownFields({ fields }: Content) {
  return fields
    .map(({ title, value }) => ({ title: oneLine(title), value: clean(value).trim() }))
    .filter(({ title, value }) => title !== '' && value !== '')
}

/** Links become markup: characters that could end one are encoded. A link beyond the limit is left out: services refuse the message for it. */
function shownLinks(links: readonly Link[]): Link[] {
  return links
    .map(({ title, url }) => ({ title: oneLine(title) || 'link', url: encoded(url) }))
    .filter(({ url }) => url.length <= MAX_LINK && /^https?:\/\//.test(url))
    .slice(0, MAX_LINKS)
}

function encoded(url: string): string {
  return url.replace(
    /[()<>|"'\\\s]/g,
    (it) => `%${it.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}

/** `path: old → new`, one line. */
function changeLine(change: FieldChange): string {
  return oneLine(`${change.path}: ${valueText(change.old)} → ${valueText(change.new)}`)
}

function valueText(value: unknown): string {
  if (value === undefined) return '(none)'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text
}

/**
 * Returns cluster and object, for an Event the regarded object, for a digest its group. By name, as limits count: an object that was
 * created again is the same, and Events about one Node name different uids. An Event about what has no uid, such as a report of
 * kubeherald, has a key of its own.
 */
export function subjectKey({ event, rule, notice }: Pick<Message, 'event' | 'rule' | 'notice'>): string {
  if (notice?.kind === 'digest') return `${event.cluster}/${rule}/${JSON.stringify(notice.by)}`
  const { regarding } = event.event ?? {}
  const { kind, namespace, name } = regarding?.uid && regarding.kind && regarding.name ? regarding : event
  return [event.cluster, kind, namespace, name].filter(Boolean).join('/')
}

/** A key of at most `max` characters; a longer one keeps its beginning and gets a hash. */
export function boundedKey(key: string, max: number): string {
  if (key.length <= max) return key
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 32)
  return `${key.slice(0, max - hash.length - 1).toWellFormed()}#${hash}`
}

/**
 * Returns whether the problem is over: it is resolved, or its object is deleted. The API server deletes an Event
 * an hour after it last happened.
 */
export function isOver({ event, content, notice }: Pick<Message, 'event' | 'content' | 'notice'>): boolean {
  if (notice) return notice.kind === 'resolved' || content.severity === 'resolved'
  return content.severity === 'resolved' || event.type === 'DELETED'
}

export type Cut = (text: string, max: number) => string

const SMALLEST = 1 / 128
const LEAST = 24

interface Fitted {
  body: Buffer
  truncated: boolean
}

/** Builds a body of at most `maxBytes`: shortens all texts further until it fits. */
export function fitted(maxBytes: number, build: (cut: Cut) => unknown): Fitted {
  for (let scale = 1; ; scale /= 2) {
    let truncated = false
    const body = Buffer.from(
      JSON.stringify(
        build((text, max) => {
          const short = shortened(text, scale === 1 ? max : Math.min(max, Math.max(LEAST, max * scale)))
          truncated ||= short !== text
          return short
        }),
        tidy,
      ),
    )
    if (body.length <= maxBytes || scale <= SMALLEST) return { body, truncated }
  }
}

/** Removes control characters from all texts, whatever their origin. */
function tidy(_: string, value: unknown): unknown {
  return typeof value === 'string' ? clean(value) : value
}

/** At most `max` UTF-16 units; ends in no half of a character, of an escape or of an entity. */
export function shortened(text: string, max: number): string {
  if (text.length <= max) return text
  const head = text
    .slice(0, Math.max(0, Math.floor(max) - 1))
    .replace(/[\ud800-\udbff]$/, '')
    .replace(/&[#\w]{0,8}$/, '')
    .replace(/(?<!\\)((?:\\\\)*)\\$/, '$1')
  return `${head}…`
}

/** Cuts a log by `cut`, which keeps the beginning of texts, so that the end of the log is left. */
export function cutLog(logs: string, max: number, cut: Cut): string {
  const { length } = cut(logs, max)
  return length === logs.length ? logs : endOfLog(logs, length)
}

/** As many of the blocks, one under the other, as fit: a block that is cut would leave its code open. */
export function stacked(blocks: readonly string[], max: number, cut: Cut): string {
  let text = ''
  for (const block of blocks) {
    if (block === '') continue
    const longer = text === '' ? block : `${text}\n${block}`
    if (longer.length <= max) text = longer
    else cut(block, 0)
  }
  return text
}

/** Invisible: between two characters that would mean something side by side. */
const APART = '\u200b'

/** Returns the fields of an attachment; short ones stand next to each other. */
export function attachmentFields(
  fields: Parts['fields'],
  maxValue: number,
  cut: Cut,
): { title: string; value: string; short: boolean }[] {
  return fields.map(({ title, value }) => ({
    title: cut(title, 100),
    value: cut(value, maxValue),
    short: value.length <= 40,
  }))
}

/** A block of code that its text cannot end. */
export function fence(text: string): string {
  return `\`\`\`\n${text.replace(/`(?=`)/g, `\`${APART}`)}\n\`\`\``
}

/** Plain text in Discord's Markdown: no markup, mention or emoji. */
function discordText(text: string): string {
  return text.replace(/[\\*_~`|<>[\]()#:@-]/g, (it, at: number) =>
    it === '@' ? `@${APART}` : needsEscape(it, text, at) ? `\\${it}` : it,
  )
}

/** Plain text in Mattermost's Markdown: no mention, hashtag or emoji. */
export function mattermostText(text: string): string {
  return text
    .replace(/[\\*_`|<>[\]()#!~@-]/g, (it, at: number) => {
      if (it === '@' || it === '~') return `${it}${APART}`
      return needsEscape(it, text, at) ? `\\${it}` : it
    })
    .replace(/:(?=[\w+-]+:)/g, `:${APART}`)
    .replace(/\b(https?|ftp|mailto):/gi, `$1${APART}:`)
}

/** Plain text in the Markdown of Adaptive Cards: no link, no list, no date function. */
export function cardText(text: string): string {
  return text
    .replace(/[\\*_`~[\]<>#+-]/g, (it, at: number) => (needsEscape(it, text, at) ? `\\${it}` : it))
    .replace(/\{(?=\{)/g, `{${APART}`)
    .replace(/^([^\S\n\r\u2028\u2029]*\d+)([.)])/gm, '$1\\$2')
}

/** Some characters are markup only at the start of a line; elsewhere they need no escape. */
function needsEscape(character: string, text: string, at: number): boolean {
  if (character === '(' || character === ')') return false
  if (character === ':') return /^:[\w~]+:/.test(text.slice(at, at + 80))
  if (character === '-' || character === '+' || character === '#')
    return character === '#'
      ? !/\w/.test(text[at - 1] ?? ' ')
      : /(^|\n)[ \t]*$/.test(text.slice(Math.max(0, at - 8), at))
  return true
}

/** Plain text in the HTML of cards. */
export function htmlText(text: string): string {
  return text.replace(/[&<>"']/g, (it) => `&#${it.charCodeAt(0)};`)
}

/** Code in a line, which its text cannot end. */
function inlineCode(text: string): string {
  return `\`${text.replace(/\s+/g, ' ').replaceAll('`', "'")}\``
}

const withoutMarks = markRemover(['*', '_', '`', '**', '__', '~~'])
/** In their place while marks are removed: characters of private use. */
const ESCAPED = 0xe000

/** Returns the readable text of Markdown, for fields without markup. */
export function plainOf(markdown: string): string {
  const escaped = markdown.replace(/\\([!-/:-@[-`{-~])/g, (_, it: string) =>
    String.fromCharCode(ESCAPED + it.charCodeAt(0)),
  )
  return withoutMarks(escaped.replace(/\[([^[\]\n]*)\]\([^()\s]*\)/g, '$1'))
    .replace(/[\ue021-\ue07e]/g, (it) => String.fromCharCode(it.charCodeAt(0) - ESCAPED))
    .replace(/([@~:{`]|\b(?:https?|ftp|mailto))\u200b/gi, '$1')
}

export const discordMarkup: Markup = { escape: discordText, code: inlineCode, plain: plainOf }
export const mattermostMarkup: Markup = { escape: mattermostText, code: inlineCode, plain: plainOf }
/** Adaptive Cards know no code. */
export const cardMarkup: Markup = { escape: cardText, plain: plainOf }
export const htmlMarkup: Markup = { escape: htmlText, plain: plainOfHtml }

/** Returns the readable text of HTML, for fields without markup. */
export function plainOfHtml(html: string): string {
  return html
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replace(/&(lt|gt|amp|quot);/g, (_, name: string) => ({ lt: '<', gt: '>', quot: '"' })[name] ?? '&')
}
