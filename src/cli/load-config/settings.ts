import { dirname, resolve } from 'node:path'
import * as z from 'zod'
import { checkWatch } from '../../config/check-watch.ts'
import { draftOf } from '../../config/draft.ts'
import { problemsOf } from '../../config/issues.ts'
import { readJoined } from '../../config/joined-document.ts'
import { type Config, ConfigFile } from '../../config/schema.ts'
import { STARTER } from '../../config/starter.ts'
import type { NeedyRule } from '../../enrich/needs.ts'
import { badConfiguration } from './configuration.ts'
import { FileReads } from './file-reads.ts'
import { MAX_FILE_BYTES, readPlainFile } from './plain-file.ts'
import { readConfigurationText } from './read-once.ts'
import { isWithin, unreadable } from './storage-settings.ts'

/** The parts of a configuration that say what is read of the cluster. */
export interface WatchSettings
  extends Pick<Config, 'watch' | 'kubernetes' | 'leases' | 'enrich' | 'written'> {
  /** As they are written: what they ask of the surroundings of events is read of the cluster, too. */
  rules: readonly NeedyRule[]
  /** How the file is called. */
  file: string
  /** Where an entry of `watch` stands: `kubeherald.yaml:5:5`. */
  placeOf(index: number): string
  placeOfRule(index: number): string
}

const { watch, kubernetes, leases, enrich } = ConfigFile.shape
const PARTS = z.object({ watch, kubernetes, leases, enrich })
const MATTERING = { ...PARTS.shape, include: true }

/** Reads those parts alone: whoever gives rights has no need of the secrets. Without a file, those of the starter. */
export async function readWatchSettings(named: string | undefined): Promise<WatchSettings> {
  const file = named ?? 'the built-in starter'
  const text = named === undefined ? STARTER : await readConfigurationText(named)
  const folder = dirname(resolve(file))
  const readFile = (path: string) => readPlainFile(resolve(folder, path), MAX_FILE_BYTES).toString('utf8')
  const files = new FileReads().included
  const document = readJoined({ file, text, env: process.env, readFile, files })
  const { complete, texts } = document
  const root = document.at([])
  if (!document.readable || !root?.entries) throw badConfiguration(file, unreadable(document), texts)
  const parsed = PARTS.safeParse(root.value)
  const found = [
    ...document.problems.filter((problem) =>
      problem.file === file ? isWithin(document, text, problem, MATTERING) : !complete,
    ),
    ...(parsed.success ? [] : problemsOf({ document, schema: ConfigFile, prefix: [] }, parsed.error.issues)),
    ...checkWatch(draftOf(root), document),
  ]
  const errors = found.filter((it) => it.severity === 'error' && !document.isEcho(it))
  if (!parsed.success || errors.length > 0) throw badConfiguration(file, errors, texts)
  const { kubeconfig, ...rest } = parsed.data.kubernetes
  return {
    file,
    watch: parsed.data.watch,
    kubernetes: kubeconfig === undefined ? rest : { ...rest, kubeconfig: resolve(folder, kubeconfig) },
    leases: parsed.data.leases,
    enrich: parsed.data.enrich,
    rules: rulesIn(root.value),
    written: root.value as NonNullable<Config['written']>,
    placeOf: (index) => placeIn(['watch', index]),
    placeOfRule: (index) => placeIn(['rules', index]),
  }

  function placeIn(path: readonly PropertyKey[]): string {
    const at = document.problem(path, '')
    return `${at.file}:${at.line}:${at.column}`
  }
}

/** Rules with faults count as far as they can be read: what else is wrong with them matters elsewhere. */
function rulesIn(root: unknown): NeedyRule[] {
  const { rules } = root as { rules?: unknown }
  if (!Array.isArray(rules)) return []
  return rules.map((rule: unknown, i) => {
    const map = typeof rule === 'object' && rule !== null ? (rule as { name?: unknown }) : {}
    return { ...map, name: typeof map.name === 'string' ? map.name : `rules[${i}]` }
  })
}
