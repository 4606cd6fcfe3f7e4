import { clock, markRemover, printable } from '../../src/sink/index.ts'

/** Slack's mrkdwn knows three characters that begin something; a ping or a link cannot be made without them. */
export function inMrkdwn(text: string): string {
  return text.replace(/[&<>]/g, (it) => ENTITIES[it] as string)
}

const withoutMarks = markRemover(['*', '_', '~', '`'])

/** Returns what a reader sees of mrkdwn: without marks, links and mentions by their titles. */
export function plainOfMrkdwn(text: string): string {
  return withoutMarks(
    text.replace(/<([^<>|\n]*)(?:\|([^<>\n]*))?>/g, (_, target: string, title?: string) =>
      title ? title : target.replace(/^!/, '@'),
    ),
  ).replace(/&(lt|gt|amp);/g, (_, name: string) => ({ lt: '<', gt: '>' })[name] ?? '&')
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

const ELLIPSIS = '…'

/** At most `max` UTF-16 units of plain text; never half a character. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text
  return text.slice(0, wholeCharacters(text, max - 1)) + ELLIPSIS
}

/** At most `max` UTF-16 units of mrkdwn that is escaped already; never within a character, an entity or a link. */
export function cutMarkup(text: string, max: number): string {
  if (text.length <= max) return text
  let end = wholeCharacters(text, max - 1)
  end -= /&[a-z]{0,3}$/.exec(text.slice(Math.max(0, end - LONGEST_ENTITY), end))?.[0].length ?? 0
  const open = text.lastIndexOf('<', end - 1)
  if (open >= 0 && text.indexOf('>', open) >= end) end = open
  return text.slice(0, end) + ELLIPSIS
}

const LONGEST_ENTITY = '&amp;'.length

/** The end of the last whole character before `end`. */
export function wholeCharacters(text: string, end: number): number {
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}

/** One line, without control characters and halves of characters. */
export function oneLine(text: string): string {
  return printable(text.toWellFormed())
}

/** The same for text of several lines. */
export function severalLines(text: string): string {
  return text.toWellFormed().split(/\r?\n/).map(printable).join('\n')
}

/** Returns a link; characters that would end its address are percent-encoded. */
export function link(title: string, url: string): string {
  const address = url.replace(/[<>|\s]/g, (it) => encodeURIComponent(it)).replaceAll('&', '&amp;')
  return `<${address}|${title.replaceAll('|', '¦')}>`
}

/** Bold, unless the text has marks of its own that would end it. */
export function bold(text: string): string {
  return /[*`\n<]/.test(text) || text.trim() === '' ? text : `*${text.trim()}*`
}

/** In every reader's own time zone. */
export function dateOf(ms: number): string {
  const inUtc = clock(new Date(ms).toISOString())
  return `<!date^${Math.floor(ms / 1_000)}^{date_short_pretty} {time_secs}|${inUtc}>`
}

export function grouped(n: number): string {
  return n.toLocaleString('en-US')
}

/** The parts of Slack's Block Kit that messages are made of. */
export type Block = Section | ContextBlock | RichText | ActionsBlock

export interface Mrkdwn {
  type: 'mrkdwn'
  text: string
  /** Names, channels and URLs in the text stay text. */
  verbatim: true
}

interface Section {
  type: 'section'
  text?: Mrkdwn
  fields?: Mrkdwn[]
}

interface ContextBlock {
  type: 'context'
  elements: Mrkdwn[]
}

/** Buttons in a row, at most 25. */
export interface ActionsBlock {
  type: 'actions'
  block_id: string
  elements: Button[]
}

/** A click is reported with `value`, or opens `url` in the reader's browser. */
export type Button = {
  type: 'button'
  action_id: string
  text: { type: 'plain_text'; text: string }
} & ({ value: string } | { url: string })

/** Slack does not parse this text: no character has a meaning. */
interface RichText {
  type: 'rich_text'
  elements: (RichSection | RichPreformatted)[]
}

interface RichSection {
  type: 'rich_text_section'
  elements: RichRun[]
}

interface RichPreformatted {
  type: 'rich_text_preformatted'
  elements: RichRun[]
}

export interface RichRun {
  type: 'text'
  text: string
  style?: { bold?: true; code?: true }
}

/** Legacy, but the only place for a bar of colour. */
interface Attachment {
  color: string
  fallback: string
  blocks: Block[]
}

/** Data for other apps, which Slack does not show (https://docs.slack.dev/messaging/message-metadata). */
interface Metadata {
  event_type: string
  event_payload: Readonly<Record<string, string>>
}

/** A message as Slack takes it. */
export interface Rendered {
  /** In mrkdwn: the first line, and the only text in notifications and screen readers. */
  text: string
  attachments: Attachment[]
  metadata?: Metadata
  /** All of it as mrkdwn without blocks, for when Slack refuses them. */
  plain: string
  /** Some of the content was cut. */
  truncated: boolean
}

export function mrkdwn(text: string): Mrkdwn {
  return { type: 'mrkdwn', text, verbatim: true }
}

/** Returns the characters that Slack counts for a block. */
export function charactersOf(block: Block): number {
  const { type } = block
  if (type === 'context') return sum(block.elements)
  // Whether Slack counts values is not documented.
  if (type === 'actions')
    return block.elements.reduce(
      (n, it) => n + it.text.text.length + ('url' in it ? it.url : it.value).length,
      0,
    )
  if (type === 'rich_text') return block.elements.reduce((n, it) => n + sum(it.elements), 0)
  return (block.text?.text.length ?? 0) + sum(block.fields ?? [])
}

function sum(texts: readonly { text: string }[]): number {
  return texts.reduce((n, { text }) => n + text.length, 0)
}
