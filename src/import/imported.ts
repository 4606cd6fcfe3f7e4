import { Document, isMap, isSeq, type Node, type Pair, type Scalar, visit } from 'yaml'

/** What was made of another tool's configuration. */
export interface Imported {
  /** First lines of the file: what holds for all of it. */
  heading: readonly string[]
  cluster?: string | undefined
  watch: readonly Noted<WatchEntry>[]
  sinks: Readonly<Record<string, Noted<Record<string, unknown>>>>
  rules: readonly Noted<ImportedRule>[]
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

/** A value with what could not be carried over, told in a comment above it. */
export interface Noted<T> {
  value: T
  notes?: readonly string[]
}

/** Writes it as a configuration with comments. */
export function toYaml({ heading, cluster, watch, sinks, rules }: Imported): string {
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

function comment(node: unknown, notes: readonly string[] | undefined): void {
  if (notes && notes.length > 0) (node as Node).commentBefore = commentOf(notes)
}

/** Comments end with their line, whatever another configuration held. */
function commentOf(lines: readonly string[]): string {
  return lines.map((line) => ` ${line.replace(/\p{Cc}+/gu, ' ').slice(0, 300)}`).join('\n')
}

/** A list of words, or a map of them, reads better in one line. */
function isSmall(value: unknown): boolean {
  const values = Object.values(value as object).flat()
  return (
    values.every((it) => typeof it !== 'object') &&
    JSON.stringify(value).length < (Array.isArray(value) ? 100 : 60) &&
    !('type' in (value as object))
  )
}

/** Small lists and maps read better in one line. */
function flowSmall(node: unknown): void {
  if (!isSeq(node)) return
  for (const item of node.items) if (isMap(item)) item.flow = true
}
