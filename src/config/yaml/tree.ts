import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml'
import type { ProblemCode } from '../problem-codes.ts'
import {
  type Entry,
  type Located,
  leaf,
  listOf,
  MAX_SIZE,
  mapOf,
  positionAt,
  type SourceFile,
  type Span,
} from '../source-node.ts'
import type { Filled, VarText } from '../values/interpolate.ts'
import { createVars, type Scope, type Vars } from '../values/vars.ts'
import { isMergeKey, type NodePair, nameOf, placesOf, spanOf, targetsIn } from './nodes.ts'

export interface TreeFault extends Span {
  code: ProblemCode
  message: string
  hint?: string
  severity?: 'warning'
  absent?: true
}

interface Tree {
  root: Located | undefined
  faults: readonly TreeFault[]
  /** Values that could not be read as intended: other problems at them are not reported. */
  broken: readonly Span[]
  /** The variables of this file and of the files around it. */
  scope: Scope
  /** Variables that the file defines or was given, and that nothing has used so far. */
  unused(): readonly string[]
}

/** Variables that refer to variables can expand to a long text, too. */
const MAX_EXPANDED = 4_194_304

/** More than a file can nest: only variables and anchors that refer to each other in long rows come here. */
const MAX_OPEN = 1_000

interface TreeOptions {
  fill(value: string, textOf: (name: string) => VarText): Filled
  /** Variables of the files around this one. */
  outer: Scope
  /** Values for this file's variables from the file that includes it; they override its own. */
  given?: ReadonlyMap<string, Located> | undefined
}

/** More would not be read. */
const MAX_FAULTS = 200

interface Building extends Pick<TreeOptions, 'fill'> {
  file: SourceFile
  /** The target of each alias: the last anchor of that name before it. */
  targets: ReadonlyMap<Alias, Node | undefined>
  vars: Vars
  faults: TreeFault[]
  broken: Span[]
  /** Entries that were taken over by merge keys. */
  merged: number
  /** Characters of texts with variables. */
  expanded: number
  /** Whether the problem of a too long chain of references was reported. */
  tooMuch: boolean
  /** Finished values: aliases share them. */
  built: Map<Node, Located>
  /** Unfinished values: an alias to one of them would be a cycle. */
  open: Set<Node>
}

/** Turns a parsed document into plain data with source positions, and resolves its references. */
export function buildTree(document: Document.Parsed, file: SourceFile, options: TreeOptions): Tree {
  const root = document.contents
  const open = new Set<Node>()
  const vars = createVars({
    ...options,
    file,
    root,
    build: (node) => build(at, node),
    isOpen: (node) => open.has(node),
  })
  const at: Building = {
    fill: options.fill,
    vars,
    file,
    targets: file.text.includes('&') ? targetsIn(document) : new Map(),
    faults: [],
    broken: [],
    merged: 0,
    expanded: 0,
    tooMuch: false,
    built: new Map(),
    open,
  }
  const { faults, broken } = at
  const result = { faults, broken, scope: vars, unused: vars.unused }
  const built = root ? build(at, root) : undefined
  if (at.expanded > MAX_EXPANDED)
    fault(at, 'too-large', { file, start: 0, end: 1 }, 'its variables expand to more than 4 MiB of text')
  if (!built || (built.size <= MAX_SIZE && at.merged <= MAX_SIZE)) return { ...result, root: built }
  fault(at, 'too-large', { file, start: 0, end: 1 }, `its aliases expand to more than ${MAX_SIZE} values`)
  return { ...result, root: undefined }
}

function build(at: Building, node: Node): Located {
  const known = at.built.get(node)
  if (known) return known
  if (at.open.size > MAX_OPEN) return tooDeep(at, node)
  at.open.add(node)
  const located = buildNew(at, node)
  at.open.delete(node)
  at.built.set(node, located)
  return located
}

function tooDeep(at: Building, node: Node): Located {
  const span = spanOf(at.file, node)
  if (!at.tooMuch)
    fault(at, 'too-large', span, 'this refers to others that refer to others, in too long a row')
  at.tooMuch = true
  return leaf(span, null)
}

function buildNew(at: Building, node: Node): Located {
  const span = spanOf(at.file, node)
  if (isAlias(node)) return buildAlias(at, node, span)
  if (isScalar(node)) return buildScalar(at, node, span)
  if (isSeq(node))
    return listOf(
      span,
      node.items.map((item) => build(at, item as Node)),
    )
  if (isMap(node)) return mapOf(span, buildEntries(at, node.items as NodePair[]))
  return leaf(span, null)
}

function buildAlias(at: Building, node: Alias, span: Span): Located {
  const target = at.targets.get(node)
  if (target && !at.open.has(target)) return build(at, target)
  if (target) fault(at, 'yaml-star', span, 'this alias is part of what it refers to')
  else
    fault(
      at,
      'yaml-star',
      span,
      'YAML takes this for an alias, and it has no anchor',
      'text that begins with "*" needs quotes',
    )
  at.broken.push(span)
  return leaf(span, undefined)
}

