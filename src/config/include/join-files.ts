import { dirname, join, resolve } from 'node:path'
import { ruleSetNames, ruleSetText, SET } from '../rule-sets/rule-sets.ts'
import { checkIncludedFile, checkSharedKeys } from './check-included.ts'
import { type FileDocument, type Path, readDocument } from './document.ts'
import { GlobTooWide, isGlob } from './expand-glob.ts'
import { type IncludeEntry, includeEntries } from './include-entries.ts'
import { type IncludeFiles, isOutside, readIncluded } from './include-files.ts'
import { faultHint, setHint } from './include-hints.ts'
import type { Interpolation } from './interpolate.ts'
import type { Located } from './located.ts'
import type { Problem } from './problem.ts'
import { defaultsIn, withDefaults } from './rule-defaults.ts'
import { nearest, suggest } from './suggest.ts'
import type { Scope } from './vars.ts'

export interface JoinOptions extends Interpolation {
  /** As problems call it; what it names is relative to its folder. */
  file: string
  text: string
  files: IncludeFiles
}

/** A file of a configuration with those that it includes: what they say together, in the order in which it holds. */
export interface Joined {
  document: FileDocument
  /** All files, this one first. */
  documents: readonly FileDocument[]
  rules: readonly Located[]
  watch: readonly Located[]
  /** Not those of rule sets: what these send is proven before they are published. */
  tests: readonly Located[]
  /** What is wrong with `include`, and with the shape of included files. */
  problems: Problem[]
  /** False when a file is missing: then much seems to be missing. */
  complete: boolean
  /** Where each rule set is included, by its name. */
  setPlaces: ReadonlyMap<string, { document: FileDocument; path: Path }>
  /** Files outside of the configuration's folder, by the names that problems have: nothing of them is shown. */
  outside: ReadonlySet<string>
}

type Part = Omit<Joined, 'setPlaces' | 'outside'>

const MAX_FILES = 500
const MAX_CHARACTERS = 8 * 1_048_576
const MAX_DEPTH = 20

interface Source {
  /** What it is known by, to see circles. */
  id: string
  name: string
  /** Undefined for a set. */
  folder: string | undefined
  text: string
}

interface Joining extends JoinOptions {
  /** Where each file was included. */
  seen: Map<string, string>
  setPlaces: Map<string, { document: FileDocument; path: Path }>
  outside: Set<string>
  /** That of the configuration. */
  root: string
  characters: number
  /** Was it told that it is too much? */
  full: boolean
}

/** Reads a configuration with all that it includes. */
export function joinFiles(options: JoinOptions): Joined {
  const { file, text } = options
  const id = resolve(file)
  const at: Joining = {
    ...options,
    seen: new Map([[id, file]]),
    setPlaces: new Map(),
    outside: new Set(),
    root: dirname(id),
    characters: text.length,
    full: false,
  }
  const source = { id, name: file, folder: dirname(id), text }
  const part = joinFrom(at, source, { outer: undefined, given: undefined }, [id])
  return { ...part, setPlaces: at.setPlaces, outside: at.outside }
}

function joinFrom(
  at: Joining,
  { name, folder, text }: Source,
  around: { outer: Scope | undefined; given: IncludeEntry | undefined },
  chain: readonly string[],
): Part {
  const readFile = (path: string) => at.readFile(resolve(folder ?? '/', path))
  const { env, standIn } = at
  const document = readDocument(name, text, { env, readFile, standIn }, around.outer, around.given?.vars)
  const entries = document.root?.entries
  const isIncluded = around.given !== undefined
  if (!document.readable || !entries) {
    const problems = isIncluded ? checkIncludedFile(document) : []
    const isEmpty = document.readable && (document.root?.value ?? null) === null
    return { document, documents: [document], rules: [], watch: [], tests: [], problems, complete: isEmpty }
  }
  const defaults = defaultsIn(entries.get('defaults')?.value)
  const parts = includeEntries(document).map((entry) => joinEntry(at, { document, folder, entry, chain }))
  const own = (key: string) => entries.get(key)?.value.items ?? []
  const all = (key: 'rules' | 'watch' | 'tests') => parts.flatMap((part) => part.flatMap((it) => it[key]))
  const files = parts.flat()
  return {
    document,
    documents: [document, ...files.flatMap(({ documents }) => documents)],
    rules: [...all('rules'), ...own('rules')].map((rule) => withDefaults(rule, defaults)),
    watch: [...own('watch'), ...all('watch')],
    tests: [...all('tests'), ...(folder === undefined ? [] : own('tests'))],
    problems: [
      ...checkSharedKeys(document),
      ...(isIncluded ? checkIncludedFile(document) : []),
      ...unusedVars(document, around.given),
      ...files.flatMap(({ problems }) => problems),
    ],
    complete: files.every(({ complete }) => complete),
  }
}

interface Including {
  document: FileDocument
  /** Of the file that includes; undefined for a set. */
  folder: string | undefined
  entry: IncludeEntry
  chain: readonly string[]
}

