import { Document, isMap, type Node, type Scalar, visit } from 'yaml'

/** A converted configuration. */
export interface Imported {
  /** Comments at the beginning of the file. */
  heading: string[]
  /** Settings without a counterpart that belong to no sink and no rule. */
  lost: string[]
  cluster?: string | undefined
  watch: readonly WatchEntry[]
  sinks: ImportedSink[]
  rules: Entry<ImportedRule>[]
}

export type WatchEntry = string | ({ kind: string } & Record<string, unknown>)

/** A rule or a sink with its comments. */
export interface Entry<T> {
  value: T
  notes: string[]
  /** Settings without a counterpart; none of them selects events. */
  lost: string[]
  /** Why it is disabled, and written as a comment: a rule would match more than its source, a sink could not deliver. */
  off: string[]
}

export interface ImportedSink extends Entry<Record<string, unknown>> {
  name: string
}

export interface ImportedRule {
  name: string
  when?: Record<string, unknown>
  if?: string
  changed?: string[]
  drop?: true
  to?: string[]
}

export function entryOf<T>(value: T, more: Partial<Omit<Entry<T>, 'value'>> = {}): Entry<T> {
  return { value, notes: [], lost: [], off: [], ...more }
}

/** Returns a valid name of a cluster; undefined where none was set. */
export function clusterOf(text: string): string | undefined {
  if (text.startsWith('${env:')) return text
  const name = text.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
  return name === '' || name === 'not-configured' ? undefined : name.slice(0, 63)
}

/** How much of the source the configuration does not have. */
export interface Losses {
  settings: number
  rules: number
  sinks: number
}

export function lossesOf({ lost, sinks, rules }: Imported): Losses {
  const entries = [...sinks, ...rules]
  return {
    settings: lost.length + entries.reduce((sum, it) => sum + new Set(it.lost).size, 0),
    rules: rules.filter(isOff).length,
    sinks: sinks.filter(isOff).length,
  }
}

function isOff({ off }: Entry<unknown>): boolean {
  return off.length > 0
}

/** The entries that are written as YAML, in their order; the others are comments. */
export interface WrittenEntries {
  sinks: readonly ImportedSink[]
  rules: readonly Entry<ImportedRule>[]
}

/** A file needs a rule and a sink; these send nothing. */
const NOTHING = entryOf<ImportedRule>({ name: 'nothing', drop: true })
const SCREEN: ImportedSink = { name: 'screen', ...entryOf({ type: 'stdout' }) }

/** Disables the rules whose sinks are all disabled, and chooses what is written. */
export function writtenEntries({ sinks, rules }: Imported): WrittenEntries {
  const disabled = new Set(sinks.filter(isOff).map(({ name }) => name))
  for (const { value, off, notes } of rules) {
    const gone = value.to?.filter((name) => disabled.has(name)) ?? []
    if (gone.length === 0 || off.length > 0) continue
    if (gone.length === value.to?.length) off.push(`its sink is disabled: ${gone.join(', ')}`)
    else {
      notes.push(`not sent to ${gone.join(', ')}, which is disabled`)
      value.to = value.to?.filter((name) => !disabled.has(name)) ?? []
    }
  }
  const on = rules.filter((it) => !isOff(it))
  const used = new Set(on.flatMap(({ value }) => value.to ?? []))
  return used.size === 0
    ? { sinks: [SCREEN], rules: [NOTHING] }
    : { sinks: sinks.filter(({ name }) => used.has(name)), rules: on }
}

/** Writes it as a configuration with comments. */
export function toYaml(imported: Imported, written = writtenEntries(imported)): string {
  const { heading, lost, cluster, watch } = imported
  const document = documentOf({
    ...(cluster !== undefined && { cluster }),
    watch,
    sinks: Object.fromEntries(written.sinks.map(({ name, value }) => [name, value])),
    rules: written.rules.map(({ value }) => value),
  })
  document.commentBefore = commentOf([...heading, ...lostLines(lost)])
  for (const [i, entry] of written.rules.entries())
    comment(document.getIn(['rules', i], true) as Node, remarksOf(entry))
  const sinks = document.get('sinks')
  for (const [i, entry] of written.sinks.entries())
    if (isMap(sinks)) comment(sinks.items[i]?.key as Node, remarksOf(entry))
  for (const { key } of (document.contents as unknown as { items: { key: Scalar }[] }).items)
    if (key.value === 'sinks' || key.value === 'rules') key.spaceBefore = true
  const off = disabledLines(imported, written)
  if (off.length > 0) document.comment = commentOf(off)
  return textOf(document)
}

function documentOf(content: unknown): Document {
  const document = new Document(content, { aliasDuplicateObjects: false })
  visit(document, {
    Collection(_, node) {
      if (isSmall(node.toJSON())) node.flow = true
    },
  })
  return document
}

function textOf(document: Document): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: true })
}

/** The disabled sinks and rules, and the sinks that only disabled rules use, as lines of a comment. */
function disabledLines({ sinks, rules }: Imported, written: WrittenEntries): string[] {
  const unwritten = sinks.filter((it) => !written.sinks.includes(it))
  const off = rules.filter(isOff)
  const blocks = [
    ...(unwritten.length > 0 ? ['', 'sinks:'] : []),
    ...unwritten.flatMap((it) => disabledEntry(it, { [it.name]: it.value })),
    ...(off.length > 0 ? ['', 'rules:'] : []),
    ...off.flatMap((it) => disabledEntry(it, [it.value])),
  ]
  return blocks.length === 0 ? [] : [...DISABLED, ...blocks]
}

const DISABLED = [
  'Disabled, because kubeherald would send more than the source did, or could not deliver. To use one, resolve its "off:" lines and move',
  'it to its place above.',
]

function disabledEntry(entry: Entry<unknown>, content: unknown): string[] {
  const off = [...new Set(entry.off)].map((it) => `off: ${it}`)
  const lines = textOf(documentOf(content)).trimEnd().split('\n')
  return [...off, ...remarksOf(entry), ...lines].map((it) => `  ${it}`)
}

function remarksOf({ notes, lost }: Entry<unknown>): string[] {
  return [...new Set([...notes, ...lostLines(lost)])]
}

function lostLines(lost: readonly string[]): string[] {
  return [...new Set(lost)].map((it) => `not carried over: ${it}`)
}

function comment(node: Node | undefined, lines: readonly string[]): void {
  if (node && lines.length > 0) node.commentBefore = commentOf(lines)
}

/** Comments end with their line, whatever another configuration contained. */
function commentOf(lines: readonly string[]): string {
  return lines.map((line) => ` ${line.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').slice(0, 300)}`).join('\n')
}

/** Short lists and maps of scalars are written in one line. */
function isSmall(value: unknown): boolean {
  const values = Object.values(value as object).flat()
  return (
    values.every((it) => typeof it !== 'object') &&
    JSON.stringify(value).length < (Array.isArray(value) ? 100 : 60) &&
    !('type' in (value as object) && !('kind' in (value as object)))
  )
}
