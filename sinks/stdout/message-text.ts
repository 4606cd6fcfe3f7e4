import { type Content, type FieldChange, type Message, printable, timeOf } from '../../src/sink/index.ts'

const SIGNS: Readonly<Record<Content['severity'], string>> = {
  error: '🔴',
  warning: '🟠',
  info: '🔵',
  resolved: '✅',
}
const MAX_CHANGES = 8
const MAX_VALUE = 100

/** What chats show of a message, as lines of text with an empty one behind them. */
export function messageText(message: Message): string {
  const { content, event, rule } = message
  const fields = content.fields.map(({ title, value }) => `${title}: ${value}`)
  const lines = [
    `${SIGNS[content.severity]} [${event.cluster}] ${content.title}`,
    ...indented(content.text),
    ...indented(fields.join(' · ')),
    ...indented(content.quote, '> '),
    ...content.changes.slice(0, MAX_CHANGES).map((it) => `   ${changeLine(it)}`),
    ...(content.command === '' ? [] : [`   $ ${content.command}`]),
    ...content.links.map(({ title, url }) => `   ${title}: ${url}`),
    `   ${rule} · ${timeOf(message)}`,
    '',
  ]
  return lines.map((line) => `${printable(line)}\n`).join('')
}

function indented(text: string, mark = ''): string[] {
  const trimmed = text.trim()
  return trimmed === '' ? [] : trimmed.split(/\r\n?|\n/).map((line) => `   ${mark}${line}`)
}

function changeLine({ path, old, new: next }: FieldChange): string {
  return `${path}  ${valueText(old)} → ${valueText(next)}`
}

function valueText(value: unknown): string {
  if (value === undefined) return '(none)'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text
}
