import * as z from 'zod'
import { createDrawing, type Drawing, NoPicture, type Theme } from './drawing.ts'
import type { Run } from './wrap.ts'

const TextBlock = z.strictObject({
  type: z.literal('TextBlock'),
  text: z.string(),
  wrap: z.literal(true),
  weight: z.enum(['Default', 'Bolder']).default('Default'),
  size: z.enum(['Small', 'Default', 'Medium']).default('Default'),
  isSubtle: z.boolean().default(false),
})
const Part = z.discriminatedUnion('type', [
  TextBlock,
  z.strictObject({
    type: z.literal('Container'),
    style: z.enum(['attention', 'warning', 'accent', 'good']),
    bleed: z.literal(true),
    items: z.array(TextBlock),
  }),
  z.strictObject({
    type: z.literal('FactSet'),
    facts: z.array(z.strictObject({ title: z.string(), value: z.string() })),
  }),
  z.strictObject({
    type: z.literal('RichTextBlock'),
    inlines: z.array(
      z.strictObject({
        type: z.literal('TextRun'),
        text: z.string(),
        fontType: z.literal('Monospace'),
        size: z.literal('Small'),
      }),
    ),
  }),
])
const Action = z.strictObject({ type: z.literal('Action.OpenUrl'), title: z.string(), url: z.string() })
const Card = z.strictObject({
  $schema: z.string(),
  type: z.literal('AdaptiveCard'),
  version: z.literal('1.4'),
  msteams: z.strictObject({ width: z.literal('Full') }),
  /** Shown in notifications only. */
  fallbackText: z.string(),
  body: z.array(Part),
  actions: z.array(Action).default([]),
})
/** The parts that pictures know; another key or type is an error. */
const Posted = z.strictObject({
  type: z.literal('message'),
  attachments: z.tuple([z.strictObject({ contentType: z.string(), contentUrl: z.null(), content: Card })]),
})

const THEME: Theme = {
  canvas: ['#f5f5f5', '#1f1f1f'],
  edge: ['#d6d6d6', '#424242'],
  ink: ['#242424', '#ffffff'],
  muted: ['#616161', '#adadad'],
  link: ['#4f52b2', '#8f92f0'],
  card: ['#ffffff', '#292929'],
  attention: ['#fdf0f1', '#4a2226'],
  warning: ['#fff7e6', '#463215'],
  accent: ['#ebefff', '#2a2d52'],
  good: ['#e9f5e9', '#163a1c'],
}
const LEFT = 72
const CARD = 624
const PADDING = 16
const X = LEFT + PADDING
const WIDTH = CARD - 2 * PADDING
const SIZES = {
  Small: { size: 12, lineHeight: 17 },
  Default: { size: 14, lineHeight: 21 },
  Medium: { size: 16, lineHeight: 23 },
}

/** A request's body, and when it is sent. */
export interface Body {
  body: unknown
  sentMs: number
}

/**
 * Draws an Adaptive Card (https://adaptivecards.io/explorer) as Teams shows it when a workflow posts it. Times are in
 * UTC. Throws a ZodError or NoPicture for what it cannot draw.
 */
export function teamsPicture(label: string, sent: Body | undefined): string {
  if (!sent) throw new NoPicture('a card that is not sent')
  const { attachments } = Posted.parse(sent.body)
  const { body: parts, actions } = attachments[0].content
  const drawing = createDrawing(THEME, LEFT + CARD + 24)
  drawing.y = 14
  drawing.sender({
    x: 24,
    left: LEFT,
    name: 'Workflows',
    app: false,
    postedMs: sent.sentMs,
    fill: '#5b5fc7',
    radius: 18,
  })
  drawing.y += 2
  const top = drawing.y
  const at = drawing.mark()
  drawing.y += PADDING
  for (const [i, part] of parts.entries()) drawPart(drawing, part, i === 0)
  drawActions(drawing, actions)
  drawing.y += PADDING - 8
  drawing.rect(LEFT, top, CARD, drawing.y - top, 'card', { radius: 6, line: 'edge', at })
  drawing.y += 18
  return drawing.svg(label)
}

function drawPart(drawing: Drawing, part: z.infer<typeof Part>, first: boolean): void {
  const top = drawing.y - (first ? PADDING : 0)
  switch (part.type) {
    case 'Container': {
      const at = drawing.mark()
      drawing.y = top + 12
      for (const it of part.items) drawPart(drawing, it, false)
      drawing.y += 4
      drawing.rect(LEFT + 1, top + 1, CARD - 2, drawing.y - top - 1, part.style, { radius: 5, at })
      break
    }
    case 'TextBlock': {
      const style = { ...SIZES[part.size], tone: part.isSubtle ? 'muted' : 'ink' }
      for (const text of part.text.split(/\n{2,}/))
        drawing.paragraph(runsOf(text, { bold: part.weight === 'Bolder' }), { x: X, width: WIDTH, ...style })
      break
    }
    case 'FactSet': {
      const column = Math.min(150, Math.max(...part.facts.map(({ title }) => title.length)) * 8 + 18)
      for (const { title, value } of part.facts)
        drawing.columns([
          () =>
            drawing.paragraph(runsOf(title, { bold: true }), { x: X, width: column - 8, ...SIZES.Default }),
          () => drawing.paragraph(runsOf(value), { x: X + column, width: WIDTH - column, ...SIZES.Default }),
        ])
      break
    }
    case 'RichTextBlock':
      for (const { text, size } of part.inlines)
        drawing.paragraph([{ text, mono: true }], { x: X, width: WIDTH, ...SIZES[size] })
  }
  drawing.y += 8
}

function drawActions(drawing: Drawing, actions: readonly z.infer<typeof Action>[]): void {
  if (actions.length === 0) return
  let x = X
  for (const { title } of actions) {
    const end = drawing.text({ text: title, bold: true }, x + 14, drawing.y + 25, 14)
    drawing.rect(x, drawing.y + 4, end + 14 - x, 32, 'card', {
      radius: 4,
      line: 'edge',
      at: drawing.mark() - 1,
    })
    x = end + 22
  }
  drawing.y += 44
}

const MARKS = /\\([^\w\s])|\[([^\]\n]+)\]\([^)\s]+\)|\*\*([^*\n]+)\*\*/

/** The runs of the Markdown of cards as the preset writes it: escapes, links and bold. Throws NoPicture for other marks. */
function runsOf(text: string, style: Partial<Run> = {}): Run[] {
  const found = MARKS.exec(text)
  const plain = text.slice(0, found?.index)
  if (/(^|\s)[*_]\S|~~|^([-+*]|\d+[.)]) |\n/.test(plain)) throw new NoPicture(plain)
  const before = plain === '' ? [] : [{ ...style, text: plain }]
  if (!found) return before
  const [all, character, title, bold] = found
  const marked =
    character !== undefined
      ? [{ ...style, text: character }]
      : title !== undefined
        ? runsOf(title, { ...style, tone: 'link' })
        : runsOf(bold ?? '', { ...style, bold: true })
  return [...before, ...marked, ...runsOf(text.slice(found.index + all.length), style)]
}
