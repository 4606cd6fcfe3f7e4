import { dirname, join, resolve } from 'node:path'
import { ruleSetNames, ruleSetText, SET } from '../../rules/sets/rule-sets.ts'
import { nearest } from '../../text/closest-match.ts'
import { type FileDocument, type Path, readDocument } from '../document.ts'
import type { Problem } from '../problem.ts'
import { reasonOf, textOf } from '../read-text.ts'
import type { Located } from '../source-node.ts'
import type { Interpolation } from '../values/interpolate.ts'
import type { Scope } from '../values/vars.ts'
import { checkIncludedFile, checkSharedKeys } from './check-file.ts'
import { GlobTooWide, type IncludeFiles, isGlob, isOutside } from './files.ts'
import { defaultsIn, type IncludeEntry, includeEntries, withDefaults } from './include-entries.ts'

export interface JoinOptions extends Interpolation {
  /** Its name in problems; paths in it are relative to its folder. */
  file: string
  text: string
  files: IncludeFiles
}

/** The merged content of a configuration file and the files that it includes, in the order of evaluation. */
export interface Joined {
  document: FileDocument
  /** All files, this one first. */
  documents: readonly FileDocument[]
  rules: readonly Located[]
  watch: readonly Located[]
  /** Without those of rule sets, which kubeherald's own tests run. */
  tests: readonly Located[]
  /** Problems of `include`, and of the keys of included files. */
  problems: Problem[]
  /** False when a file is missing: then checks for missing keys would mislead. */
  complete: boolean
  /** The place where each rule set is included, by its name. */
  setPlaces: ReadonlyMap<string, { document: FileDocument; path: Path }>
  /** Names, as in problems, of files outside of the configuration's folder: none of their content is printed. */
  outside: ReadonlySet<string>
}

type Part = Omit<Joined, 'setPlaces' | 'outside'>

const MAX_FILES = 500
const MAX_CHARACTERS = 8 * 1_048_576
const MAX_DEPTH = 20

interface Source {
  /** Identifies the file, to detect cycles. */
  id: string
  name: string
  /** Undefined for a set. */
  folder: string | undefined
  text: string
}

interface Joining extends JoinOptions {
  /** The place where each file was included. */
  seen: Map<string, string>
  setPlaces: Map<string, { document: FileDocument; path: Path }>
  outside: Set<string>
  /** The folder of the configuration. */
  root: string
  characters: number
  /** Whether the problem of too many or too large files was reported. */
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
  /** Folder of the file that includes; undefined for a set. */
  folder: string | undefined
  entry: IncludeEntry
  chain: readonly string[]
}

/** Returns the parts for one name under `include`; an error is a part with only a problem. */
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
    if (error instanceof GlobTooWide) return fail(`"${from}" searches too many files`, 'name fewer folders')
    return fail(`"${from}" cannot be searched: ${(error as NodeJS.ErrnoException).code ?? error}`)
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
    const found = readText(at.files, id)
    if ('fault' in found)
      return fail(`${called} cannot be read: ${found.fault}`, found.isMissing ? hintFor(called) : undefined)
    if (isOutside(at.files, at.root, id)) at.outside.add(name)
    return joinSource(at, including, { id, name, folder: dirname(id), text: found.text })
  })
}

function readText(
  files: IncludeFiles,
  path: string,
): { text: string } | { fault: string; isMissing?: boolean } {
  try {
    return textOf(files.read(path))
  } catch (error) {
    return { fault: reasonOf(error), isMissing: (error as NodeJS.ErrnoException).code === 'ENOENT' }
  }
}

function hintFor(called: string): string {
  const name = called.replace(/^.*\//, '').replace(/\.ya?ml$/, '')
  return ruleSetNames().includes(name) ? `did you mean ${SET}${name}?` : 'paths are relative to this file'
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
    const hint =
      near === undefined ? `there are: ${ruleSetNames().join(', ')}` : `did you mean "${SET}${near}"?`
    return [failed(document, path, `there is no rule set "${name}"`, hint)]
  }
  at.setPlaces.set(from, { document, path })
  return joinSource(at, including, { id: from, name: from, folder: undefined, text })
}

function joinSource(at: Joining, { document, entry, chain }: Including, source: Source): Part[] {
  const { line } = document.place(entry.path)
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

/** Returns warnings for unused variables. Those of a rule set are options of the file that includes it, so they may be unused. */
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
  return document.problem('unused-variable', path, message, {
    atKey: true,
    ...(by === 'nothing' && { about: name }),
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
  const problems = [document.problem('invalid-include', path, message, { hint, severity })]
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

/** `kubeherald test` reads these files. */
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
