import {
  type Content,
  clock,
  endOfLog,
  MAX_SHOWN_CHANGES,
  type Message,
  printable,
  SEVERITY_SIGNS,
  type Severity,
  timeOf,
} from '../../src/sink/index.ts'

const COLOURS: Readonly<Record<Severity, string>> = {
  error: '#c62828',
  warning: '#b26a00',
  info: '#1565c0',
  resolved: '#2e7d32',
}

/** In UTF-16 units. Mail clients show about 70 characters of a subject; Gmail cuts mails at 102 KB. */
const MAX = {
  subject: 200,
  title: 300,
  text: 6_000,
  field: 1_000,
  quote: 4_000,
  logs: 8_000,
  path: 200,
  value: 300,
  command: 1_000,
}
const MAX_FIELDS = 20
const MAX_LINKS = 8
const MAX_LINK = 2_000
/** Factor by which a shortened mail cuts the maximum length of each text. */
const SHORT = 1 / 16

/** The text of a mail, twice. */
export interface Written {
  text: string
  html: string
  /** Some of the content was cut. */
  truncated: boolean
}

/** A part of the content: for the plain text, and its HTML. */
interface Part {
  text: string
  html: string
}

/** Returns the subject of the first mail of a thread: by the rule's or sink's template, else cluster and title. Throws a TemplateFault. */
export function subjectOf(
  message: Message<{ subject?: SubjectTemplate | undefined } | unknown>,
  template: SubjectTemplate | undefined,
): string {
  const { subject = template } = (message.route ?? {}) as { subject?: SubjectTemplate | undefined }
  const text = subject?.render(message) ?? `[${message.event.cluster}] ${plainOf(message.content.title)}`
  return cut(oneLine(text), MAX.subject) || `[${oneLine(message.event.cluster)}]`
}

interface SubjectTemplate {
  render(message: Message): string
}

/** Writes a mail; with `short`, as little of the texts as still makes sense. Throws a TemplateFault. */
export function writeMail(message: Message, { short = false } = {}): Written {
  const { content } = message
  let truncated = false
  const shorten = (text: string, max: number) => {
    const most = short ? Math.max(60, max * SHORT) : max
    truncated ||= text.length > most
    return cut(text, most)
  }
  /** A text in HTML; tags that would be cut are left out. */
  const rich = (html: string, max: number, lines: (text: string) => string): Part => {
    const clean = lines(html)
    const text = lines(plainOf(clean))
    const shown = shorten(text, max)
    return { text: shown, html: shown === text ? clean : inHtml(shown) }
  }
  const plain = (text: string, max: number, lines = oneLine): Part => {
    // A text of a megabyte need not be cleaned as a whole.
    const shown = shorten(lines(text.slice(0, 4 * max)), max)
    truncated ||= text.length > 4 * max
    return { text: shown, html: inHtml(shown) }
  }
  /** The end of a log counts, so its beginning is cut. */
  const log = (text: string): Part => {
    const most = short ? MAX.logs * SHORT : MAX.logs
    truncated ||= text.length > most
    const shown = severalLines(endOfLog(text, most))
    return { text: shown, html: inHtml(shown) }
  }
  const sign = SEVERITY_SIGNS[content.severity]
  const title = rich(content.title.slice(0, 20 * MAX.title), MAX.title, oneLine)
  const text = rich(content.text.slice(0, 20 * MAX.text), MAX.text, severalLines)
  const fields = content.fields
    .slice(0, MAX_FIELDS)
    .map(
      (it) =>
        [
          rich(it.title.slice(0, 20 * MAX.field), 100, oneLine),
          rich(it.value.slice(0, 20 * MAX.field), MAX.field, severalLines),
        ] as const,
    )
    .filter(([, value]) => value.text !== '')
  const changes = content.changes.slice(0, MAX_SHOWN_CHANGES).map((it) => ({
    path: plain(it.path || '(all)', MAX.path),
    old: plain(valueText(it.old), MAX.value),
    new: plain(valueText(it.new), MAX.value),
  }))
  const more = content.changes.length - changes.length
  const quote = plain(content.quote, MAX.quote, severalLines)
  const logs = log(content.logs ?? '')
  const command =
    content.command.length > MAX.command ? { text: '', html: '' } : plain(content.command, MAX.command)
  const links = linksOf(content)
  const source = plain(
    [`cluster ${message.event.cluster}`, `rule ${message.rule}`, clock(timeOf(message))].join(' · '),
    1_000,
  )
  const blocks: (Part | undefined)[] = [
    text.text === ''
      ? undefined
      : { text: text.text, html: `<p style="white-space:pre-line">${text.html}</p>` },
    fields.length === 0 ? undefined : fieldsBlock(fields),
    changes.length === 0 ? undefined : changesBlock(changes, more),
    quote.text === '' ? undefined : { text: indented(quote.text), html: pre(quote.html) },
    logs.text === '' ? undefined : { text: indented(logs.text, '| '), html: pre(logs.html) },
    command.text === '' ? undefined : { text: `$ ${command.text}`, html: pre(command.html) },
    links.length === 0 ? undefined : linksBlock(links),
  ]
  const shown = blocks.filter((it) => it !== undefined)
  const colour = COLOURS[content.severity]
  return {
    text: `${[`${sign} ${title.text}`, ...shown.map((it) => it.text), `-- \n${source.text}`].join('\n\n')}\n`,
    html: [
      '<!doctype html><html><head><meta charset="utf-8"></head>',
      `<body style="font:14px/1.5 sans-serif"><div style="max-width:720px;border-left:4px solid ${colour};padding-left:14px">`,
      `<p style="font-size:17px;font-weight:bold">${sign} ${title.html}</p>`,
      ...shown.map((it) => it.html),
      `<p style="font-size:12px;color:#757575">${source.html}</p>`,
      '</div></body></html>',
    ].join('\n'),
    truncated,
  }
}

