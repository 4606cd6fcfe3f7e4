import type { FileDocument, Path } from './document.ts'
import type { Located } from './located.ts'
import { type Defaults, defaultsIn } from './rule-defaults.ts'

/** One name under `include`, with what is said for the rules that come from there. */
export interface IncludeEntry {
  from: string
  /** Where it stands. */
  path: Path
  defaults: Defaults
  vars: ReadonlyMap<string, Located>
}

/** The entries of a file's `include`, as far as they can be understood. */
export function includeEntries({ root }: FileDocument): IncludeEntry[] {
  const include = root?.entries?.get('include')?.value
  if (!include) return []
  const path = ['include']
  return include.items
    ? include.items.flatMap((item, i) => entriesOf(item, [...path, i]))
    : entriesOf(include, path)
}

function entriesOf(item: Located, path: Path): IncludeEntry[] {
  const nothing = { defaults: new Map(), vars: new Map() }
  if (typeof item.value === 'string') return item.value === '' ? [] : [{ from: item.value, path, ...nothing }]
  const from = item.entries?.get('from')?.value
  if (!from) return []
  const vars = item.entries?.get('vars')?.value.entries ?? []
  const common = {
    defaults: defaultsIn(item, ['from', 'vars']),
    vars: new Map([...vars].map(([name, { value }]) => [name, value])),
  }
  const names = from.items
    ? from.items.map(({ value }, i) => ({ from: value, path: [...path, 'from', i] }))
    : [{ from: from.value, path: [...path, 'from'] }]
  return names.flatMap((it) =>
    typeof it.from === 'string' && it.from !== '' ? [{ ...it, from: it.from, ...common }] : [],
  )
}