/** The parts that one name under `include` stands for; what is wrong with it is a part that has only a problem. */
function joinEntry(at: Joining, including: Including): Part[] {
  const { document, entry, chain, folder } = including
  const { from, path } = entry
  const fail = (message: string, hint?: string, severity?: 'warning') => [
    failed(document, path, message, hint, severity),
  ]
  if (chain.length > MAX_DEPTH) return fail(`files include each other more than ${MAX_DEPTH} deep`)
  if (/^https?:/i.test(from))
    return fail('files are not fetched over the network', 'name a file, or kubeherald:SET')
  if (from.startsWith(SET)) return joinSet(at, including)
  if (folder === undefined) return fail('a rule set includes only rule sets')
  const pattern = resolve(folder, from)
  let paths: readonly string[]
  try {
    paths = isGlob(from) ? at.files.list(pattern) : [pattern]
  } catch (error) {
    if (error instanceof GlobTooWide)
      return fail(`"${from}" leads to too many files to look at`, 'name fewer folders')
    return fail(`"${from}" cannot be looked for: ${(error as NodeJS.ErrnoException).code ?? error}`)
  }
  const wanted = isGlob(from) ? paths.filter((it) => !isTestFile(it) && !chain.includes(it)) : paths
  if (wanted.length === 0)
    return fail(`no file matches "${from}"`, 'paths are relative to this file', 'warning')
  const shownFolder = dirname(document.file.name)
  return wanted.flatMap((id) => {
    const name = shown(shownFolder, folder, id)
    const called = isGlob(from) ? name : from
    if (chain.includes(id)) return fail(`${called} includes itself${through(chain, id)}`)
    const before = at.seen.get(id)
    if (before !== undefined)
      return isGlob(from) ? [] : fail(`${called} is included twice`, `the first time by ${before}`)
    const found = readIncluded(at.files, id)
    if ('fault' in found)
      return fail(`${called} ${found.fault}`, found.hint ?? faultHint(including, called, found.fault))
    if (isOutside(at.files, at.root, id)) at.outside.add(name)
    return joinSource(at, including, { id, name, folder: dirname(id), text: found.text })
  })
}

function joinSet(at: Joining, including: Including): Part[] {
  const { document, entry, chain } = including
  const { from, path } = entry
  const name = from.slice(SET.length)
  if (chain.includes(from)) return [failed(document, path, `${from} includes itself${through(chain, from)}`)]
  const before = at.seen.get(from)
  if (before !== undefined)
    return [failed(document, path, `${from} is included twice`, `the first time by ${before}`)]
  const text = ruleSetText(name)
  if (text === undefined) {
    const near = nearest(name, ruleSetNames())
    const hint = near === undefined ? suggest(name, ruleSetNames(), 'there are') : setHint(including, near)
    return [failed(document, path, `there is no rule set "${name}"`, hint)]
  }
  at.setPlaces.set(from, { document, path })
  return joinSource(at, including, { id: from, name: from, folder: undefined, text })
}

function joinSource(at: Joining, { document, entry, chain }: Including, source: Source): Part[] {
  const { line } = document.problem(entry.path, '')
  at.seen.set(source.id, `${document.file.name}:${line}`)
  at.characters += source.text.length
  if (at.seen.size > MAX_FILES || at.characters > MAX_CHARACTERS) {
    const limit = at.seen.size > MAX_FILES ? `${MAX_FILES} files` : '8 MiB'
    const wasFull = at.full
    at.full = true
    return wasFull ? [] : [failed(document, entry.path, `the configuration has more than ${limit}`)]
  }
  const part = joinFrom(at, source, { outer: document.scope, given: entry }, [...chain, source.id])
  const unused = part.document.unusedVars().filter((name) => entry.vars.has(name))
  const problems = unused.map((name) =>
    notUsed(document, [...entry.path.slice(0, 2), 'vars', name], source.name),
  )
  const rules = part.rules.map((rule) => withDefaults(rule, entry.defaults))
  return [{ ...part, rules, problems: [...part.problems, ...problems] }]
}

/** Those of a rule set are there for whoever includes it. */
function unusedVars(document: FileDocument, given: IncludeEntry | undefined): Problem[] {
  if (document.file.name.startsWith(SET)) return []
  return document
    .unusedVars()
    .filter((name) => !given?.vars.has(name) && document.at(['vars', name]))
    .slice(0, 50)
    .map((name) => notUsed(document, ['vars', name]))
}

function notUsed(document: FileDocument, path: Path, by = 'nothing'): Problem {
  const name = String(path.at(-1))
  const message =
    by === 'nothing' ? `nothing uses the variable "${name}"` : `${by} does not use the variable "${name}"`
  return document.problem(path, message, {
    atKey: true,
    hint: `a value uses it as "\${var:${name}}"`,
    severity: 'warning',
  })
}

function failed(
  document: FileDocument,
  path: Path,
  message: string,
  hint?: string,
  severity: Problem['severity'] = 'error',
): Part {
  const problems = [document.problem(path, message, { hint, severity })]
  return {
    document,
    documents: [],
    rules: [],
    watch: [],
    tests: [],
    problems,
    complete: severity === 'warning',
  }
}

/** They are read by `kubeherald test`. */
function isTestFile(path: string): boolean {
  return /_test\.ya?ml$/.test(path)
}

function shown(shownFolder: string, folder: string, path: string): string {
  const relative = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined
  return relative === undefined ? path : join(shownFolder, relative)
}

function through(chain: readonly string[], id: string): string {
  const between = chain.slice(chain.indexOf(id) + 1).map((it) => it.split('/').at(-1))
  return between.length === 0 ? '' : `, by way of ${between.join(', ')}`
}
