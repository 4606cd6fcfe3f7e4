import { dirname, resolve } from 'node:path'
import type { SinkType } from '../sink/index.ts'
import { checkArchiveRoute } from './check-archive.ts'
import { checkMessages } from './check-messages.ts'
import { checkRoutes } from './check-routes.ts'
import { checkRules } from './check-rules.ts'
import { checkSinks, loadTypes, type SinkTypes } from './check-sinks.ts'
import { checkable, configOf } from './config-of.ts'
import { crossCheck } from './cross-check.ts'
import type { ConfigDocument, Path } from './document.ts'
import { draftOf } from './draft.ts'
import { hiding } from './hiding.ts'
import { type IncludeFiles, NO_FILES } from './include-files.ts'
import { withoutMeant } from './include-hints.ts'
import type { Interpolation } from './interpolate.ts'
import { problemsOf } from './issues.ts'
import { type JoinedDocument, once, readJoined } from './joined-document.ts'
import { manifestProblem } from './manifest.ts'
import { loadPlugins } from './plugins.ts'
import { type Problem, withShortWords } from './problem.ts'
import { type Config, ConfigFile } from './schema.ts'

export interface LoadOptions extends Interpolation {
  /** How the file is called in problems; `${file:PATH}` is relative to its folder. */
  file: string
  text: string
  /** Where included files come from; without it there are none. */
  files?: IncludeFiles | undefined
  /** Loads a sink type by its name; a configuration loads only those that it names. */
  sinkTypes: SinkTypes
  /** What turned plug-ins off, such as `--no-plugins`: a configuration that names some is refused. */
  pluginsOff?: string | undefined
  /** Sink types of plug-ins that are loaded already; without it `plugins:` is. */
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
      /** Those of its plug-ins, by the word behind `type:`. */
      sinkTypes: Readonly<Record<string, SinkType>>
    }
  | { ok: false /** With at least one error; warnings too. */; problems: Problem[] }
)

/** Reads and checks a configuration: everything that is wrong with it at once, or one that can be trusted. */
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
    pluginsFailed: plugins.problems.length > 0,
  })
  const { routes, problems: routeProblems } = await checkRoutes(document, types, sinks)
  const found = [
    ...issues,
    ...plugins.problems,
    ...sinkProblems,
    ...routeProblems,
    ...(await checkArchiveRoute(document, types, sinks)),
    // What a file that is missing would have said, nobody knows.
    ...(complete ? crossCheck : checkRules)(draftOf(root), document),
  ].filter((it) => complete || !/^"(rules|watch)" (is missing|has no)/.test(it.message))
  const isSound =
    parsed.success && [...document.problems, ...found].every(({ severity }) => severity !== 'error')
  // A message that is not yet what it shall be may come to be read.
  if (isSound) found.push(...checkMessages(document, types, sinks))
  const all = [...document.problems, ...found.filter((problem) => !document.isEcho(problem))]
  const told = withoutMeant(once(all))
  const problems = shownOf(told, document)
  const errors = problems.filter(({ severity }) => severity === 'error')
  if (!parsed.success || errors.length > 0) return { ok: false, texts, problems }
  const config = configOf(parsed.data, {
    folder,
    sinks,
    routes,
    written: root.value as Record<string, unknown>,
    placeOf: (path, offset) => placeOf(document, path, offset),
  })
  return { ok: true, texts, config, warnings: problems, document, sinkTypes: plugins.types }
}

function loaders(types: Readonly<Record<string, SinkType>>): SinkTypes {
  return Object.fromEntries(Object.entries(types).map(([name, type]) => [name, async () => type]))
}

function placeOf(document: ConfigDocument, path: Path, offset?: number): string {
  const { file, line, column } = document.problem(path, '', { ...(offset !== undefined && { offset }) })
  return `${file}:${line}:${column}`
}

/** Problems as they may be shown: of a file outside of the configuration's folder only the line. */
export function shownOf(problems: readonly Problem[], { secrets, outside }: JoinedDocument): Problem[] {
  const shown = problems.map((problem): Problem => {
    if (!outside.has(problem.file)) return problem
    const { hint: _, ...rest } = problem
    return { ...rest, column: 1, length: 1, message: OUTSIDE[problem.severity], hint: TO_SEE_IT }
  })
  return withoutSecrets(once(shown), secrets)
}

const OUTSIDE = {
  error: 'this line is wrong, and not shown: the file lies outside of the folder of the configuration',
  warning:
    'this line may be wrong, and is not shown: the file lies outside of the folder of the configuration',
}
const TO_SEE_IT = 'to see what is wrong, check a copy of the file below that folder'

/** Whatever a message says, of a sink package too: what `${…}` stood for is not shown. */
function withoutSecrets(problems: readonly Problem[], secrets: readonly string[]): Problem[] {
  const hide = hiding(
    secrets.filter(({ length }) => length >= 3),
    () => '***',
  )
  return problems.map((problem) => {
    const { message, hint } = problem
    return withShortWords({
      ...problem,
      message: hide(message),
      ...(hint !== undefined && { hint: hide(hint) }),
    })
  })
}

function notAMap(document: ConfigDocument): Problem {
  const isEmpty = (document.value ?? null) === null
  const message = isEmpty ? 'the file is empty' : 'the file must be a map of keys and values'
  return document.problem([], message, { hint: 'it needs the keys watch, sinks and rules' })
}
