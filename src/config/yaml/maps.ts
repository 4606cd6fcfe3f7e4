import { asText, braced, isInBlock, keyBefore, lineOf, type Piece, quoted, textFrom } from './text.ts'

export interface Advice extends Piece {
  message: string
  /** Quotes what stands in the piece. */
  hint: string
}

interface Joined extends Piece {
  value?: string
}

const MAPS =
  /^(to|to-state|from|when|condition|labels|annotations|namespaceLabels|regarding|throttle|after|count|group|mute|resolve|vars|defaults|redis|server|kubernetes|sinks|queue|journal|deadLetters|archive|given|object|expect|surroundings)$/

const TEXTS = /^(if|name|title|text|url|path|reason|message)$/

const MESSAGE_PART = /^(title|text|severity|labels|link|fields)$/

/** `to: screen: { … }` was meant as a map, `if: x.contains("a: b")` as a text. */
export function mapInLine(text: string, at: number): Advice | undefined {
  const start = outermost(text, at)
  const second = /["']/.test(text[start] ?? '') ? text.indexOf(text[start] as string, start + 1) : -1
  if (second !== -1) return textBehindQuote(text, { start, end: second + 1 })
  const key = keyBefore(text, start)
  const piece: Joined | undefined =
    textFrom(text, start) ?? (key === undefined ? undefined : withLinesBelow(text, start))
  if (!piece) return undefined
  const value = piece.value ?? text.slice(piece.start, piece.end)
  const inner = /^((?:[\w./-]|\[[^\]\s]*\])+):\s/.exec(value)?.[1]
  const { end } = lineOf(text, start)
  const place = { start, end: Math.min(piece.end, end) }
  const write = (it: string) => (key === undefined ? it : `${key}: ${it}`)
  const isPart = key === 'message' && inner !== undefined && MESSAGE_PART.test(inner)
  if (inner === undefined || (key !== undefined && TEXTS.test(key) && !isPart))
    return { ...place, message: 'the ": " in this text begins a map', hint: `write ${write(quoted(value))}` }
  const message = 'a map in the line of its key needs braces'
  const hint = `write ${write(braced(value))}`
  if (key === undefined || MAPS.test(key) || isPart) return { ...place, message, hint }
  return {
    ...place,
    message: 'the ": " in this text begins a map',
    hint: `${hint}, or as a text ${quoted(value)}`,
  }
}

/** `{ regarding: labels: app: web }` begins with the second of its keys to be wrong. */
function outermost(text: string, at: number): number {
  const before = text.slice(Math.max(lineOf(text, at).start, at - 200), at)
  const [head = ''] = /(?:[\w./-]+: +)+$/.exec(before) ?? []
  const [first = ''] = keyBefore(text, at) === undefined ? (/^[^:]*: +/.exec(head) ?? []) : []
  return first === '' ? at : at - head.length + first.length
}

/** `screen:` with lines below it, as if all stood in one. */
function withLinesBelow(text: string, start: number): Joined | undefined {
  const line = lineOf(text, start)
  const head = text.slice(start, line.end).trimEnd()
  if (!head.endsWith(':')) return undefined
  const depth = text.slice(line.start).search(/\S/)
  const pairs: string[] = []
  let column: number | undefined
  for (let at = line.end + 1; at < text.length && pairs.length < 5; ) {
    const below = lineOf(text, at)
    const content = text.slice(below.start, below.end)
    const indent = content.search(/\S|$/)
    if (indent <= depth) break
    column ??= indent
    if (indent !== column || !/^\s*[\w./-]+: +\S/.test(content)) return undefined
    pairs.push(content.trim())
    at = below.end + 1
  }
  if (pairs.length === 0) return undefined
  return { start, end: line.end, value: `${head} ${braced(pairs.join(', '))}` }
}

/** `npm start` prints its name and version, and the command, before the output of the program. */
const NPM_LINE = /^> (?:\S+@\d+\.\d+\.\d+\S* start|exec node )/

/** Text that begins like a block of lines: `age: >5m`. */
export function blockInLine(text: string, at: number): Advice {
  const line = lineOf(text, at)
  if (at === line.start && NPM_LINE.test(text.slice(at, line.end)))
    return {
      start: at,
      end: line.end,
      message: 'npm printed this line, and it is no part of the configuration',
      hint: 'delete the lines that begin with ">"; npm start --silent -- … prints none',
    }
  const mark = text[at] as string
  const key = keyBefore(text, at)
  const piece = textFrom(text, at)
  const whole = piece && text.slice(at, piece.end)
  const rest = whole?.replace(/^[>|][+-]?\s*/, '')
  const written =
    !whole || !rest
      ? undefined
      : (key === 'age' ? /^>\s*[=\d]/ : /^>[=\d]/).test(whole)
        ? quoted(whole.replace(/^>\s+/, '>'))
        : asText(rest)
  return {
    start: at,
    end: piece?.end ?? at + 1,
    message: `"${mark}" begins a text of several lines here`,
    hint:
      written === undefined
        ? 'begin the text in the next line'
        : `write ${key === undefined ? '' : `${key}: `}${written}`,
  }
}

/** What an expression can be about. */
const SUBJECT = /^(?:(?:object|oldObject|event)(?:\.\??[A-Za-z_]\w*|\[[^\]]*\])+|cluster|now)$/

/** A text in quotes, behind which text goes on. */
export function textBehindQuote(text: string, first: Piece): Advice {
  const { start, end } = first
  const key = keyBefore(text, start)
  const piece = textFrom(text, start)
  const whole = piece && text.slice(start, piece.end)
  const message = 'YAML ends the text at its second quote'
  if (whole === undefined)
    return {
      start,
      end,
      message,
      hint: 'put all of it in quotes of the other kind, or in the next lines, below "|"',
    }
  const within = text.slice(start + 1, end - 1)
  const isAround = whole.at(-1) === whole[0] && /[\s([,=<>&|!]$/.test(within)
  const meant = isAround
    ? whole.slice(1, -1)
    : key === 'if' && SUBJECT.test(within)
      ? `${within}${whole.slice(end - start)}`
      : whole
  const isPlain = key === 'if' && (isInBlock(text, start) || !/[[\]{},]/.test(meant))
  const written = isPlain ? asText(meant) : quoted(meant)
  return { start, end, message, hint: `write ${key === undefined ? '' : `${key}: `}${written}` }
}

/** Keys that ask nothing by "*". */
const PATTERNS = /^(namespaces?|name|kind|type|reason|message|owner)$/

/** A "*" without the name of an anchor. */
export function starAlone(text: string, at: number): Advice {
  const key = keyBefore(text, at)
  const piece = textFrom(text, at) ?? { start: at, end: at + 1 }
  const written = quoted(text.slice(piece.start, piece.end))
  const isAll = written === '"*"' && key !== undefined && PATTERNS.test(key)
  return {
    ...piece,
    message: 'text that begins with "*" needs quotes',
    hint: `write ${key === undefined ? '' : `${key}: `}${written}${isAll ? ', or leave it out: "*" asks nothing' : ''}`,
  }
}
