import { type ConfigDocument, documentOf } from './document.ts'
import { includedAs } from './include-hints.ts'
import { type Joined, type JoinOptions, joinFiles } from './join-files.ts'
import { type Entry, type Located, listOf, mapOf } from './located.ts'
import type { Problem } from './problem.ts'
import { withoutTurnedOff } from './rule-defaults.ts'
import { secretsElsewhere, withoutThem } from './secrets-elsewhere.ts'

/** A configuration in all its files, read as one. */
export interface JoinedDocument extends ConfigDocument {
  /** False when an included file is missing or broken: then more seems to be missing. */
  complete: boolean
  /** What `${env:…}` and `${file:…}` stood for in any of the files, and secrets that anchors and variables hold: never to be shown. */
  secrets: readonly string[]
  /** The texts of the files without such secrets, by the names that problems have. Files outside of the folder have none. */
  texts: ReadonlyMap<string, string>
  /** Files outside of the configuration's folder, by the names that problems have: nothing of them is shown. */
  outside: ReadonlySet<string>
}

/** Aliases, variables and defaults can say the same over and over. */
const MAX_SIZE = 250_000

/** Reads a file with all that it includes; `['rules', i]` leads to whichever file the rule stands in. */
export function readJoined(options: JoinOptions): JoinedDocument {
  const joined = joinFiles(options)
  const { document: own, documents, complete } = joined
  const root = own.root?.entries && joinedRoot(joined, own.root)
  const isTooLarge = root !== undefined && root.size > MAX_SIZE
  const problems = [...documents.flatMap((it) => it.problems), ...joined.problems]
  if (isTooLarge) problems.push(own.problem([], `all files together stand for more than ${MAX_SIZE} values`))
  problems.push(...(root ? withoutSink(joined, root) : []))
  const shown = isTooLarge ? own.root : (root ?? own.root)
  const elsewhere = secretsElsewhere(own.root)
  const broken = documents.flatMap((it) => it.broken)
  return {
    ...documentOf(shown, own.file, { readable: own.readable, problems: once(problems), broken }),
    complete: complete && documents.every(({ readable }) => readable),
    secrets: [...new Set([...documents.flatMap(({ root: it }) => it?.secrets ?? []), ...elsewhere])],
    texts: new Map(
      documents.map(({ file, root }) => {
        const text = joined.outside.has(file.name) ? '' : withoutThem(file.text, root, elsewhere)
        return [file.name, text] as const
      }),
    ),
    outside: joined.outside,
  }
}

/** Where the rules of a set go, only those know who include it. */
function withoutSink({ setPlaces, document }: Joined, root: Located): Problem[] {
  const rules = root.entries?.get('rules')?.value.items ?? []
  const open = rules.filter(({ entries }) => entries && !entries.has('to') && !entries.has('drop'))
  const [sink = 'NAME'] = document.root?.entries?.get('sinks')?.value.entries?.keys() ?? []
  return [...setPlaces].flatMap(([set, place]) => {
    if (!open.some(({ file }) => file.name === set)) return []
    const isMap = place.path.includes('from')
    const hint = isMap ? `write to: ${sink} beside "from"` : `write ${includedAs(set, place.path, sink)}`
    return [place.document.problem(place.path, `the rules of ${set} need a sink`, { hint })]
  })
}

function joinedRoot({ rules, watch, tests }: Joined, root: Located): Located {
  const entries = new Map(root.entries)
  const lists = { rules: rules.map(withoutTurnedOff), watch: withoutRepeats(watch), tests }
  for (const [key, items] of Object.entries(lists)) {
    const own = entries.get(key)
    if (items.length === 0 || (own && !own.value.items)) continue
    entries.set(key, listed(own ?? entries.get('include'), items, root))
  }
  return mapOf(root, entries)
}

function listed(place: Entry | undefined, items: readonly Located[], root: Located): Entry {
  return { key: place?.key ?? root, value: listOf(place?.value ?? root, items) }
}

/** Files may watch the same; twice in one file is a slip. */
function withoutRepeats(watch: readonly Located[]): Located[] {
  const first = new Map<string, Located>()
  return watch.filter((entry) => {
    const identity = JSON.stringify(typeof entry.value === 'string' ? { kind: entry.value } : entry.value)
    const same = first.get(identity)
    if (!same) first.set(identity, entry)
    return !same || same.file === entry.file
  })
}

/** Defaults are part of many rules, and wrong only once. */
export function once(problems: readonly Problem[]): Problem[] {
  const known = new Set<string>()
  return problems.filter(({ file, line, column, message }) => {
    const key = `${file}:${line}:${column}:${message}`
    const isNew = !known.has(key)
    known.add(key)
    return isNew
  })
}