function buildScalar(at: Building, node: Scalar, span: Span): Located {
  // YAML drops the "!" of `if: ! x`.
  if (node.tag === '!') {
    const start = at.file.text.lastIndexOf('!', span.start - 1)
    fault(
      at,
      'yaml-bang',
      { ...span, start },
      'YAML drops this "!"',
      'text that begins with "!" needs quotes',
    )
  }
  if (node.tag && !KNOWN_TAG.test(node.tag)) at.broken.push(span)
  if (typeof node.value !== 'string')
    return { ...leaf(span, node.value), ...(node.source !== undefined && { source: node.source }) }
  const variable = variableIn(node.value)
  const whole = variable === undefined ? undefined : at.vars.value(variable)
  if (variable !== undefined && whole) {
    if (at.broken.some(({ file, start }) => file === whole.file && start === whole.start))
      at.broken.push(span)
    return usedAt(whole, span, node.value)
  }
  const textStart = span.start + (node.type === 'PLAIN' ? 0 : 1)
  const isVerbatim = at.file.text.startsWith(node.value, textStart)
  let isExpanded = false
  const filled = at.fill(node.value, (name) => {
    isExpanded = true
    return at.vars.textOf(name)
  })
  if (isExpanded) at.expanded += filled.text.length
  const isTooLong = at.expanded > MAX_EXPANDED
  const { secrets, faults } = filled
  const value = isTooLong ? '' : filled.text
  for (const { offset, length, ...rest } of faults.slice(0, Math.max(0, MAX_FAULTS - at.faults.length))) {
    const start = textStart + offset
    at.faults.push({ ...span, ...(isVerbatim && { start, end: start + length }), ...rest })
  }
  if (faults.some(({ severity, absent }) => absent || severity !== 'warning')) at.broken.push(span)
  const located = { ...span, value, secrets, size: 1 }
  if (value !== node.value || secrets.length > 0) return { ...located, written: node.value }
  return {
    ...located,
    placeOf: isVerbatim ? (offset) => textStart + offset : placesOf(at.file.text, node, span),
  }
}

const KNOWN_TAG = /^tag:yaml\.org,2002:(?:str|int|float|bool|null)$/

/** Returns the name in `${var:NAME}` if that is the whole text. */
function variableIn(text: string): string | undefined {
  return /^\$\{var:([^}]+)\}$/.exec(text)?.[1]
}

/** Returns the value of a variable, placed where it is used. Its children keep their places in the definition. */
function usedAt(value: Located, { file, start, end }: Span, written: string): Located {
  const { placeOf: _, ...rest } = value
  return { ...rest, file, start, end, ...(value.secrets.length > 0 && { written }) }
}

function buildEntries(at: Building, pairs: readonly NodePair[]): Map<string, Entry> {
  const entries = new Map<string, Entry>()
  const merged: Located[] = []
  for (const { key, value } of pairs) {
    const span = spanOf(at.file, key)
    const located = value ? build(at, value) : leaf(span, null)
    if (isMergeKey(key)) merged.push(...mergedMaps(at, located, span))
    else addEntry(at, entries, key, { key: span, value: located })
  }
  for (const map of merged) {
    at.merged += map.entries?.size ?? 0
    if (at.merged > MAX_SIZE) break
    for (const [name, entry] of map.entries ?? []) if (!entries.has(name)) entries.set(name, entry)
  }
  return entries
}

function addEntry(at: Building, entries: Map<string, Entry>, key: Node, entry: Entry): void {
  const name = nameOf(key)
  const first = name === undefined ? undefined : entries.get(name)
  if (name === undefined) {
    const { file, start } = entry.key
    const isTemplate = file.text.startsWith('{{', start - 1)
    if (isTemplate)
      fault(
        at,
        'yaml-braces',
        { ...entry.key, start: start - 1 },
        'YAML takes "{{" for two maps',
        'text that begins with "{{" needs quotes',
      )
    else
      fault(
        at,
        'invalid-key',
        entry.key,
        'a key must be plain text',
        'text that begins with [, { or * needs quotes',
      )
  } else if (name === '__proto__') fault(at, 'invalid-key', entry.key, '"__proto__" cannot be a key')
  else if (first) {
    const hint = `the first one is in line ${positionAt(at.file, first.key.start).line}`
    fault(at, 'duplicate-key', entry.key, `the key "${name}" appears twice in this map`, hint)
  } else entries.set(name, entry)
}

/** Returns the maps that `<<` merges; own keys take precedence, then those of earlier maps. */
function mergedMaps(at: Building, located: Located, span: Span): readonly Located[] {
  const maps = located.items ?? [located]
  if (maps.every(({ entries }) => entries)) return maps
  fault(at, 'wrong-type', span, '"<<" takes a map, or a list of maps')
  return []
}

function fault(
  { faults }: Building,
  code: ProblemCode,
  { file, start, end }: Span,
  message: string,
  hint?: string,
): void {
  if (faults.length < MAX_FAULTS)
    faults.push({ code, file, start, end, message, ...(hint !== undefined && { hint }) })
}
