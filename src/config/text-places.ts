/** How a text is written in YAML. */
export type ScalarStyle = 'PLAIN' | 'QUOTE_SINGLE' | 'QUOTE_DOUBLE' | 'BLOCK_LITERAL' | 'BLOCK_FOLDED'

/** What a character of a text stands for when it is escaped: `\n`, `\x41`, `\u00e9`, `\U0001f600`. */
const ESCAPE_LENGTHS: Readonly<Record<string, number>> = { x: 4, u: 6, U: 10 }

/**
 * Where each character of a YAML text stands in the file: over indentation, folded lines, escapes and doubled quotes.
 * `start` is where the scalar begins, with its quote or `|`. Undefined when the two do not fit together.
 */
export function textPlaces(
  file: string,
  start: number,
  style: ScalarStyle,
  value: string,
): number[] | undefined {
  const isBlock = style.startsWith('BLOCK')
  let at = isBlock ? file.indexOf('\n', start) + 1 : style === 'PLAIN' ? start : start + 1
  const places: number[] = []
  for (let i = 0; i < value.length; i++) {
    const char = value[i] as string
    if (style === 'QUOTE_DOUBLE') at = skipContinuation(file, at)
    if (isBlank(char) && !isEscape(file, at, style)) {
      places.push(at)
      if (isBlank(file[at])) at = afterBlank(file, at, char, isBlock)
      continue
    }
    while (isBlank(file[at])) at++
    if (style === 'QUOTE_DOUBLE') at = skipContinuation(file, at)
    places.push(at)
    const length = lengthAt(file, at, style)
    if (length === 1 && file[at] !== char) return undefined
    // An escape may stand for two halves of one character.
    if (length > 6 && /[\ud800-\udbff]/.test(char)) {
      places.push(at)
      i++
    }
    at += length
  }
  places.push(at)
  return places
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r'
}

/** A line break may stand for itself, or for the space that it is folded to. */
function afterBlank(file: string, at: number, char: string, isBlock: boolean): number {
  if (!isBlock && file[at] === '\n') {
    while (isBlank(file[at])) at++
    return at
  }
  if (char === '\n' && file[at] !== '\n') {
    const end = file.indexOf('\n', at)
    return /^[ \t\r]*$/.test(file.slice(at, end)) ? end + 1 : at
  }
  return at + 1
}

function isEscape(file: string, at: number, style: ScalarStyle): boolean {
  return style === 'QUOTE_DOUBLE' && file[at] === '\\'
}

/** A backslash at the end of a line joins it with the next. */
function skipContinuation(file: string, at: number): number {
  const [joint] = /^\\\r?\n[ \t]*/.exec(file.slice(at, at + 200)) ?? ['']
  return at + joint.length
}

function lengthAt(file: string, at: number, style: ScalarStyle): number {
  if (isEscape(file, at, style)) return ESCAPE_LENGTHS[file[at + 1] ?? ''] ?? 2
  return style === 'QUOTE_SINGLE' && file.startsWith("''", at) ? 2 : 1
}
