import { Document, isMap, isSeq, type Node, type Pair, type Scalar, visit } from 'yaml'

/** A converted configuration. */
export interface Imported {
  /** Comments at the beginning of the file. */
  heading: readonly string[]
  cluster?: string | undefined
  watch: readonly Noted<WatchEntry>[]
  sinks: Readonly<Record<string, Noted<Record<string, unknown>>>>
  rules: readonly Switchable<ImportedRule>[]
}

export type WatchEntry = string | ({ kind: string } & Record<string, unknown>)

export interface ImportedRule {
  name: string
  when?: Record<string, unknown>
  if?: string
  changed?: string[]
  drop?: true
  throttle?: Record<string, unknown>
  to?: unknown[]
  message?: unknown
}

/** A value with comments on what could not be carried over. */
export interface Noted<T> {
  value: T
  notes?: readonly string[]
}

/** A rule that is written as a comment when it would match more than the other tool's configuration did. */
export interface Switchable<T> extends Noted<T> {
  /** Why it would match more. */
  off?: readonly string[]
}

/** A file needs a rule; this one sends nothing. */
const NOTHING: ImportedRule = { name: 'nothing', drop: true }

/** Writes it as a configuration with comments. */
export function toYaml({ heading, cluster, watch, sinks, rules: all }: Imported): string {
  const isOn = ({ off = [] }: Switchable<ImportedRule>) => off.length === 0
  const rules = all.some((it) => isOn(it) && it.value.to) ? all.filter(isOn) : [{ value: NOTHING }]
  const content = {
    ...(cluster !== undefined && { cluster }),
    watch: watch.map(({ value }) => value),
    sinks: Object.fromEntries(Object.entries(sinks).map(([name, { value }]) => [name, value])),
    rules: rules.map(({ value }) => value),
  }
  const document = new Document(content, { aliasDuplicateObjects: false })
  document.commentBefore = commentOf(heading)
  for (const [i, { notes }] of watch.entries()) comment(document.getIn(['watch', i], true), notes)
  for (const [i, { notes }] of rules.entries()) comment(document.getIn(['rules', i], true), notes)
  const off = all.filter((it) => !isOn(it)).flatMap(writtenOff)
  if (off.length > 0) document.comment = commentOf([...OFF, ...off])
  const pairs = document.get('sinks')
  for (const pair of isMap(pairs) ? (pairs.items as Pair<Scalar, Node>[]) : [])
    comment(pair.key, sinks[String(pair.key.value)]?.notes)
  for (const key of ['sinks', 'rules']) {
    const pair = (document.contents as unknown as { items: Pair<Scalar>[] }).items.find(
      (it) => it.key.value === key,
    )
    if (pair) pair.key.spaceBefore = true
  }
  flowSmall(document.get('watch'))
  visit(document, {
    Collection(_, node) {
      if (isSmall(node.toJSON())) node.flow = true
    },
  })
  return document.toString({ lineWidth: 0, flowCollectionPadding: true })
}

const OFF = [
  'These rules are off: as they are they would match more than what they were made of. To use one, add what it lacks and move it',
  'to its place in the list above.',
]

/** A rule as lines of a comment. */
function writtenOff({ value, notes = [], off = [] }: Switchable<ImportedRule>): string[] {
  const lines = new Document([value]).toString({ lineWidth: 0 }).trimEnd().split('\n')
  return ['', ...[...new Set([...off, ...notes])].map((it) => `off: ${it}`), ...lines.map((it) => `  ${it}`)]
}

function comment(node: unknown, notes: readonly string[] | undefined): void {
  if (notes && notes.length > 0) (node as Node).commentBefore = commentOf(notes)
}

/** Comments end with their line, whatever another configuration held. */
function commentOf(lines: readonly string[]): string {
  return lines.map((line) => ` ${line.replace(/\p{Cc}+/gu, ' ').slice(0, 300)}`).join('\n')
}

/** Short lists and maps of scalars are written in one line. */
function isSmall(value: unknown): boolean {
  const values = Object.values(value as object).flat()
  return (
    values.every((it) => typeof it !== 'object') &&
    JSON.stringify(value).length < (Array.isArray(value) ? 100 : 60) &&
    !('type' in (value as object))
  )
}

function flowSmall(node: unknown): void {
  if (!isSeq(node)) return
  for (const item of node.items) if (isMap(item)) item.flow = true
}
