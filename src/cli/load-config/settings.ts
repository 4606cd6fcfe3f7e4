import { dirname, resolve } from 'node:path'
import * as z from 'zod'
import { type ConfigDocument, readDocument } from '../../config/document.ts'
import { problemsOf } from '../../config/error-messages/zod-issues.ts'
import { readJoined } from '../../config/include/joined-document.ts'
import { checkWatch } from '../../config/lint/watch.ts'
import { draftOf } from '../../config/partial-config.ts'
import type { Problem } from '../../config/problem.ts'
import { type Config, ConfigFile } from '../../config/schema.ts'
import { STARTER } from '../../config/starter.ts'
import type { NeedyRule } from '../../watch/metadata/metadata-requirements.ts'
import { badConfiguration } from './configuration.ts'
import { FileReads, readFileIn } from './file-reads.ts'
import { readInput } from './read-configuration.ts'

/** The keys that locate the stored data. */
export interface StorageSettings extends Pick<Config, 'cluster' | 'redis' | 'kubernetes'> {
  /** The names of the configured sinks. */
  sinks: readonly string[]
  /** Problems of the other keys; these commands work without them. */
  otherProblems: readonly Problem[]
}

const { cluster, redis, kubernetes, watch, leases, enrich } = ConfigFile.shape
const STORAGE = z.object({ cluster, redis, kubernetes })

/** Reads those keys alone: a broken rule or a sink's missing secret must not lock an operator out. */
export async function readStorageSettings(file: string): Promise<StorageSettings> {
  const text = await readInput(file, 'the configuration ')
  const document = readDocument(file, text, { env: process.env, readFile: readFileIn(dirname(file)) })
  const root = document.at([])
  if (!document.readable || (root && !root.entries && root.value !== null))
    throw badConfiguration(file, unreadable(document), text)
  const relevant = document.problems.filter((problem) => isWithin(document, text, problem, STORAGE.shape))
  const parsed = STORAGE.safeParse(root?.value ?? {})
  if (!parsed.success || relevant.length > 0) {
    const issues = parsed.success ? [] : issuesOf(document, parsed.error)
    const found = issues.filter((problem) => !document.isEcho(problem))
    throw badConfiguration(file, orAll([...relevant, ...found], document), text)
  }
  return {
    ...parsed.data,
    kubernetes: withAbsoluteKubeconfig(parsed.data.kubernetes, file),
    sinks: [...(document.at(['sinks'])?.entries?.keys() ?? [])],
    otherProblems: document.problems,
  }
}

/** The keys that decide what is read from the cluster. */
export interface WatchSettings
  extends Pick<Config, 'watch' | 'kubernetes' | 'leases' | 'enrich' | 'written'> {
  /** As written, with `*` for references that are not set here: the metadata that they need is read from the cluster, too. */
  rules: readonly NeedyRule[]
  file: string
  /** `kubeherald.yaml:5:5` of an entry of `watch`. */
  placeOf(index: number): string
  placeOfRule(index: number): string
}

const WATCH = z.object({ watch, kubernetes, leases, enrich })

/** Reads those keys alone, so that printing the permissions needs no secrets. Without a file, the starter's. */
export async function readWatchSettings(named: string | undefined): Promise<WatchSettings> {
  const file = named ?? 'the built-in starter'
  const text = named === undefined ? STARTER : await readInput(named, 'the configuration ')
  const readFile = readFileIn(dirname(file))
  const source = { file, text, env: process.env, readFile, files: new FileReads().included }
  const document = readJoined(source)
  const { complete, texts } = document
  const root = document.at([])
  if (!document.readable || !root?.entries) throw badConfiguration(file, unreadable(document), texts)
  const parsed = WATCH.safeParse(root.value)
  const relevant = { ...WATCH.shape, include: true }
  const found = [
    ...document.problems.filter((problem) =>
      problem.file === file ? isWithin(document, text, problem, relevant) : !complete,
    ),
    ...(parsed.success ? [] : issuesOf(document, parsed.error)),
    ...checkWatch(draftOf(root), document),
  ]
  const errors = found.filter((it) => it.severity === 'error' && !document.isEcho(it))
  if (!parsed.success || errors.length > 0) throw badConfiguration(file, orAll(errors, document), texts)
  const placeIn = (path: readonly PropertyKey[]) => {
    const at = document.place(path)
    return `${at.file}:${at.line}:${at.column}`
  }
  // A reference that is not set here would be an empty name, which narrows a rule; `*` does not.
  const { value: written } = document.problems.length > 0 ? readJoined({ ...source, standIn: '*' }) : root
  return {
    ...parsed.data,
    file,
    kubernetes: withAbsoluteKubeconfig(parsed.data.kubernetes, file),
    rules: rulesIn(written),
    written: written as NonNullable<Config['written']>,
    placeOf: (index) => placeIn(['watch', index]),
    placeOfRule: (index) => placeIn(['rules', index]),
  }
}

/** What is wrong with a value may be at the variable that it uses: then all errors of the file are returned. */
function orAll(found: readonly Problem[], document: ConfigDocument): readonly Problem[] {
  return found.length > 0 ? found : document.problems.filter(({ severity }) => severity === 'error')
}

function issuesOf(document: ConfigDocument, error: z.ZodError): Problem[] {
  return problemsOf({ document, schema: ConfigFile, prefix: [] }, error.issues)
}

function unreadable(document: ConfigDocument): Problem[] {
  if (document.problems.length > 0) return document.problems
  return [document.problem('not-a-map', [], 'the file must be a map of keys and values')]
}

function withAbsoluteKubeconfig(settings: Config['kubernetes'], file: string): Config['kubernetes'] {
  const { kubeconfig } = settings
  return kubeconfig === undefined ? settings : { ...settings, kubeconfig: resolve(dirname(file), kubeconfig) }
}

/** Returns true if the problem is in the key or the value of one of the keys. */
function isWithin(document: ConfigDocument, text: string, { line, column }: Problem, keys: object): boolean {
  const before = text.split('\n').slice(0, line - 1)
  const offset = before.reduce((sum, it) => sum + it.length + 1, 0) + column - 1
  return Object.keys(keys).some((name) => {
    const entry = document.at([])?.entries?.get(name)
    return entry !== undefined && entry.key.start <= offset && offset <= entry.value.end
  })
}

/** A rule with errors counts as far as it can be read: `check` reports the errors. */
function rulesIn(root: unknown): NeedyRule[] {
  const { rules } = root as { rules?: unknown }
  if (!Array.isArray(rules)) return []
  return rules.map((rule: unknown, i) => {
    const map = typeof rule === 'object' && rule !== null ? (rule as { name?: unknown }) : {}
    return { ...map, name: typeof map.name === 'string' ? map.name : `rules[${i}]` }
  })
}
