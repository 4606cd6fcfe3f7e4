import type { ConfigDocument, Path } from './document.ts'
import type { JoinedDocument } from './include/joined-document.ts'
import { secretsOf } from './values/secrets.ts'

/** What was checked, as plain data that may go to another thread. It holds secrets: never to be shown. */
export interface CheckedValue {
  /** All keys but `rules`. */
  rest: Readonly<Record<string, unknown>>
  rules: readonly unknown[]
  secrets: readonly string[]
  places: Places
}

/** Returns the value of a configuration without errors. */
export function checkedValueOf(document: JoinedDocument): CheckedValue {
  const { rules, tests: _t, vars: _v, ...rest } = document.value as Record<string, unknown>
  const secrets = secretsOf(document)
  return { rest, rules: rules as readonly unknown[], secrets, places: placesIn(document) }
}

/** The source positions of rules, and of templates, which can fail at run time. Plain data, because the tree with all positions is not kept. */
type Places = Readonly<Record<string, Place>>

interface Place {
  file: string
  line: number
  column: number
  /** Only for a template: each offset whose position is not the next column, as [offset, line, column]. */
  bends?: readonly Bend[] | undefined
}

type Bend = readonly [offset: number, line: number, column: number]

/** Returns the places of rules, and of the message templates of rules and sinks. */
function placesIn(document: ConfigDocument): Places {
  const places: Record<string, Place> = {}
  const rules = document.at(['rules'])?.items ?? []
  const sinks = document.at(['sinks'])?.entries ?? new Map()
  for (const index of rules.keys()) {
    const { file, line, column } = document.place(['rules', index])
    places[keyOf(['rules', index])] = { file, line, column }
    note(places, document, ['rules', index, 'message'])
  }
  for (const name of sinks.keys()) note(places, document, ['sinks', name, 'messages'])
  return places
}

/** Returns `kubeherald.yaml:12:15`; for a path without a place that of its nearest parent. */
export function placeIn(places: Places, path: Path, offset?: number): string {
  for (let length = path.length; length > 0; length--) {
    const found = places[keyOf(path.slice(0, length))]
    if (!found) continue
    const bend = length === path.length && offset !== undefined && bendAt(found, offset)
    return `${found.file}:${bend ? bend.join(':') : `${found.line}:${found.column}`}`
  }
  return 'the configuration'
}

function bendAt({ bends }: Place, offset: number): [line: number, column: number] | undefined {
  const bend = bends?.findLast(([from]) => from <= offset)
  return bend && [bend[1], bend[2] + offset - bend[0]]
}

function note(places: Record<string, Place>, document: ConfigDocument, path: Path): void {
  const found = document.at(path)
  if (!found) return
  const { file, line, column } = document.place(path)
  const { value, entries, placeOf } = found
  const isTemplate = typeof value === 'string' && placeOf !== undefined && /\{[{%]/.test(value)
  places[keyOf(path)] = { file, line, column, ...(isTemplate && { bends: bendsOf(document, path, value) }) }
  for (const key of entries?.keys() ?? []) note(places, document, [...path, key])
}

function bendsOf(document: ConfigDocument, path: Path, text: string): Bend[] {
  const bends: Bend[] = []
  for (let offset = 0; offset <= text.length; offset++) {
    const { line, column } = document.place(path, { offset })
    const last = bends.at(-1)
    if (last && last[1] === line && last[2] + offset - last[0] === column) continue
    bends.push([offset, line, column])
  }
  return bends
}

function keyOf(path: Path): string {
  return JSON.stringify(path)
}
