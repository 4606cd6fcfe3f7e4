import {
  type Content,
  endOfLog,
  type FieldChange,
  type Message,
  type Severity,
  spanText,
  timeOf,
} from '../../src/sink/index.ts'
import {
  type ActionsBlock,
  type Block,
  bold,
  charactersOf,
  cutMarkup,
  cutText,
  dateOf,
  grouped,
  inMrkdwn,
  link,
  type Mrkdwn,
  mrkdwn,
  oneLine,
  type Rendered,
  type RichRun,
  severalLines,
  wholeCharacters,
} from './markup.ts'

/** Below Slack's limits, which partly count after escaping: 3,000 a section, 2,000 a field, about 13,200 in all. */
const MAX_TITLE = 600
const MAX_SECTION = 2_900
const MAX_FIELD = 1_900
const MAX_IN_ALL = 11_000
const MAX_PLAIN = 3_500
/** Two of ten elements are reserved. */
const MAX_LINKS = 8
const MAX_LINK = 1_000
const MAX_FIELDS = 8
/** Minimum length of a field: a shorter one shows little more than its title. */
const MIN_FIELD = 60
const MAX_ID = 1_000

const LOOKS: Record<Severity, { color: string; emoji: string }> = {
  error: { color: '#E01E5A', emoji: '🔴' },
  warning: { color: '#ECB22E', emoji: '🟠' },
  info: { color: '#36C5F0', emoji: '🔵' },
  resolved: { color: '#2EB67D', emoji: '✅' },
}

export interface ThreadContext {
  /** Mentions, in mrkdwn. */
  mention?: readonly string[]
  /** The message shows the newest of several changes: how it began. */
  began?: { title: string; sinceMs: number; changes: number }
  /** Nothing more is to come of it. */
  over?: boolean
  /**
   * Its place in the thread that it ends: the reply has the reason, and the first message the rest. Default: the whole
   * message.
   */
  closing?: 'reply' | 'root' | undefined
  /** Left out when it is resolved. */
  buttons?: ActionsBlock | undefined
}

/** Formats a message for Slack. Throws a TemplateFault. */
export function formatMessage(message: Message, context: ThreadContext = {}): Rendered {
  const { mention = [], over, closing, buttons } = context
  const content = closing ? closingPart(message.content, closing) : message.content
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
    ...logsBlock(content.logs),
    ...commandBlock(content.command),
    contextBlock(message, content, context),
    ...(buttons && severity !== 'resolved' ? [buttons] : []),
  ]
  const rest = MAX_IN_ALL - around.reduce((n, block) => n + charactersOf(block), 0) - text.length
  const filled = content.fields.slice(0, MAX_FIELDS).filter(({ value }) => value.trim() !== '')
  const fields = fieldsOf(filled, rest)
  const blocks: Block[] =
    fields.length === 0 ? around : around.toSpliced(shown ? 1 : 0, 0, { type: 'section', fields })
  const fallback = `[${cluster}] ${title}`
  return {
    text,
    attachments: [{ color, fallback, blocks }],
    metadata: {
      event_type: 'kubeherald_message',
      event_payload: {
        id: cutText(oneLine(message.id), MAX_ID),
        cluster: message.event.cluster,
        rule: cutText(oneLine(message.rule), MAX_ID),
      },
    },
    plain: plainOf(text, shown, content),
    truncated:
      title.length < content.title.length ||
      content.text.length > 2 * MAX_SECTION ||
      shown.length < body.length ||
      (content.logs?.length ?? 0) > MAX_LOGS ||
      fields.length < filled.length ||
      fields.some((it) => it.text.endsWith('…')),
  }
}

function closingPart(content: Content, closing: 'reply' | 'root'): Content {
  const { logs: _, ...rest } = content
  return closing === 'root'
    ? // The last block has when it began.
      { ...rest, text: '', fields: rest.fields.filter((it) => it.title !== 'Began'), quote: '', changes: [] }
    : { ...rest, fields: [], links: [], quote: '', changes: [], command: '' }
}

/** One line, for lists and for the beginning of a thread. */
export function titleOf(content: Pick<Content, 'title'>, max: number): string {
  return cutMarkup(oneLine(content.title), max)
}

function section(text: string): Block {
  return { type: 'section', text: mrkdwn(text) }
}

