import type { FieldChange } from '../../src/sink/index.ts'
import type { Block, RichRun } from './blocks.ts'
import { cutText, grouped, oneLine, severalLines, wholeCharacters } from './markup.ts'

const MAX_QUOTE = 1_000
const MAX_CHANGES = 8
const MAX_PATH = 120
const MAX_VALUE = 100
const MAX_COMMAND = 500

/** What another program said: shown letter by letter, never parsed. */
export function quoteBlock(quote: string): Block[] {
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

/** Old → new, a line for each. */
export function changesBlock(changes: readonly FieldChange[]): Block[] {
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
export function commandBlock(command: string): Block[] {
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
