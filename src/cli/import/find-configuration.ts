import { LineCounter, type Node, parseAllDocuments } from 'yaml'
import { joined, mapOf, type Raw, takeUnread, tracked } from './tracked.ts'

/** How the configuration of a tool is recognised. */
export interface Form {
  /** Top-level keys of a whole configuration, or of Helm values. */
  isWhole(map: Raw): boolean
  /** One of several documents, or what may be a part of one where the tool is named. */
  isPart(map: Raw): boolean
  /** A whole file of the tool, which has no overlays as Helm values have. */
  isFile?(map: Raw): boolean
}

/** A configuration, wherever in the file it was. */
export interface Found<Tool extends string> {
  tool: Tool
  raw: Raw
  /** Where it was, such as `ConfigMap exporter, data["config.yaml"]`; empty for a plain file. */
  where: string
  /** Keys around the configuration, such as those of a Helm chart, and other manifests of the file. */
  around(): string[]
  /** Paths in the configuration that were not read. */
  unread(): string[]
  /** Returns `file:line:column` of a top-level key's value. */
  placeOf(key: string): string
}

export type Search<Tool extends string> = { ok: true; found: Found<Tool> } | { ok: false; fault: string }

interface Part<Tool> {
  tool: Tool
  root: Root
  path: readonly string[]
}

/** A YAML document, or a text inside of one. */
interface Root {
  value: unknown
  reads: unknown
  /** `ConfigMap exporter`, `ConfigMap shop/exporter` */
  title: string
  /** Path of a text inside of a document, such as `data["config.yaml"]`. */
  inside: string
  /** The value of the document that it is, or is inside of. */
  document: unknown
  placeOf(path: readonly string[]): string
}

/** Bounds the expansion of aliases, and the search. */
const MAX_ALIASES = 500
const MAX_DEPTH = 12

/**
 * Searches a file for the configuration of a tool: plain, nested in Helm values, in ConfigMaps, Secrets, `HelmRelease` and `Application`
 * objects, in one document or several.
 */
export function findConfiguration<Tool extends string>(
  file: string,
  text: string,
  forms: Readonly<Record<Tool, Form>>,
  wanted?: Tool,
): Search<Tool> {
  const read = readDocuments(file, text)
  if ('fault' in read) return { ok: false, fault: read.fault }
  const roots = [...read.roots]
  const faults: string[] = []
  const tools = wanted === undefined ? (Object.keys(forms) as Tool[]) : [wanted]
  const search = (isOne: (form: Form, map: Raw) => boolean) =>
    [...read.roots].flatMap((root) =>
      partsIn(root, (map) => tools.find((tool) => isOne(forms[tool], map)), roots, faults),
    )
  const wholes = search((form, map) => form.isWhole(map))
  let parts = wholes
  const mayBePart = wanted !== undefined || read.roots.some(({ title }) => title !== '')
  if (parts.length === 0 && mayBePart) parts = search((form, map) => form.isPart(map))
  const [first] = parts
  if (!first) return { ok: false, fault: faults[0] ?? '' }
  const { tool } = first
  const others = parts.filter((it) => it.tool !== tool)
  if (others[0])
    return {
      ok: false,
      fault: `${file} has configurations of ${tool} and ${others[0].tool}: name one of them`,
    }
  if (!isOne(wholes, forms[tool]))
    return {
      ok: false,
      fault: `${file} has ${wholes.length} configurations of ${tool} (${wholes.map(placeOf).join('; ')}): give it one`,
    }
  return { ok: true, found: foundIn(first, parts.toSorted(byOrderOfReading), roots) }
}

/** Whether they are one configuration: at most one, or values and the overlays of them, which have it at the same place. */
function isOne(wholes: readonly Part<string>[], { isFile }: Form): boolean {
  const places = new Set(wholes.map(whereOf))
  const mayBeOverlay = ({ root, path }: Part<string>) =>
    root.title === '' && !(path.length === 0 && isFile?.(mapOf(root.value)))
  return wholes.length < 2 || (places.size === 1 && wholes.every(mayBeOverlay))
}

