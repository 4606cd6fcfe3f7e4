import { dirname, resolve } from 'node:path'
import type { SchemaIssue, SinkType } from '../sink/index.ts'
import { crossCheck } from './cross-check.ts'
import { type ConfigDocument, type Path, readDocument } from './document.ts'
import { draftOf } from './draft.ts'
import type { Interpolation } from './interpolate.ts'
import { problemsOf } from './issues.ts'
import { manifestProblem } from './manifest.ts'
import type { Problem } from './problem.ts'
import { type Config, ConfigFile, type SinkConfig } from './schema.ts'
import { suggest } from './suggest.ts'

export type SinkTypes = Readonly<Record<string, () => Promise<SinkType>>>

export interface LoadOptions extends Interpolation {
  /** How the file is called in problems; `${file:PATH}` is relative to its folder. */
  file: string
  text: string
  /** Loads a sink type by its name; a configuration loads only those that it names. */
  sinkTypes: SinkTypes
}

export type Loaded =
  | { ok: true; config: Config; warnings: Problem[]; document: ConfigDocument }
  | { ok: false /** With at least one error; warnings too. */; problems: Problem[] }

/** Reads and checks a configuration: everything that is wrong with it at once, or one that can be trusted. */
export async function loadConfig({ file, text, env, readFile, sinkTypes }: LoadOptions): Promise<Loaded> {
  const folder = dirname(resolve(file))
  const document = readDocument(file, text, { env, readFile: (path) => readFile(resolve(folder, path)) })
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
  const { sinks, problems: sinkProblems } = await checkSinks(document, sinkTypes)
  const found = [...issues, ...sinkProblems, ...crossCheck(draftOf(root), document)]
  const told = [...document.problems, ...found.filter((problem) => !document.isEcho(problem))]
  const problems = told.map((problem) => withoutSecrets(problem, root.secrets))
  const errors = problems.filter(({ severity }) => severity === 'error')
  if (!parsed.success || errors.length > 0) return { ok: false, problems }
  const kubernetes = resolvePath(parsed.data.kubernetes, folder)
  const config: Config = {
    ...parsed.data,
    kubernetes,
    sinks: sinks.map((sink) => withMessages(sink, parsed.data)),
    placeOf: (path, offset) => placeIn(document, path, offset),
  }
  return { ok: true, config, warnings: problems, document }
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

/** Checked even when other parts are wrong, so that nothing is left for a second round. */
async function checkSinks(
  document: ConfigDocument,
  sinkTypes: SinkTypes,
): Promise<{ sinks: SinkConfig[]; problems: Problem[] }> {
  const sinks: SinkConfig[] = []
  const problems: Problem[] = []
  for (const [name, { value }] of document.at(['sinks'])?.entries ?? []) {
    const section = value.value as Record<string, unknown> | null
    if (!value.entries || typeof section?.['type'] !== 'string') continue
    const { type, messages: _, ...options } = section as { type: string; messages?: unknown }
    const result = await checkSink(name, type, options, document, sinkTypes)
    if ('problems' in result) problems.push(...result.problems)
    else sinks.push({ name, type, options: result.value })
  }
  return { sinks, problems }
}

async function checkSink(
  name: string,
  type: string,
  options: object,
  document: ConfigDocument,
  sinkTypes: SinkTypes,
): Promise<{ value: unknown } | { problems: Problem[] }> {
  const load = Object.hasOwn(sinkTypes, type) ? sinkTypes[type] : undefined
  if (!load) return { problems: [unknownType(document, name, type, Object.keys(sinkTypes))] }
  const { config } = await load()
  const result = (await config['~standard'].validate(options)) as {
    value?: unknown
    issues?: readonly SchemaIssue[]
  }
  if (!result.issues) return { value: result.value }
  const subject = { document, schema: config, prefix: ['sinks', name], alsoKnown: ['type', 'messages'] }
  return { problems: problemsOf(subject, result.issues) }
}

function unknownType(
  document: ConfigDocument,
  name: string,
  type: string,
  known: readonly string[],
): Problem {
  const path = ['sinks', name, 'type']
  const written = document.at(path)?.written
  if (written !== undefined) return document.problem(path, `what ${written} stands for is no sink type`)
  return document.problem(path, `there is no sink type "${type}"`, {
    hint: suggest(type, known, 'there are'),
  })
}