/** Each field gets an equal share of the remaining room; the last are left out where that is too small. */
function fieldsOf(fields: Content['fields'], rest: number): Mrkdwn[] {
  const shown = fields.slice(0, Math.max(0, Math.floor(rest / MIN_FIELD)))
  const each = Math.min(MAX_FIELD, Math.floor(rest / Math.max(1, shown.length)))
  return shown.map(({ title, value }) => {
    const head = bold(cutMarkup(oneLine(title), Math.min(100, each >> 1)))
    const text = severalLines(value.slice(0, 2 * MAX_FIELD)).trim()
    return mrkdwn(`${head}\n${cutMarkup(text, each - head.length - 1)}`)
  })
}

function contextBlock(message: Message, content: Content, { began, over }: ThreadContext): Block {
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
  ]
  const isSame = began && content.title.includes(began.title)
  const history = began && [
    `began ${dateOf(began.sinceMs)}${isSame ? '' : `: ${began.title}`}`,
    `${grouped(began.changes)} ${began.changes === 1 ? 'change' : 'changes'}${over ? '' : ' so far'}`,
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

const MAX_QUOTE = 1_000
const MAX_LOGS = 2_500
const MAX_CHANGES = 8
const MAX_PATH = 120
const MAX_VALUE = 100
const MAX_COMMAND = 500

/** Text of another program: shown literally, never parsed. */
function quoteBlock(quote: string): Block[] {
  const text = quote.trim()
  if (text === '') return []
  const end = text.length <= MAX_QUOTE ? text.length : wholeCharacters(text, MAX_QUOTE)
  const more = text.length - end
  const shown = severalLines(text.slice(0, end))
  const run: RichRun = {
    type: 'text',
    text: more > 0 ? `${shown}\n(+${grouped(more)} chars)` : shown,
  }
  return [{ type: 'rich_text', elements: [{ type: 'rich_text_preformatted', elements: [run] }] }]
}

/** The end of a log counts, so its beginning is cut. */
function logsBlock(logs = ''): Block[] {
  if (logs === '') return []
  const run: RichRun = { type: 'text', text: severalLines(endOfLog(logs, MAX_LOGS)) }
  return [{ type: 'rich_text', elements: [{ type: 'rich_text_preformatted', elements: [run] }] }]
}

/** Old → new, a line for each. */
function changesBlock(changes: readonly FieldChange[]): Block[] {
  if (changes.length === 0) return []
  const lines = changes.slice(0, MAX_CHANGES).flatMap((it): RichRun[] => [
    { type: 'text', text: '\n' },
    { type: 'text', text: cutText(oneLine(it.path), MAX_PATH) || '(all)', style: { code: true } },
    { type: 'text', text: `  ${valueText(it.old)} → ${valueText(it.new)}` },
  ])
  const more = changes.length - MAX_CHANGES
  const rest: RichRun[] = more > 0 ? [{ type: 'text', text: `\nand ${grouped(more)} more` }] : []
  const head: RichRun = { type: 'text', text: 'Changed', style: { bold: true } }
  return [
    { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [head, ...lines, ...rest] }] },
  ]
}

/** To be copied: as it is, without marks that would be copied along. */
function commandBlock(command: string): Block[] {
  const text = oneLine(command).trim()
  if (text === '' || text.length > MAX_COMMAND) return []
  const run: RichRun = { type: 'text', text, style: { code: true } }
  return [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [run] }] }]
}

function valueText(value: unknown): string {
  if (value === undefined) return '(none)'
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text === '' ? '""' : cutText(oneLine(text.slice(0, 2 * MAX_VALUE)), MAX_VALUE)
}

const ROWS = 10
const SAMPLES = 3
const SEVERITIES: readonly Severity[] = ['error', 'warning', 'info', 'resolved']

/**
 * Formats several messages as one: counts by group and a few samples. It evaluates no templates, so it cannot fail.
 */
