import { dirname, resolve } from 'node:path'
import type { SinkType } from '../sink/index.ts'
import { checkable, configOf } from './config-of.ts'
import type { ConfigDocument, Path } from './document.ts'
import { problemsOf } from './error-messages/zod-issues.ts'
import { manifestProblem } from './include/check-file.ts'
import { type IncludeFiles, NO_FILES } from './include/files.ts'
import { type JoinedDocument, once, readJoined } from './include/joined-document.ts'
import { lint } from './lint/lint.ts'
import { checkRules } from './lint/rules.ts'
import {
  checkArchiveRoute,
  checkMessages,
  checkRoutes,
  checkSinks,
  loadTypes,
  type SinkTypes,
} from './lint/sinks.ts'
import { draftOf } from './partial-config.ts'
import { loadPlugins } from './plugins/plugins.ts'
import { type Problem, shortened } from './problem.ts'
import { type Config, ConfigFile } from './schema.ts'
import { positionAt } from './source-node.ts'
import type { Interpolation } from './values/interpolate.ts'
import { redactor, secretsOf } from './values/secrets.ts'

export interface LoadOptions extends Interpolation {
  /** The name of the file in problems; `${file:PATH}` is relative to its folder. */
  file: string
  text: string
  /** Reads included files; without it a configuration cannot include any. */
  files?: IncludeFiles | undefined
  /** Loads a sink type by its name; a configuration loads only those that it names. */
  sinkTypes: SinkTypes
  /** What turned plug-ins off, such as `--no-plugins`: a configuration with plug-ins is then rejected. */
  pluginsOff?: string | undefined
  /** Sink types of plug-ins that are already loaded; without it `plugins:` is loaded. */
  pluginTypes?: Readonly<Record<string, SinkType>> | undefined
}

export type Loaded = {
  /** The texts of all files, by the names that problems have. */
  texts: ReadonlyMap<string, string>
} & (
  | {
      ok: true
      config: Config
      warnings: Problem[]
      document: JoinedDocument
      /** Sink types of its plug-ins, by the value of `type`. */
      sinkTypes: Readonly<Record<string, SinkType>>
    }
  | { ok: false /** With at least one error; warnings too. */; problems: Problem[] }
)

/** Reads and checks a configuration. Returns either all of its problems, or a valid configuration. */
export async function loadConfig(options: LoadOptions): Promise<Loaded> {
  const { file, files = NO_FILES, sinkTypes, pluginsOff } = options
  const folder = dirname(resolve(file))
  const document = readJoined({ ...options, files })
  const { texts, complete } = document
  const root = document.at([])
  if (!document.readable) {
    return { ok: false, texts, problems: shownOf(document.problems, document) }
  }
  if (!root?.entries) {
    const problems = document.problems.length > 0 ? document.problems : [notAMap(document)]
    return { ok: false, texts, problems: shownOf(problems, document) }
  }

  const manifest = manifestProblem(document)
  if (manifest) return { ok: false, texts, problems: [manifest] }

  const parsed = ConfigFile.safeParse(checkable(root.value))
  const issues = parsed.success
    ? []
    : problemsOf({ document, schema: ConfigFile, prefix: [] }, parsed.error.issues)
  const builtIn = Object.keys(sinkTypes)
  const plugins = options.pluginTypes
    ? { types: options.pluginTypes, problems: [] }
    : await loadPlugins(document, { folder, builtIn, off: pluginsOff })
  const known = { ...sinkTypes, ...loaders(plugins.types) }
  const types = await loadTypes(document, known)
  const { sinks, problems: sinkProblems } = await checkSinks(document, types, {
    known: Object.keys(known),
    builtIn,
    pluginsFailed: plugins.problems.length > 0,
  })
  const { routes, problems: routeProblems } = await checkRoutes(document, types, sinks)
  const found = [
    ...issues,
    ...plugins.problems,
    ...sinkProblems,
    ...routeProblems,
    ...(await checkArchiveRoute(document, types, sinks)),
    // Checks across rules, watches and sinks would report what a missing file defines.
    ...(complete ? lint : checkRules)(draftOf(root), document),
  ].filter((it) => complete || !isOfIncludedFile(it))
  const isSound =
    parsed.success && [...document.problems, ...found].every(({ severity }) => severity !== 'error')
  // Not for an invalid file: after a correction a sink may send the message.
  if (isSound) found.push(...checkMessages(document, types, sinks))
  const all = [...document.problems, ...found.filter((problem) => !document.isEcho(problem))]
  const explained = withoutExplained(once(all), document)
  const problems = shownOf(explained, document)
  const errors = problems.filter(({ severity }) => severity === 'error')
  if (!parsed.success || errors.length > 0) return { ok: false, texts, problems }
  const config = configOf(parsed.data, {
    folder,
    sinks,
    routes,
    secrets: secretsOf(document),
    written: root.value as Record<string, unknown>,
    placeOf: (path, offset) => placeOf(document, path, offset),
  })
  return { ok: true, texts, config, warnings: problems, document, sinkTypes: plugins.types }
}

