import { BOX_PADDING, type Run, type Segment, sizeOf, widthOf, wrapped } from './wrap.ts'

interface Paragraph {
  x: number
  width: number
  size: number
  lineHeight: number
  tone?: string
  /** Lines break within words, as in blocks of code. */
  anywhere?: boolean
}

interface Sender {
  x: number
  /** Where the name begins. */
  left: number
  name: string
  app: boolean
  postedMs: number
  fill: string
  radius: number
}

/** By the name of a tone: its colour in light and in dark. */
export type Theme = Readonly<Record<string, readonly [light: string, dark: string]>>

/** Fonts as wide as those that lines are broken for. */
const SANS = 'Helvetica,Arial,"Liberation Sans",sans-serif'
const MONO = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'

export type Drawing = ReturnType<typeof createDrawing>

/** Draws from top to bottom: `y` is the top of the next part. */
export function createDrawing(theme: Theme, width: number) {
  const shapes: string[] = []
  const drawing = {
    y: 0,
    /** Returns a position: a rectangle that is drawn later with it as `at` is behind what follows. */
    mark: () => shapes.length,
    rect(
      x: number,
      y: number,
      w: number,
      h: number,
      tone: string,
      { radius = 0, line = '', at = shapes.length } = {},
    ) {
      const stroke = line === '' ? '' : ` stroke="var(--${line})"`
      const half = line === '' ? 0 : 0.5
      shapes.splice(
        at,
        0,
        `<rect x="${n(x + half)}" y="${n(y + half)}" width="${n(w - 2 * half)}" height="${n(h - 2 * half)}" rx="${radius}" fill="${colour(tone)}"${stroke}/>`,
      )
    },
    /** One line; `baseline` is its y. Returns the x of its end. */
    line(segments: readonly Segment[], x: number, baseline: number, size: number, tone = 'ink'): number {
      for (const { run, text, width: w } of segments) {
        const pad = run.box ? BOX_PADDING : 0
        if (run.box)
          drawing.rect(x, baseline - size, w, size + 5, `${run.box}-back`, {
            radius: 3,
            line: `${run.box}-line`,
          })
        if (text.trim() !== '')
          shapes.push(
            textElement(run, text, {
              x: x + pad,
              y: baseline,
              width: w - 2 * pad,
              size: sizeOf(run, size),
              tone: run.tone ?? run.box ?? tone,
            }),
          )
        x += w
      }
      return x
    },
    paragraph(
      runs: readonly Run[],
      { x, width: w, size, lineHeight, tone = 'ink', anywhere = false }: Paragraph,
    ) {
      for (const segments of wrapped(runs, w, size, anywhere)) {
        drawing.line(segments, x, drawing.y + (lineHeight + size * 0.7) / 2, size, tone)
        drawing.y += lineHeight
      }
    },
    /** One run. Returns the x of its end. */
    text: (run: Run, x: number, baseline: number, size: number) =>
      drawing.line([{ run, text: run.text, width: widthOf(run.text, run, size) }], x, baseline, size),
    /** Columns side by side: the next part is below the longest. */
    columns(draws: readonly (() => void)[]) {
      const top = drawing.y
      let bottom = top
      for (const draw of draws) {
        drawing.y = top
        draw()
        bottom = Math.max(bottom, drawing.y)
      }
      drawing.y = bottom
    },
    /** A block of code. */
    code(text: string, { x, width: w }: { x: number; width: number }) {
      const top = drawing.y
      const at = drawing.mark()
      drawing.y += 8
      drawing.paragraph([{ text, mono: true }], {
        x: x + 9,
        width: w - 18,
        size: 12,
        lineHeight: 18,
        anywhere: true,
      })
      drawing.y += 8
      drawing.rect(x, top, w, drawing.y - top, 'code-back', { radius: 4, line: 'code-line', at })
    },
    /** Who posts, and when: an avatar with a letter, the name, the mark of an app. */
    sender({ x, left, name, app, postedMs, fill, radius }: Sender) {
      drawing.rect(x, drawing.y + 2, 36, 36, fill, { radius })
      const letter = { text: name.slice(0, 1), bold: true, tone: '#ffffff' }
      drawing.text(letter, x + 18 - widthOf(letter.text, letter, 17) / 2, drawing.y + 26, 17)
      const baseline = drawing.y + 15
      let end = drawing.text({ text: name, bold: true }, left, baseline, 15) + 6
      if (app) {
        drawing.rect(end, baseline - 12, 30, 15, 'badge', { radius: 3 })
        drawing.text({ text: 'APP', tone: 'muted' }, end + 5, baseline - 1, 10)
        end += 38
      }
      drawing.text({ text: clockOf(postedMs), tone: 'muted' }, end, baseline, 12)
      drawing.y += 22
    },
    svg(label: string): string {
      const height = Math.ceil(drawing.y)
      const colours = (i: 0 | 1) =>
        Object.entries(theme)
          .map(([name, pair]) => `--${name}:${pair[i]}`)
          .join(';')
      return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(label)}" xml:space="preserve">
<style>svg{${colours(0)}}@media (prefers-color-scheme:dark){svg{${colours(1)}}}text{white-space:pre;font-family:${SANS}}.m{font-family:${MONO}}.b{font-weight:700}.i{font-style:italic}</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="var(--canvas)" stroke="var(--edge)"/>
${shapes.join('\n')}
</svg>
`
    },
  }
  return drawing
}

/** The width is given, so that every font fills the place that the lines were broken for. */
function textElement(
  run: Run,
  text: string,
  { x, y, width, size, tone }: { x: number; y: number; width: number; size: number; tone: string },
): string {
  const classes = [run.bold && 'b', run.italic && 'i', (run.mono || run.box === 'code') && 'm']
  const names = classes.filter(Boolean).join(' ')
  return `<text x="${n(x)}" y="${n(y)}" font-size="${size}" textLength="${n(width)}" lengthAdjust="spacingAndGlyphs" fill="${colour(tone)}"${names && ` class="${names}"`}>${escaped(text)}</text>`
}

/** A tone of the theme, or a colour of the payload. */
function colour(tone: string): string {
  return /^#[0-9a-f]{6}$/i.test(tone) ? tone : `var(--${tone})`
}

/** Text as text of XML: characters that XML does not know, and those that change the direction, are shown as �. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g,
      '�',
    )
    .replace(/[&<>"]/g, (it) => `&#${it.charCodeAt(0)};`)
}

/** A picture must not leave out what the chat shows. */
export class NoPicture extends Error {
  constructor(part: string) {
    super(`no picture of ${part.slice(0, 200)}`)
  }
}

/** The time of day in UTC. */
export function clockOf(ms: number, timeStyle: 'short' | 'medium' = 'short'): string {
  return new Date(ms).toLocaleTimeString('en-US', { timeZone: 'UTC', timeStyle }).replace(/\s/g, ' ')
}

function n(value: number): string {
  return String(Math.round(value * 10) / 10)
}
