import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type Scalar,
} from 'yaml'
import type { Filled } from './interpolate.ts'
import { type ScalarStyle, textPlaces } from './text-places.ts'

/** A piece of the file, as offsets into its text. */
export interface Span {
  start: number
  end: number
}

/** A value of the file, with where it stands. */
export interface Located extends Span {
  /** Plain data; maps have no prototype. */
  value: unknown
  entries?: ReadonlyMap<string, Entry>
  items?: readonly Located[]
  /** Where a character of the text stands in the file, and that behind the last one; not for what has `${…}`. */
  placeOf?: (offset: number) => number | undefined
  /** How a number or a word such as `true` is written. */
  source?: string
  /** A text's form in the file, when it has `${…}`. */
  written?: string
  /** What `${…}` stood for, here and further in: never to be shown. */
  secrets: readonly string[]
  /** How many values this is once aliases are followed. */
  size: number
}

export interface Entry {
  key: Span
  value: Located
}

export interface TreeFault extends Span {
  message: string
  hint?: string
  severity?: 'warning'
  absent?: true
}

export interface Tree {
  root: Located | undefined
  faults: readonly TreeFault[]
  /** Values that are not what was meant; whatever else is wrong with them need not be told. */
  broken: readonly Span[]
}

/** A few kilobytes of aliases to aliases can stand for billions of values. */
const MAX_SIZE = 100_000

interface Building {
  document: Document.Parsed
  text: string
  fill(value: string): Filled
  faults: TreeFault[]
  broken: Span[]
  /** What is built already: aliases share it. */
  built: Map<Node, Located>
  /** What is being built: an alias to it would be part of itself. */
  open: Set<Node>
}

/** Turns a parsed document into plain data that knows its places. */
export function buildTree(document: Document.Parsed, text: string, fill: (value: string) => Filled): Tree {
  const at: Building = { document, text, fill, faults: [], broken: [], built: new Map(), open: new Set() }
  const { faults, broken } = at
  const root = document.contents ? build(at, document.contents) : undefined
  if (!root || root.size <= MAX_SIZE) return { root, faults, broken }
  fault(at, { start: 0, end: 1 }, `its aliases stand for more than ${MAX_SIZE} values`)
  return { root: undefined, faults, broken }
}

function build(at: Building, node: Node): Located {
  const known = at.built.get(node)
  if (known) return known
  at.open.add(node)
  const located = buildNew(at, node)
  at.open.delete(node)
  at.built.set(node, located)
  return located
}

function buildNew(at: Building, node: Node): Located {
  const span = spanOf(node)
  if (isAlias(node)) return buildAlias(at, node, span)
  if (isScalar(node)) return buildScalar(at, node, span)
  if (isSeq(node))
    return listOf(
      span,
      node.items.map((item) => build(at, item as Node)),
    )
  if (isMap(node)) return mapOf(span, buildEntries(at, node.items as Pair<Node, Node | null>[]))
  return leaf(span, null)
}

function buildAlias(at: Building, node: Alias, span: Span): Located {
  const target = node.resolve(at.document)
  if (target && !at.open.has(target)) return build(at, target)
  const name = `*${node.source}`
  if (target) fault(at, span, `${name} is part of what it refers to`)
  else
    fault(
      at,
      span,
      `${name} refers to an anchor that does not exist`,
      `text that begins with "*" needs quotes: "${name}"`,
    )
  at.broken.push(span)
  return leaf(span, undefined)
}

function buildScalar(at: Building, node: Scalar, span: Span): Located {
  if (node.tag?.startsWith('!')) at.broken.push(span)
  if (typeof node.value !== 'string')
    return { ...leaf(span, node.value), ...(node.source !== undefined && { source: node.source }) }
  const textStart = span.start + (node.type === 'PLAIN' ? 0 : 1)
  const isVerbatim = at.text.startsWith(node.value, textStart)
  const { text: value, secrets, faults } = at.fill(node.value)
  for (const { offset, length, ...rest } of faults) {
    const start = textStart + offset
    at.faults.push({
      ...(isVerbatim ? { start, end: start + length } : { start: span.start, end: span.end }),
      ...rest,
    })
  }
  if (faults.some(({ severity, absent }) => absent || severity !== 'warning')) at.broken.push(span)
  const located = { ...span, value, secrets, size: 1 }
  if (value !== node.value || secrets.length > 0) return { ...located, written: node.value }
  return { ...located, placeOf: isVerbatim ? (offset) => textStart + offset : placesOf(at.text, node, span) }
}

function placesOf(file: string, node: Scalar, { start }: Span): NonNullable<Located['placeOf']> {
  let places: number[] | undefined
  return (offset) => {
    places ??= textPlaces(file, start, node.type as ScalarStyle, String(node.value)) ?? []
    return places[offset]
  }
}

function buildEntries(at: Building, pairs: readonly Pair<Node, Node | null>[]): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  const merged: Located[] = []
  for (const { key, value } of pairs) {
    const span = spanOf(key)
    const located = value ? build(at, value) : leaf(span, null)
    if (isMergeKey(key)) merged.push(...mergedMaps(at, located, span))
    else addEntry(at, entries, key, { key: span, value: located })
  }
  for (const map of merged)
    for (const [name, entry] of map.entries ?? []) if (!entries.has(name)) entries.set(name, entry)
  return entries
}

function addEntry(at: Building, entries: Map<string, Entry>, key: Node, entry: Entry): void {
  const name = nameOf(key)
  const first = name === undefined ? undefined : entries.get(name)
  if (name === undefined)
    fault(at, entry.key, 'a key is plain text, and this is none', keyHint(at.text, entry.key))
  else if (name === '__proto__') fault(at, entry.key, '"__proto__" cannot be a key')
  else if (first) {
    const hint = `the first one is in line ${lineOf(at.text, first.key.start)}`
    fault(at, entry.key, `the key "${name}" stands here twice`, hint)
  } else entries.set(name, entry)
}

/** What `<<` brings in: the keys of one map or several; own keys win, then earlier maps. */
function mergedMaps(at: Building, located: Located, span: Span): readonly Located[] {
  const maps = located.items ?? [located]
  if (maps.every(({ entries }) => entries)) return maps
  fault(at, span, '"<<" takes a map, or a list of maps')
  return []
}

function fault({ faults }: Building, { start, end }: Span, message: string, hint?: string): void {
  faults.push({ start, end, message, ...(hint !== undefined && { hint }) })
}

export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

function leaf({ start, end }: Span, value: unknown): Located {
  return { start, end, value, secrets: [], size: 1 }
}

function listOf(span: Span, items: readonly Located[]): Located {
  return { ...span, items, value: items.map(({ value }) => value), ...sumOf(items) }
}

function mapOf(span: Span, entries: ReadonlyMap<string, Entry>): Located {
  const value = Object.create(null) as Record<string, unknown>
  for (const [name, entry] of entries) value[name] = entry.value.value
  return { ...span, entries, value, ...sumOf([...entries.values()].map((entry) => entry.value)) }
}

function sumOf(parts: readonly Located[]): { size: number; secrets: string[] } {
  const size = parts.reduce((sum, part) => sum + part.size, 1)
  return { size, secrets: size > MAX_SIZE ? [] : parts.flatMap((part) => part.secrets) }
}

function spanOf(node: Node): Span {
  const [start = 0, end = start] = node.range ?? []
  return { start, end }
}

function nameOf(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))
}

function isMergeKey(key: Node): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN'
}

function keyHint(text: string, { start }: Span): string | undefined {
  return /[[{*]/.test(text[start] ?? '') ? 'text that begins with [, { or * needs quotes' : undefined
}