function fieldsBlock(fields: readonly (readonly [Part, Part])[]): Part {
  const row = ([title, value]: readonly [Part, Part]) =>
    `<tr><td style="color:#757575;padding-right:14px;vertical-align:top">${title.html}</td><td style="white-space:pre-line">${value.html}</td></tr>`
  return {
    text: fields.map(([title, value]) => `${title.text}: ${value.text.replaceAll('\n', '\n  ')}`).join('\n'),
    html: `<table style="font:inherit;border-spacing:0">${fields.map(row).join('')}</table>`,
  }
}

function changesBlock(changes: readonly { path: Part; old: Part; new: Part }[], more: number): Part {
  const rest = more > 0 ? `and ${more} more` : ''
  const row = (it: (typeof changes)[number]) =>
    `<code>${it.path.html}</code>: <code>${it.old.html}</code> → <code>${it.new.html}</code>`
  return {
    text: [
      'Changed',
      ...changes.map((it) => `  ${it.path.text}: ${it.old.text} → ${it.new.text}`),
      ...(rest ? [`  ${rest}`] : []),
    ].join('\n'),
    html: `<p><b>Changed</b><br>${[...changes.map(row), ...(rest ? [rest] : [])].join('<br>')}</p>`,
  }
}

function linksOf({ links }: Content): Part[] {
  return links
    .filter(({ url }) => url.length <= MAX_LINK && /^https?:\/\//.test(url))
    .slice(0, MAX_LINKS)
    .map(({ title, url }) => {
      const name = cut(oneLine(plainOf(title)), 100) || 'link'
      const address = oneLine(url).replaceAll(' ', '%20')
      return { text: `${name}: ${address}`, html: `<a href="${inHtml(address)}">${inHtml(name)}</a>` }
    })
}

function linksBlock(links: readonly Part[]): Part {
  return {
    text: links.map((it) => it.text).join('\n'),
    html: `<p>${links.map((it) => it.html).join(' · ')}</p>`,
  }
}

function pre(html: string): string {
  return `<pre style="background:#f5f5f5;color:#212121;padding:8px;white-space:pre-wrap;word-break:break-word">${html}</pre>`
}

function indented(text: string, mark = '> '): string {
  return text.replace(/^/gm, mark)
}

function valueText(value: unknown): string {
  if (value === undefined) return '(none)'
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text === '' ? '""' : text
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Plain text in HTML. */
export function inHtml(text: string): string {
  return text.replace(/[&<>"']/g, (it) => ENTITIES[it] as string)
}

export function inCode(text: string): string {
  return `<code>${inHtml(text)}</code>`
}

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&', nbsp: ' ' }

/** The readable text of HTML: without tags, with characters instead of their entities. */
export function plainOf(html: string): string {
  return html
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/&(?:#(\d{1,7})|(lt|gt|amp|quot|nbsp));/g, (whole, code?: string, name?: string) =>
      code === undefined ? (NAMED[name ?? ''] ?? whole) : characterOf(Number(code)),
    )
}

function characterOf(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

/** One line, without control characters, marks of direction, and halves of characters. */
export function oneLine(text: string): string {
  return printable(text.toWellFormed()).replace(/\s+/g, ' ').trim()
}

/** The same for text of several lines. */
function severalLines(text: string): string {
  return text
    .toWellFormed()
    .split(/\r\n|\r|\n/)
    .map(printable)
    .join('\n')
    .trim()
}

/** At most `max` UTF-16 units; never half a character. */
export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