/**
 * Returns the problems without unused variables that another problem explains by a misspelt reference, and without warnings that a
 * rule has no effect where the rule has an error.
 */
function withoutExplained(problems: readonly Problem[], document: ConfigDocument): Problem[] {
  const intended = new Set(problems.flatMap((it) => (it.code === 'unused-variable' ? [] : (it.about ?? []))))
  const errors = problems.filter(({ severity }) => severity === 'error')
  const ends = new Map(
    (document.at(['rules'])?.items ?? []).map(({ file, start, end }) => {
      const { line, column } = positionAt(file, start)
      return [`${file.name}:${line}:${column}`, positionAt(file, end)]
    }),
  )
  const hasError = (rule: Problem) => {
    const end = ends.get(`${rule.file}:${rule.line}:${rule.column}`)
    return errors.some((it) => end && it.file === rule.file && isUpTo(rule, it) && isUpTo(it, end))
  }
  return problems.filter((it) => {
    if (it.code === 'unused-variable') return !intended.has(it.about ?? '')
    const isWithoutEffect = it.code === 'shadowed-rule' || it.code === 'unreachable-rule'
    return !(isWithoutEffect && it.severity === 'warning' && hasError(it))
  })
}

function isUpTo(a: Pick<Problem, 'line' | 'column'>, b: Pick<Problem, 'line' | 'column'>): boolean {
  return a.line < b.line || (a.line === b.line && a.column <= b.column)
}

/** Whether a problem is about rules or watches that a file that could not be read may define. */
function isOfIncludedFile({ code, about = '' }: Problem): boolean {
  return (code === 'missing-key' || code === 'empty-value') && /^(rules|watch)$/.test(about)
}

function loaders(types: Readonly<Record<string, SinkType>>): SinkTypes {
  return Object.fromEntries(Object.entries(types).map(([name, type]) => [name, async () => type]))
}

function placeOf(document: ConfigDocument, path: Path, offset?: number): string {
  const { file, line, column } = document.place(path, { ...(offset !== undefined && { offset }) })
  return `${file}:${line}:${column}`
}

/** Returns the problems as they may be printed: for a file outside of the configuration's folder only line numbers. */
export function shownOf(problems: readonly Problem[], { secrets, outside }: JoinedDocument): Problem[] {
  const shown = problems.map((problem): Problem => {
    if (!outside.has(problem.file)) return problem
    const { hint: _, ...rest } = problem
    return { ...rest, column: 1, length: 1, message: OUTSIDE[problem.severity], hint: TO_SEE_IT }
  })
  return withoutSecrets(once(shown), secrets)
}

const OUTSIDE = {
  error: 'this line is wrong, and not shown: the file is outside of the folder of the configuration',
  warning: 'this line may be wrong, and is not shown: the file is outside of the folder of the configuration',
}
const TO_SEE_IT = 'to see what is wrong, check a copy of the file below that folder'

/** No message, not even that of a sink's own schema, quotes the value of a reference. */
function withoutSecrets(problems: readonly Problem[], secrets: readonly string[]): Problem[] {
  const redact = redactor(secrets)
  return problems.map((problem) => {
    const { message, hint } = problem
    return shortened({
      ...problem,
      message: redact(message),
      ...(hint !== undefined && { hint: redact(hint) }),
    })
  })
}

function notAMap(document: ConfigDocument): Problem {
  const isEmpty = (document.value ?? null) === null
  const message = isEmpty ? 'the file is empty' : 'the file must be a map of keys and values'
  return document.problem(isEmpty ? 'empty-file' : 'not-a-map', [], message, {
    hint: 'it needs the keys watch, sinks and rules',
  })
}
