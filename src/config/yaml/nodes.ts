import { type Alias, type Document, isScalar, type Node, type Pair, type Scalar, visit } from 'yaml'
import type { Located, SourceFile, Span } from '../source-node.ts'

export type NodePair = Pair<Node, Node | null>

export function spanOf(file: SourceFile, node: Node): Span {
  const [start = 0, end = start] = node.range ?? []
  return { file, start, end }
}

/** Returns a key as text; undefined for a list or a map. */
export function nameOf(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))
}

export function isMergeKey(key: Node): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN'
}

/** Returns the target of each alias: the last anchor of that name before it. */
export function targetsIn(document: Document.Parsed): Map<Alias, Node | undefined> {
  const anchors = new Map<string, Node>()
  const targets = new Map<Alias, Node | undefined>()
  visit(document, {
    Alias: (_, node) => void targets.set(node, anchors.get(node.source)),
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node)
    },
  })
  return targets
}

/** Returns a function that maps an offset in a text to one in the file. It is computed at the first call. */
export function placesOf(file: string, node: Scalar, { start }: Span): NonNullable<Located['placeOf']> {
  let places: number[] | undefined
  return (offset) => {
    places ??= textPlaces(file, start, node.type as ScalarStyle, String(node.value)) ?? []
    return places[offset]
  }
}

/** How a text is written in YAML. */
type ScalarStyle = 'PLAIN' | 'QUOTE_SINGLE' | 'QUOTE_DOUBLE' | 'BLOCK_LITERAL' | 'BLOCK_FOLDED'

/** The lengths of escapes by their letter: `\x41`, `\u00e9`, `\U0001f600`; others, such as `\n`, have length 2. */
const ESCAPE_LENGTHS: Readonly<Record<string, number>> = { x: 4, u: 6, U: 10 }

/**
 * Returns the offset in the file of each character of a YAML text, across indentation, folded lines, escapes and doubled
 * quotes. `start` is the offset of the scalar, with its quote or `|`. Returns undefined if file and value do not match.
 */
function textPlaces(file: string, start: number, style: ScalarStyle, value: string): number[] | undefined {
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
    // One escape can be a surrogate pair.
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

/** A line break in the file is a line break in the value, or is folded to a space. */
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
