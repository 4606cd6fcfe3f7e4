import * as z from 'zod'
import { clockOf, createDrawing, type Drawing, NoPicture, type Theme } from './drawing.ts'
import type { Run } from './wrap.ts'

const Text = z.union([
  z.strictObject({ type: z.literal('plain_text'), text: z.string() }),
  z.strictObject({ type: z.literal('mrkdwn'), text: z.string(), verbatim: z.literal(true) }),
])
const RichRun = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  style: z.strictObject({ bold: z.boolean(), italic: z.boolean(), code: z.boolean() }).partial().default({}),
})
const RichPart = z.strictObject({
  type: z.enum(['rich_text_section', 'rich_text_preformatted']),
  elements: z.array(RichRun),
})
const Block = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('header'), text: Text }),
  z.strictObject({ type: z.literal('section'), text: Text.optional(), fields: z.array(Text).default([]) }),
  z.strictObject({ type: z.literal('context'), elements: z.array(Text) }),
  z.strictObject({ type: z.literal('rich_text'), elements: z.array(RichPart) }),
  z.strictObject({ type: z.literal('divider') }),
])
const Color = z.string().regex(/^#[0-9A-F]{6}$/i)
/** The parts that pictures know; another key or type is an error. Slack shows `fallback` in notifications only. */
const Message = z.strictObject({
  text: z.string(),
  attachments: z.array(z.strictObject({ color: Color, fallback: z.string(), blocks: z.array(Block) })),
})

const THEME: Theme = {
  canvas: ['#ffffff', '#1a1d21'],
  edge: ['#dddddd', '#35373b'],
  ink: ['#1d1c1d', '#d1d2d3'],
  muted: ['#616061', '#ababad'],
  link: ['#1264a3', '#1d9bd1'],
  badge: ['#ebebeb', '#3a3c40'],
  code: ['#c01343', '#e8912d'],
  'code-back': ['#f6f6f6', '#232529'],
  'code-line': ['#dddddd', '#3c3e42'],
  mention: ['#0b4c8c', '#e8d9a0'],
  'mention-back': ['#fdf3d1', '#4c4321'],
  'mention-line': ['#fdf3d1', '#4c4321'],
}
const LEFT = 68
const INNER = LEFT + 18
const RIGHT = 696
const BODY = { size: 15, lineHeight: 22 }
const SMALL = { size: 12, lineHeight: 18 }
/** Slack shows the name that belongs to an id, and the character of a shortcode. */
const NAMES = { U0123456789: '@anna', S0123456789: '@platform-oncall' }
const EMOJI = { rotating_light: '🚨', fire: '🔥', warning: '⚠️', white_check_mark: '✅' }

/** A message as the Web API takes it, and when it was posted. */
export interface SlackMessage {
  message: unknown
  postedMs: number
}

/**
 * Draws messages as Slack shows them in a channel or, with replies, in a thread. Times are in UTC. Throws a ZodError or
 * NoPicture for what it cannot draw.
 */
export function slackPicture(
  label: string,
  messages: readonly SlackMessage[],
  replies: readonly SlackMessage[] = [],
): string {
  const drawing = createDrawing(THEME, RIGHT + 24)
  drawing.y = 14
  const inThread = replies.length > 0
  const header = { text: inThread ? 'Thread' : '# oncall', bold: true }
  const channel = { text: inThread ? '   #oncall' : '', tone: 'muted' }
  drawing.paragraph([header, channel], { x: 24, width: 400, size: 16, lineHeight: 26 })
  drawing.rect(1, drawing.y + 8, RIGHT + 22, 1, 'edge')
  drawing.y += 24
  for (const it of messages) drawMessage(drawing, it)
  if (inThread) {
    drawing.rect(84, drawing.y + 9, RIGHT - 84, 1, 'edge')
    const count = `${replies.length} ${replies.length === 1 ? 'reply' : 'replies'}`
    drawing.paragraph([{ text: count }], { x: 24, width: 60, ...SMALL, tone: 'muted' })
    drawing.y += 14
  }
  for (const it of replies) drawMessage(drawing, it)
  return drawing.svg(label)
}

function drawMessage(drawing: Drawing, { message, postedMs }: SlackMessage): void {
  const { text, attachments } = Message.parse(message)
  drawing.sender({ x: 24, left: LEFT, name: 'kubeherald', app: true, postedMs, fill: '#3f51b5', radius: 8 })
  drawMrkdwn(drawing, text, LEFT)
  for (const { color, blocks } of attachments) {
    drawing.y += 6
    const top = drawing.y
    for (const block of blocks) {
      drawBlock(drawing, block)
      drawing.y += 8
    }
    drawing.rect(LEFT, top, 4, drawing.y - top, color, { radius: 2 })
  }
  drawing.y += 20
}

function drawBlock(drawing: Drawing, block: z.infer<typeof Block>): void {
  const place = { x: INNER, width: RIGHT - INNER }
  switch (block.type) {
    case 'section':
      if (block.text) drawMrkdwn(drawing, block.text.text, INNER)
      return drawFields(
        drawing,
        block.fields.map(({ text }) => text),
      )
    case 'context': {
      const runs = block.elements.flatMap(({ text }, i) => [
        ...(i > 0 ? [{ text: '   ' }] : []),
        ...runsOf(text),
      ])
      return drawing.paragraph(runs, { ...place, ...SMALL, tone: 'muted' })
    }
    case 'rich_text':
      for (const { type, elements } of block.elements)
        if (type === 'rich_text_preformatted') drawing.code(elements.map(({ text }) => text).join(''), place)
        else
          drawing.paragraph(
            elements.map(({ text, style: { code, ...style } }) => ({
              text,
              ...(code ? { box: 'code' } : style),
            })),
            { ...place, ...BODY },
          )
      return
    case 'header':
      return drawing.paragraph([{ text: block.text.text, bold: true }], {
        ...place,
        size: 18,
        lineHeight: 26,
      })
    case 'divider':
      return drawing.rect(INNER, drawing.y + 4, RIGHT - INNER, 1, 'edge')
  }
}

function drawFields(drawing: Drawing, fields: readonly string[]): void {
  const width = (RIGHT - INNER) / 2
  for (let i = 0; i < fields.length; i += 2) {
    drawing.columns(
      fields
        .slice(i, i + 2)
        .map((text, column) => () => drawMrkdwn(drawing, text, INNER + column * width, width - 16)),
    )
    if (i + 2 < fields.length) drawing.y += 6
  }
}

/** Text with blocks of code and quotes. */
function drawMrkdwn(drawing: Drawing, text: string, x: number, width = RIGHT - x): void {
  for (const [i, part] of text.split(/```\n?([\s\S]+?)\n?```/).entries())
    if (i % 2 === 1) drawing.code(unescaped(part), { x, width })
    else
      for (const line of part === '' ? [] : part.split('\n')) {
        const [quote] = /^(&gt;|>) ?/.exec(line) ?? []
        if (quote) drawing.rect(x, drawing.y, 4, BODY.lineHeight, 'edge')
        const indent = quote ? 14 : 0
        drawing.paragraph(runsOf(line.slice(quote?.length ?? 0)), {
          x: x + indent,
          width: width - indent,
          ...BODY,
        })
      }
}

const MARKS =
  /<([^<>]*)>|`([^`\n]+)`|(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)|(?<![\w:]):([a-z0-9_+-]+):(?![\w:])/

/** The runs of a line of mrkdwn (https://docs.slack.dev/messaging/formatting-message-text). */
function runsOf(text: string, style: Partial<Run> = {}): Run[] {
  if (/(?<!\w)~\S[^~\n]*~(?!\w)/.test(text)) throw new NoPicture(text)
  const found = MARKS.exec(text)
  if (!found) return text === '' ? [] : [{ ...style, text: unescaped(text) }]
  const [all, angle, code, bold, italic, emoji] = found
  const marked =
    angle !== undefined
      ? [{ ...style, ...angleRun(angle) }]
      : code !== undefined
        ? [{ text: unescaped(code), box: 'code' }]
        : bold !== undefined
          ? runsOf(bold, { ...style, bold: true })
          : italic !== undefined
            ? runsOf(italic, { ...style, italic: true })
            : [{ ...style, text: known(EMOJI, emoji ?? '') }]
  const before = unescaped(text.slice(0, found.index))
  const after = runsOf(text.slice(found.index + all.length), style)
  return [...(before === '' ? [] : [{ ...style, text: before }]), ...marked, ...after]
}

/** The run of angle brackets: a date, a mention or a link. */
function angleRun(text: string): Run {
  const [, address = '', , title] = /^([^|]*)(\|(.*))?$/s.exec(text) ?? []
  const [, seconds, format] = /^!date\^(\d+)\^([^^]+)$/.exec(address) ?? []
  if (seconds && format) return { text: dateText(Number(seconds) * 1_000, format) }
  if (/^!(here|channel|everyone)$/.test(address)) return { text: address.replace('!', '@'), box: 'mention' }
  const [, id] = /^(?:@|!subteam\^)(\w+)$/.exec(address) ?? []
  if (id) return { text: known(NAMES, id), box: 'mention' }
  if (/^(https?|mailto):/.test(address)) return { text: unescaped(title ?? address), tone: 'link' }
  throw new NoPicture(`<${text}>`)
}

function dateText(ms: number, format: string): string {
  const day = new Date(ms).toLocaleDateString('en-US', { timeZone: 'UTC', dateStyle: 'medium' })
  const text = format.replace('{date_short_pretty}', day).replace('{time_secs}', clockOf(ms, 'medium'))
  if (text.includes('{')) throw new NoPicture(format)
  return text
}

function known(table: Readonly<Record<string, string>>, key: string): string {
  if (!Object.hasOwn(table, key)) throw new NoPicture(key)
  return table[key] as string
}

const ENTITIES = { lt: '<', gt: '>', amp: '&' }

function unescaped(text: string): string {
  return text.replace(/&(lt|gt|amp);/g, (_, name: keyof typeof ENTITIES) => ENTITIES[name])
}
