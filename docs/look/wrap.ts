/** Text of one style. `box` puts it on a background, as code in a line and mentions have it. */
export interface Run {
  text: string
  bold?: boolean | undefined
  italic?: boolean | undefined
  mono?: boolean
  box?: string
  /** A colour of the theme; default: the paragraph's. */
  tone?: string
}

export interface Segment {
  run: Run
  text: string
  width: number
}

/** Left and right of the text in a box. */
export const BOX_PADDING = 4

/** Breaks runs into lines of at most `width`, between words; a longer word between characters. */
export function wrapped(runs: readonly Run[], width: number, size: number, anywhere = false): Segment[][] {
  const room = width - (runs.some((it) => it.box) ? 2 * BOX_PADDING : 0)
  const lines: Segment[][] = [[]]
  let x = 0
  let word: Segment[] = []

  const add = (segment: Segment) => {
    const line = lines.at(-1) as Segment[]
    const last = line.at(-1)
    x += segment.width
    if (last?.run !== segment.run) return void line.push({ ...segment })
    last.text += segment.text
    last.width += segment.width
  }
  const breakLine = () => {
    lines.push([])
    x = 0
  }
  const flush = () => {
    const total = word.reduce((sum, it) => sum + it.width, 0)
    if (total <= room) {
      if (x + total > room) breakLine()
      word.forEach(add)
    } else
      for (const { run, text } of word)
        for (const character of text) {
          const w = widthOf(character, run, size)
          if (x + w > room) breakLine()
          add({ run, text: character, width: w })
        }
    word = []
  }

  for (const run of runs)
    for (const [text] of run.text.matchAll(anywhere ? /\n|[^\n]/gu : /\n|[^\S\n]+|\S+/g)) {
      const piece = { run, text, width: widthOf(text, run, size) }
      if (!anywhere && /\S/.test(text)) word.push(piece)
      else {
        flush()
        if (text === '\n') breakLine()
        else if (x + piece.width > room) {
          breakLine()
          if (anywhere) add(piece)
        } else if (anywhere || x > 0) add(piece)
      }
    }
  flush()
  return lines.map(boxed)
}

/** Room for the padding of a box. */
function boxed(line: readonly Segment[]): Segment[] {
  return line.map((it) => (it.run.box ? { ...it, width: it.width + 2 * BOX_PADDING } : it))
}

/** Widths of a sans-serif font by the character, in thousandths of its size; like those of Helvetica. */
const WIDTHS = new Map(
  Object.entries({
    200: "ijl'|",
    280: ' !,./:;I[\\]ft',
    340: '()-`r"*·{}',
    500: 'cksvxyzJ^',
    556: '0123456789abdeghnopqu#$?_L…–',
    590: '+<=>~FTZ',
    667: '&ABEKPSVXY',
    720: 'CDHNRUw',
    780: 'GOQ',
    850: 'Mm%',
    950: 'W@',
    1000: '→•',
  }).flatMap(([width, characters]) => [...characters].map((it) => [it, Number(width)] as const)),
)
const WIDE = /[\p{Extended_Pictographic}\u2e80-\u9fff\uac00-\ud7ff\uff00-\uff60]/u

export function widthOf(text: string, run: Run, size: number): number {
  const mono = run.mono || run.box === 'code'
  let thousandths = 0
  for (const it of text)
    thousandths += WIDE.test(it) ? 1_250 : mono ? 602 : (WIDTHS.get(it) ?? 600) * (run.bold ? 1.07 : 1)
  return (thousandths * sizeOf(run, size)) / 1_000
}

/** Code in a line is smaller than the text around it. */
export function sizeOf({ box }: Run, size: number): number {
  return box === 'code' ? Math.min(size, 12.5) : size
}
