import { dirname, resolve } from 'node:path'
import type { SinkType } from '../sink/index.ts'
import { checkMessages } from './check-messages.ts'
import { checkRoutes } from './check-routes.ts'
import { checkSinks, loadTypes, type SinkTypes } from './check-sinks.ts'
import { crossCheck } from './cross-check.ts'
import { type ConfigDocument, type Path, readDocument } from './document.ts'
import { draftOf } from './draft.ts'
import type { Interpolation } from './interpolate.ts'
import { problemsOf } from './issues.ts'
import { manifestProblem } from './manifest.ts'
import { loadPlugins } from './plugins.ts'
import type { Problem } from './problem.ts'
import { type Config, ConfigFile, type SinkConfig } from './schema.ts'

export interface LoadOptions extends Interpolation {
  /** How the file is called in problems; `${file:PATH}` is relative to its folder. */
  file: string
  text: string
  /** Loads a sink type by its name; a configuration loads only those that it names. */
  sinkTypes: SinkTypes
  /** What turned plug-ins off, such as `--no-plugins`: a configuration that names some is refused. */
  pluginsOff?: string | undefined
  /** Sink types of plug-ins that are loaded already; without it `plugins:` is. */
  pluginTypes?: Readonly<Record<string, SinkType>> | undefined
}

export type Loaded =
  | {
      ok: true
      config: Config
      warnings: Problem[]
      document: ConfigDocument
      /** Those of its plug-ins, by the word behind `type:`. */
      sinkTypes: Readonly<Record<string, SinkType>>
    }
  | { ok: false /** With at least one error; warnings too. */; problems: Problem[] }

/** Reads and checks a configuration: everything that is wrong with it at once, or one that can be trusted. */
export async function loadConfig(options: LoadOptions): Promise<Loaded> {
  const { file, text, env, readFile, standIn, sinkTypes, pluginsOff } = options
  const folder = dirname(resolve(file))
  const document = readDocument(file, text, {
    env,
    readFile: (path) => readFile(resolve(folder, path)),
    standIn,
  })
  const root = document.at([])
  if (!document.readable) return { ok: false, problems: document.problems }
  if (!root?.entries)
    return { ok: false, problems: document.problems.length > 0 ? document.problems : [notAMap(document)] }

  const manifest = manifestProblem(document)
  if (manifest) return { ok: false, problems: [manifest] }

  const parsed = ConfigFile.safeParse(withoutExtensions(root.value))
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
    ...crossCheck(draftOf(root), document),
  ]
  const isSound =
    parsed.success && [...document.problems, ...found].every(({ severity }) => severity !== 'error')
  // A message that is not yet what it shall be may come to be read.
  if (isSound) found.push(...checkMessages(document, types, sinks))
  const told = [...document.problems, ...found.filter((problem) => !document.isEcho(problem))]
  const problems = told.map((problem) => withoutSecrets(problem, root.secrets))
  const errors = problems.filter(({ severity }) => severity === 'error')
  if (!parsed.success || errors.length > 0) return { ok: false, problems }
  const kubernetes = resolvePath(parsed.data.kubernetes, folder)
  const config: Config = {
    ...parsed.data,
    kubernetes,
    sinks: sinks.map((sink) => withMessages(sink, parsed.data)),
    routes,
    written: root.value as Record<string, unknown>,
    placeOf: (path, offset) => placeIn(document, path, offset),
  }
  return { ok: true, config, warnings: problems, document, sinkTypes: plugins.types }
}

function loaders(types: Readonly<Record<string, SinkType>>): SinkTypes {
  return Object.fromEntries(Object.entries(types).map(([name, type]) => [name, async () => type]))
}

function withMessages(sink: SinkConfig, { sinks }: ConfigFile): SinkConfig {
  const messages = sinks[sink.name]?.messages
  return messages === undefined ? sink : { ...sink, messages }
}

function placeIn(document: ConfigDocument, path: Path, offset?: number): string {
  const { file, line, column } = document.problem(path, '', { ...(offset !== undefined && { offset }) })
  return `${file}:${line}:${column}`
}

/** Keys such as `x-defaults` hold what anchors share. */
function withoutExtensions(value: unknown): unknown {
  return Object.fromEntries(Object.entries(value as object).filter(([key]) => !key.startsWith('x-')))
}

/** A kubeconfig is found from the configuration, wherever the program was started. */
function resolvePath({ kubeconfig, ...rest }: Config['kubernetes'], folder: string): Config['kubernetes'] {
  return kubeconfig === undefined ? rest : { ...rest, kubeconfig: resolve(folder, kubeconfig) }
}

/** Whatever a message says, of a sink package too: what `${…}` stood for is not shown. */
function withoutSecrets(problem: Problem, secrets: readonly string[]): Problem {
  const hide = (text: string) =>
    secrets.reduce((hidden, secret) => (secret.length < 3 ? hidden : hidden.replaceAll(secret, '***')), text)
  const { message, hint } = problem
  return { ...problem, message: hide(message), ...(hint !== undefined && { hint: hide(hint) }) }
}

function notAMap(document: ConfigDocument): Problem {
  const isEmpty = (document.value ?? null) === null
  const message = isEmpty ? 'the file is empty' : 'the file must be a map of keys and values'
  return document.problem([], message, { hint: 'it needs the keys watch, sinks and rules' })
}
