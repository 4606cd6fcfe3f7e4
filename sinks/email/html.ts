import { printable } from '../../src/sink/index.ts'

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
export function severalLines(text: string): string {
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
