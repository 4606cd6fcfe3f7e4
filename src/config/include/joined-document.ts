import { type ConfigDocument, documentOf } from '../document.ts'
import type { Problem } from '../problem.ts'
import { type Entry, type Located, listOf, mapOf } from '../source-node.ts'
import { plainValuesIn } from '../values/secrets.ts'
import { withoutTurnedOff } from './include-entries.ts'
import { type Joined, type JoinOptions, joinFiles } from './join-files.ts'

/** The merged document of all files of a configuration. */
export interface JoinedDocument extends ConfigDocument {
  /** False when an included file is missing or invalid: then checks for missing keys would mislead. */
  complete: boolean
  /** The values of `${env:…}` and `${file:…}` in all files: never print them. */
  secrets: readonly string[]
  /** Those of `secrets` that are none: see `plainValuesIn`. */
  plainValues: ReadonlySet<string>
  /** The texts of the files by their names in problems; empty for files outside of the configuration's folder. */
  texts: ReadonlyMap<string, string>
  /** Names, as in problems, of files outside of the configuration's folder: none of their content is printed. */
  outside: ReadonlySet<string>
}

/** Aliases, variables and defaults can repeat a value many times. */
const MAX_SIZE = 250_000

/** Reads a file and all files that it includes. The place of `['rules', i]` is in the file that defines the rule. */
export function readJoined(options: JoinOptions): JoinedDocument {
  const joined = joinFiles(options)
  const { document: own, documents, complete } = joined
  const root = own.root?.entries && joinedRoot(joined, own.root)
  const isTooLarge = root !== undefined && root.size > MAX_SIZE
  const problems = [...documents.flatMap((it) => it.problems), ...joined.problems]
  if (isTooLarge)
    problems.push(own.problem('too-large', [], `all files together have more than ${MAX_SIZE} values`))
  problems.push(...(root ? withoutSink(joined, root) : []))
  const shown = isTooLarge ? own.root : (root ?? own.root)
  const broken = documents.flatMap((it) => it.broken)
  return {
    ...documentOf(shown, own.file, { readable: own.readable, problems: once(problems), broken }),
    complete: complete && documents.every(({ readable }) => readable),
    secrets: [...new Set(documents.flatMap(({ root: it }) => it?.secrets ?? []))],
    plainValues: plainValuesIn(documents.map(({ root: it }) => it)),
    texts: new Map(documents.map(({ file: { name, text } }) => [name, joined.outside.has(name) ? '' : text])),
    outside: joined.outside,
  }
}

/** Returns problems for rule sets without a sink: only the file that includes a set can name one. */
function withoutSink({ setPlaces, document }: Joined, root: Located): Problem[] {
  const rules = root.entries?.get('rules')?.value.items ?? []
  const open = rules.filter(({ entries }) => entries && !entries.has('to') && !entries.has('drop'))
  const [sink = 'NAME'] = document.root?.entries?.get('sinks')?.value.entries?.keys() ?? []
  return [...setPlaces].flatMap(([set, place]) => {
    if (!open.some(({ file }) => file.name === set)) return []
    const entry = `{ from: ${set}, to: ${sink} }`
    const hasFrom = place.path.includes('from')
    const isOnly = place.path.length === 1
    const hint = hasFrom ? `add the key to: ${sink}` : `write ${isOnly ? `include: [${entry}]` : entry}`
    return [
      place.document.problem('set-without-sink', place.path, `the rules of ${set} need a sink`, { hint }),
    ]
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

/** Removes a watch that another file has, too. A repeat within one file stays, so that it is reported as a mistake. */
function withoutRepeats(watch: readonly Located[]): Located[] {
  const first = new Map<string, Located>()
  return watch.filter((entry) => {
    const identity = JSON.stringify(typeof entry.value === 'string' ? { kind: entry.value } : entry.value)
    const same = first.get(identity)
    if (!same) first.set(identity, entry)
    return !same || same.file === entry.file
  })
}

/** Removes repeated problems: a faulty default is part of many rules. */
export function once(problems: readonly Problem[]): Problem[] {
  const known = new Set<string>()
  return problems.filter(({ file, line, column, message }) => {
    const key = `${file}:${line}:${column}:${message}`
    const isNew = !known.has(key)
    known.add(key)
    return isNew
  })
}
