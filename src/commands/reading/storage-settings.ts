import { dirname, resolve } from 'node:path'
import * as z from 'zod'
import { type ConfigDocument, readDocument } from '../../config/document.ts'
import { problemsOf } from '../../config/issues.ts'
import type { Problem } from '../../config/problem.ts'
import { type Config, ConfigFile } from '../../config/schema.ts'
import { badConfiguration } from './configuration.ts'
import { MAX_FILE_BYTES, readPlainFile } from './plain-file.ts'
import { readConfigurationText } from './read-once.ts'

/** The parts of a configuration that say where its data lies. */
export interface StorageSettings extends Pick<Config, 'cluster' | 'redis' | 'kubernetes'> {
  /** The names of the configured sinks. */
  sinks: readonly string[]
  /** What is wrong with other parts, which does not matter for these. */
  otherProblems: readonly Problem[]
}

const { cluster, redis, kubernetes } = ConfigFile.shape
const PARTS = z.object({ cluster, redis, kubernetes })

/** Reads those parts alone: a rule that is broken or a sink's secret that is missing locks no operator out. */
export async function readStorageSettings(file: string): Promise<StorageSettings> {
  const text = await readConfigurationText(file)
  const folder = dirname(resolve(file))
  const readFile = (path: string) => readPlainFile(resolve(folder, path), MAX_FILE_BYTES).toString('utf8')
  const document = readDocument(file, text, { env: process.env, readFile })
  const root = document.at([])
  if (!document.readable || (root && !root.entries && root.value !== null))
    throw badConfiguration(file, unreadable(document), text)
  const mattering = document.problems.filter((problem) => isWithin(document, text, problem, PARTS.shape))
  const parsed = PARTS.safeParse(root?.value ?? {})
  if (!parsed.success || mattering.length > 0) {
    const subject = { document, schema: ConfigFile, prefix: [] }
    const issues = parsed.success ? [] : problemsOf(subject, parsed.error.issues)
    const found = issues.filter((problem) => !document.isEcho(problem))
    throw badConfiguration(file, [...mattering, ...found], text)
  }
  const { kubeconfig, ...rest } = parsed.data.kubernetes
  return {
    ...parsed.data,
    kubernetes: kubeconfig === undefined ? rest : { ...rest, kubeconfig: resolve(folder, kubeconfig) },
    sinks: [...(document.at(['sinks'])?.entries?.keys() ?? [])],
    otherProblems: document.problems,
  }
}

export function unreadable(document: ConfigDocument): Problem[] {
  if (document.problems.length > 0) return document.problems
  return [document.problem([], 'the file must be a map of keys and values')]
}

/** Does it stand in one of the parts, key or value? */
export function isWithin(
  document: ConfigDocument,
  text: string,
  { line, column }: Problem,
  parts: object,
): boolean {
  const before = text.split('\n').slice(0, line - 1)
  const offset = before.reduce((sum, it) => sum + it.length + 1, 0) + column - 1
  return Object.keys(parts).some((name) => {
    const entry = document.at([])?.entries?.get(name)
    return entry !== undefined && entry.key.start <= offset && offset <= entry.value.end
  })
}