/** Botkube reads files whose name begins with `_` last: they have what was set from a chat. */
function byOrderOfReading(a: Part<string>, b: Part<string>): number {
  const isLast = ({ root }: Part<string>) => /(\["_[^"]*"\]|\._\w*)$/.test(root.inside)
  return Number(isLast(a)) - Number(isLast(b))
}

function foundIn<Tool extends string>(
  first: Part<Tool>,
  parts: readonly Part<Tool>[],
  roots: readonly Root[],
): Found<Tool> {
  const maps = parts.map(({ root, path }) => path.reduce<unknown>((at, key) => mapOf(at)[key], root.reads))
  const used = roots.filter((root) => parts.some((it) => it.root === root))
  return {
    tool: first.tool,
    raw: maps.length === 1 ? mapOf(maps[0]) : joined(maps.map(mapOf)),
    where: [...new Set(parts.map(whereOf))].filter((it) => it !== '').join('; '),
    unread: () => maps.flatMap(takeUnread),
    around: () =>
      roots.flatMap((root) => (used.includes(root) ? chartKeys(root) : otherManifest(root, used))),
    placeOf: (key) => {
      const holder = parts.find((_, i) => Object.hasOwn(mapOf(maps[i]), key)) ?? first
      return holder.root.placeOf([...holder.path, key])
    },
  }
}

function whereOf({ root: { title, inside }, path }: Part<string>): string {
  return [title, inside, path.join('.')].filter((it) => it !== '').join(', ')
}

/** A plain document is named by its line. */
function placeOf(part: Part<string>): string {
  return whereOf(part) || part.root.placeOf(part.path)
}

/** The metadata of a manifest is no setting. */
function chartKeys({ value, reads, title }: Root): string[] {
  if (title === '') return takeUnread(reads)
  return takeUnread(reads).filter(
    (it) => !/^(apiVersion|kind|type|metadata|status)\b/.test(it) && mapOf(value)['kind'] !== 'List',
  )
}

/** A text that was found in a document belongs to that document. */
function otherManifest({ title, inside, document }: Root, used: readonly Root[]): string[] {
  return title === '' || inside !== '' || used.some((it) => it.document === document) ? [] : [title]
}

/** Visits maps from the outside to the inside, and texts that are YAML themselves. Adds the roots and faults of such texts. */
function partsIn<Tool extends string>(
  root: Root,
  toolOf: (map: Raw) => Tool | undefined,
  roots: Root[],
  faults: string[],
): Part<Tool>[] {
  const visit = (value: unknown, path: readonly string[], depth: number): Part<Tool>[] => {
    if (depth > MAX_DEPTH) return []
    if (typeof value === 'string') return /\n|^\{/.test(value) ? visitText(value, path) : []
    if (typeof value !== 'object' || value === null) return []
    const tool = Array.isArray(value) ? undefined : toolOf(value as Raw)
    if (tool) return [{ tool, root, path }]
    return Object.entries(value)
      .filter(([key]) => !(isManifest(value) && /^(metadata|status)$/.test(key)))
      .flatMap(([key, item]) => visit(decoded(value, key, item), [...path, key], depth + 1))
  }
  const visitText = (text: string, path: readonly string[]): Part<Tool>[] => {
    const name = path
      .map((step, i) => (/^\w+$/.test(step) ? (i > 0 ? `.${step}` : step) : `["${step}"]`))
      .join('')
    const read = readDocuments(`${root.placeOf(path).replace(/:\d+$/, '')}, in ${name}`, text)
    if ('fault' in read) {
      if (/\.ya?ml$|config/.test(path.at(-1) ?? '')) faults.push(read.fault)
      return []
    }
    return read.roots.flatMap((it) => {
      const inner = { ...it, title: root.title, inside: name, document: root.document }
      const found = partsIn(inner, toolOf, roots, faults)
      if (found.length > 0) {
        path.reduce<unknown>((at, key) => (at as Raw)[key], root.reads)
        roots.push(inner)
      }
      return found
    })
  }
  return visit(root.value, [], 0)
}

function isManifest(value: object): boolean {
  return 'apiVersion' in value && 'kind' in value
}

/** Values under `data` of a Secret are base64. They are read through its manifest, which is one level above. */
function decoded(holder: object, key: string, value: unknown): unknown {
  if (key !== 'data' || (holder as Raw)['kind'] !== 'Secret') return value
  return Object.fromEntries(
    Object.entries(mapOf(value)).map(([name, it]) => [
      name,
      Buffer.from(String(it), 'base64').toString('utf8'),
    ]),
  )
}

/** Parses the documents of a text; a `List` is several. */
function readDocuments(file: string, text: string): { roots: Root[] } | { fault: string } {
  const lineCounter = new LineCounter()
  const documents = parseAllDocuments(text, { lineCounter, merge: true, logLevel: 'error' })
  const roots: Root[] = []
  for (const document of Array.isArray(documents) ? documents : []) {
    const [error] = document.errors
    if (error && /call stack/.test(error.message))
      return { fault: `${file}: it nests too deep: is a bracket missing?` }
    if (error) {
      const [at] = error.linePos ?? []
      const reason = error.message.split('\n')[0]?.replace(/ at line \d+.*$/, '') ?? 'is not YAML'
      const hint = /\{\{-?\s*(\.Values|if|include|with|range)\b/.test(text)
        ? '; it is a template of a Helm chart: give it what "helm template" or "helm get values --all -o yaml" prints'
        : ''
      return { fault: `${file}${at ? `:${at.line}:${at.col}` : ''}: ${reason}${hint}` }
    }
    const value = withoutTitle(plain(document))
    if (typeof value !== 'object' || value === null) continue
    const placeOf = (path: readonly string[]) => {
      const { range } = (document.getIn(path, true) ?? {}) as Node
      if (!range) return file
      const { line, col } = lineCounter.linePos(range[0])
      return `${file}:${line}:${col}`
    }
    const items = mapOf(value)['kind'] === 'List' ? mapOf(value)['items'] : undefined
    const values = Array.isArray(items) ? items : [value]
    const prefix = (i: number) => (Array.isArray(items) ? ['items', String(i)] : [])
    for (const [i, it] of values.entries())
      roots.push({
        value: it,
        reads: tracked(it),
        title: titleOf(it),
        inside: '',
        document: it,
        placeOf: (path) => placeOf([...prefix(i), ...path]),
      })
  }
  return roots.length === 0 ? { fault: `${file} is not a map of keys and values` } : { roots }
}

function plain(document: { toJS(options: { maxAliasCount: number }): unknown }): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch {
    return undefined
  }
}

/** Without `-o yaml`, `helm get values` prints a title, which is a key without a value in YAML. */
function withoutTitle(value: unknown): unknown {
  const isTitle = ([key, item]: [string, unknown]) =>
    /^(COMPUTED|USER-SUPPLIED) VALUES$/.test(key) && item === null
  const entries = Object.entries(mapOf(value))
  return entries.some(isTitle) ? Object.fromEntries(entries.filter((it) => !isTitle(it))) : value
}

function titleOf(value: unknown): string {
  const map = mapOf(value)
  const { kind } = map
  const { namespace, name } = mapOf(map['metadata'])
  const path = [namespace, name].filter(Boolean).join('/')
  return typeof kind === 'string' && isManifest(map) ? [kind, path].filter(Boolean).join(' ') : ''
}
