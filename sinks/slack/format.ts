import { type Content, type Message, type Severity, timeOf } from '../../src/sink/index.ts'
import { type Block, charactersOf, type Mrkdwn, mrkdwn, type Rendered } from './blocks.ts'
import { changesBlock, commandBlock, quoteBlock } from './format-plain.ts'
import { bold, cutMarkup, dateOf, grouped, inMrkdwn, link, oneLine, severalLines } from './markup.ts'

/** Below Slack's limits, which partly count after escaping: 3,000 a section, 2,000 a field, about 13,200 in all. */
const MAX_TITLE = 600
const MAX_SECTION = 2_900
const MAX_FIELD = 1_900
const MAX_IN_ALL = 11_000
const MAX_PLAIN = 3_500
/** Of ten elements, two are ours. */
const MAX_LINKS = 8
const MAX_LINK = 1_000
const MAX_FIELDS = 8

export const LOOKS: Record<Severity, { color: string; emoji: string }> = {
  error: { color: '#E01E5A', emoji: '🔴' },
  warning: { color: '#ECB22E', emoji: '🟠' },
  info: { color: '#36C5F0', emoji: '🔵' },
  resolved: { color: '#2EB67D', emoji: '✅' },
}

export interface Surroundings {
  /** Who shall be told, in mrkdwn. */
  mention?: readonly string[]
  /** The message shows the newest of several changes: how it began. */
  began?: { title: string; sinceMs: number; changes: number }
  /** Nothing more is to come of it. */
  over?: boolean
}

/** What a message looks like in Slack. Throws a TemplateFault. */
export function formatMessage(message: Message, { mention = [], began, over }: Surroundings = {}): Rendered {
  const { content } = message
  const severity = over ? 'resolved' : content.severity
  const { color, emoji } = LOOKS[severity]
  const title = cutMarkup(oneLine(content.title), MAX_TITLE)
  const cluster = inMrkdwn(oneLine(message.event.cluster))
  const text = [emoji, `[${cluster}]`, bold(title), ...mention].join(' ')
  const body = severalLines(content.text.slice(0, 2 * MAX_SECTION)).trim()
  const shown = cutMarkup(body, MAX_SECTION)
  const around: Block[] = [
    ...(shown ? [section(shown)] : []),
    ...changesBlock(content.changes),
    ...quoteBlock(content.quote),
    ...commandBlock(content.command),
    contextBlock(message, content, began),
  ]
  const rest = MAX_IN_ALL - around.reduce((n, block) => n + charactersOf(block), 0) - text.length
  const fields = fieldsOf(content, rest)
  const blocks: Block[] =
    fields.length === 0 ? around : around.toSpliced(shown ? 1 : 0, 0, { type: 'section', fields })
  const fallback = `[${cluster}] ${title}`
  return {
    text,
    attachments: [{ color, fallback, blocks }],
    plain: plainOf(text, shown, content),
    truncated:
      title.length < content.title.length ||
      content.text.length > 2 * MAX_SECTION ||
      shown.length < body.length ||
      fields.some((it) => it.text.endsWith('…')),
  }
}

/** One line for lists and for what a thread began with. */
export function titleOf(content: Pick<Content, 'title'>, max: number): string {
  return cutMarkup(oneLine(content.title), max)
}

function section(text: string): Block {
  return { type: 'section', text: mrkdwn(text) }
}

/** As large as what is left for all of them allows. */
function fieldsOf({ fields }: Content, rest: number): Mrkdwn[] {
  const shown = fields.slice(0, MAX_FIELDS).filter(({ value }) => value.trim() !== '')
  const each = Math.min(MAX_FIELD, Math.floor(rest / Math.max(1, shown.length)))
  return shown.map(({ title, value }) => {
    const head = bold(cutMarkup(oneLine(title), Math.min(100, each >> 1)))
    const text = severalLines(value.slice(0, 2 * MAX_FIELD)).trim()
    return mrkdwn(`${head}\n${cutMarkup(text, each - head.length - 1)}`)
  })
}

function contextBlock(message: Message, content: Content, began: Surroundings['began']): Block {
  const links = content.links
    .slice(0, MAX_LINKS)
    .map(({ title, url }) => link(cutMarkup(oneLine(title), 100), url))
    // A link that is cut leads nowhere.
    .filter((it) => it.length <= MAX_LINK)
  let room = MAX_CONTEXT
  const fitting = links.filter((it) => {
    room -= it.length
    return room >= 0
  })
  const atMs = Date.parse(timeOf(message))
  const facts = [
    `rule ${inMrkdwn(cutMarkup(oneLine(message.rule), 100))}`,
    ...(Number.isFinite(atMs) ? [dateOf(atMs)] : []),
    inMrkdwn(cutMarkup(oneLine(message.id), 300)),
  ]
  const history = began && [
    `began ${dateOf(began.sinceMs)}: ${began.title}`,
    `${grouped(began.changes)} ${began.changes === 1 ? 'change' : 'changes'} so far`,
  ]
  const elements = [...fitting, ...(history ? [history.join(' · ')] : []), facts.join(' · ')]
  return { type: 'context', elements: elements.map(mrkdwn) }
}

const MAX_CONTEXT = 2_500

function plainOf(text: string, shown: string, { quote, fields }: Content): string {
  const lines = [
    text,
    shown,
    ...fields.slice(0, MAX_FIELDS).map(({ title, value }) => oneLine(`${title}: ${value.slice(0, 300)}`)),
    inMrkdwn(severalLines(quote.slice(0, 1_000))),
  ]
  return cutMarkup(lines.filter((it) => it.trim() !== '').join('\n'), MAX_PLAIN)
}