export function formatDigest(batch: readonly Message[], mention: readonly string[] = []): Rendered {
  const groups = groupsOf(batch)
  const counts = SEVERITIES.map(
    (it) => [it, eventsIn(batch.filter(({ summary }) => summary.severity === it))] as const,
  )
  const worst = counts.find(([, n]) => n > 0)?.[0] ?? 'info'
  const times = batch.map(({ event }) => Date.parse(event.time)).filter(Number.isFinite)
  const firstMs = Math.min(...times)
  const lastMs = Math.max(...times)
  const span = times.length > 0 ? ` in ${spanText(Math.round((lastMs - firstMs) / 1_000))}` : ''
  const cluster = inMrkdwn(oneLine((batch[0] as Message).event.cluster))
  const title = `${grouped(eventsIn(batch))} events${span}`
  const text = [LOOKS[worst].emoji, `[${cluster}]`, bold(title), ...mention].join(' ')
  const tally = counts.filter(([, n]) => n > 0).map(([it, n]) => `${LOOKS[it].emoji} ${grouped(n)}`)
  const samples = samplesOf(groups)
  const rules = [...new Set(batch.map(({ rule }) => rule))]
  const facts = [
    tally.join('  '),
    ...(times.length > 0 ? [`${dateOf(firstMs)} – ${dateOf(lastMs)}`] : []),
    `${rules.length === 1 ? 'rule' : 'rules'} ${cutMarkup(inMrkdwn(oneLine(rules.slice(0, 5).join(', '))), 300)}`,
    'came faster than this channel takes messages: sent together',
  ]
  const blocks: Block[] = [
    {
      type: 'rich_text',
      elements: [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text: tableOf(groups) }] }],
    },
    { type: 'section', text: mrkdwn(samples.join('\n')) },
    { type: 'context', elements: [mrkdwn(facts.join(' · '))] },
  ]
  return {
    text,
    attachments: [{ color: LOOKS[worst].color, fallback: `[${cluster}] ${title}`, blocks }],
    plain: cutMarkup([text, inMrkdwn(tableOf(groups)), ...samples].join('\n'), 3_500),
    truncated: false,
  }
}

/** A digest of a rule counts as its number of events. */
function eventsIn(batch: readonly Message[]): number {
  return batch.reduce((sum, { notice }) => sum + (notice?.kind === 'digest' ? notice.count : 1), 0)
}

interface Group {
  kind: string
  reason: string
  namespace: string
  members: Message[]
}

/** The largest first. */
function groupsOf(batch: readonly Message[]): Group[] {
  const groups = new Map<string, Group>()
  for (const message of batch) {
    const { about } = message.summary
    const [kind, reason, namespace] = [about.kind, reasonOf(message), about.namespace ?? '']
    const key = JSON.stringify([kind, reason, namespace])
    const group = groups.get(key)
    if (group) group.members.push(message)
    else groups.set(key, { kind, reason, namespace, members: [message] })
  }
  return [...groups.values()].toSorted((a, b) => eventsIn(b.members) - eventsIn(a.members))
}

const CHANGES = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' } as const

function reasonOf({ event, notice }: Message): string {
  if (notice?.kind === 'resolved') return 'resolved'
  return event.event?.reason || CHANGES[event.type]
}

function tableOf(groups: readonly Group[]): string {
  const cell = (text: string) => cutText(oneLine(text), 40) || '-'
  const rows = groups
    .slice(0, ROWS)
    .map((it) => [grouped(eventsIn(it.members)), cell(it.kind), cell(it.reason), cell(it.namespace)])
  const table = [['count', 'kind', 'reason', 'namespace'], ...rows]
  const widths = [0, 1, 2, 3].map((i) => Math.max(...table.map((row) => (row[i] as string).length)))
  const lines = table.map(([count = '', ...rest]) =>
    [count.padStart(widths[0] as number), ...rest.map((it, i) => it.padEnd(widths[i + 1] as number))]
      .join('  ')
      .trimEnd(),
  )
  const others = groups.slice(ROWS)
  if (others.length > 0) {
    const events = others.reduce((n, it) => n + eventsIn(it.members), 0)
    lines.push(`and ${grouped(others.length)} more (${grouped(events)} events)`)
  }
  return lines.join('\n')
}

/** The newest of the worst groups, each group once. */
function samplesOf(groups: readonly Group[]): string[] {
  const newest = groups.map(({ members }) => members.at(-1) as Message)
  return newest
    .toSorted((a, b) => SEVERITIES.indexOf(a.summary.severity) - SEVERITIES.indexOf(b.summary.severity))
    .slice(0, SAMPLES)
    .map(({ summary }) => {
      const said = summary.text ? `${summary.title}: ${summary.text}` : summary.title
      return `${LOOKS[summary.severity].emoji} ${cutMarkup(inMrkdwn(oneLine(said.slice(0, 1_000))), 300)}`
    })
}
