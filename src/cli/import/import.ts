import { LineCounter, type Node, parseDocument } from 'yaml'
import { loadConfig } from '../../config/load.ts'
import { formatProblems, type Problem } from '../../config/problem.ts'
import { allSinks } from '../../sink-types.ts'
import { nearest } from '../../text/closest-match.ts'
import { invocation } from '../environment.ts'
import { PLACEHOLDER } from '../load-config/placeholder-secrets.ts'
import { readInput } from '../load-config/read-configuration.ts'
import { note } from '../output/notes.ts'
import { UsageError } from '../usage-error.ts'
import { importBotkube } from './botkube.ts'
import { importEventExporter } from './event-exporter.ts'
import { type Form, type Found, findConfiguration } from './find-configuration.ts'
import {
  type Entry,
  type Imported,
  type ImportedRule,
  type Losses,
  lossesOf,
  toYaml,
  type WrittenEntries,
  writtenEntries,
} from './imported.ts'
import { importKubewatch } from './kubewatch.ts'
import { mapOf, type Raw } from './tracked.ts'

/** The exit code when a rule or a sink is disabled. */
const DISABLED = 3

/**
 * Prints another tool's configuration as one of kubeherald, and on stderr how much of it was lost. Without a tool the first argument is the
 * file. Returns 3 if a rule or a sink is disabled, else 0. Throws `UsageError` for a file that is not a configuration.
 */
export async function importConfiguration(
  tool: string | undefined,
  file: string | undefined,
): Promise<number> {
  const isFile = tool !== undefined && file === undefined && /[./]|^-$/.test(tool) && !isTool(tool)
  const path = (isFile ? tool : file) ?? '-'
  const wanted = tool === undefined || isFile ? undefined : toolOf(tool)
  const { text, losses, problems } = await convert(await readInput(path, 'the configuration '), path, wanted)
  process.stdout.write(text)
  process.stderr.write(verdict(text, losses, problems))
  note(`Write it to kubeherald.yaml, read its comments, then: ${invocation(process.env)} check\n`)
  return losses.rules + losses.sinks > 0 ? DISABLED : 0
}

interface Tool extends Form {
  make(raw: Raw, text: string): Imported
  /** What a file of it has, for errors. */
  has: string
  /** Top-level keys and the type that they must have. */
  types: Readonly<Record<string, 'map' | 'list'>>
  /** True for a key of Helm values that concerns the Deployment. */
  isOfChart?(path: string): boolean
}

const has = (map: Raw, key: string) => Object.hasOwn(map, key)

const IMPORTERS = {
  'kubernetes-event-exporter': {
    make: importEventExporter,
    has: 'route and no receivers',
    types: { route: 'map', receivers: 'list' },
    // An Alertmanager's route has a receiver.
    isWhole: (map) => has(map, 'route') && has(map, 'receivers') && !has(mapOf(map['route']), 'receiver'),
    isPart: (map) => has(map, 'route') || has(map, 'receivers'),
    isFile: (map) => Array.isArray(map['receivers']),
  },
  kubewatch: {
    make: importKubewatch,
    has: 'handler, no resource and no resourcesToWatch',
    types: { handler: 'map', resource: 'map', resourcesToWatch: 'map' },
    isWhole: (map) => (has(map, 'handler') && has(map, 'resource')) || has(map, 'resourcesToWatch'),
    isPart: (map) => has(map, 'handler') || has(map, 'resource'),
    isOfChart: (path) => !/^(handler|resource|customresources|namespace)\b/.test(path),
  },
  botkube: {
    make: importBotkube,
    has: 'sources and no communications',
    types: { sources: 'map', communications: 'map' },
    isWhole: (map) => has(map, 'sources') && has(map, 'communications'),
    isPart: (map) => has(map, 'sources') || has(map, 'communications'),
    isOfChart: (path) =>
      !/^(sources|communications|settings|actions|executors|aliases|analytics|configWatcher|plugins)\b/.test(
        path,
      ),
  },
} as const satisfies Readonly<Record<string, Tool>>

export type ToolName = keyof typeof IMPORTERS
export const TOOLS = Object.keys(IMPORTERS) as ToolName[]

function isTool(text: string): text is ToolName {
  return TOOLS.some((it) => it === text)
}

function toolOf(text: string): ToolName {
  if (isTool(text)) return text
  const near = nearest(text, TOOLS)
  throw new UsageError(
    `nothing is known of "${text}"; ${near ? `did you mean ${near}?` : `there are ${TOOLS.join(', ')}`}`,
  )
}

/** A configuration of kubeherald, and what `check` finds in it without its secrets. */
interface Converted {
  text: string
  losses: Losses
  problems: readonly Problem[]
}

/** Converts the text of a file. Rules and sinks that kubeherald rejects are disabled, so that the configuration is valid. */
export async function convert(text: string, file: string, wanted?: ToolName): Promise<Converted> {
  const imported = importText(text, file, wanted)
  for (;;) {
    const entries = writtenEntries(imported)
    const written = toYaml(imported, entries)
    const problems = await problemsOf(written)
    const entryAt = entriesByLine(entries, written)
    const rejected = problems.flatMap((problem) => {
      const entry = problem.severity === 'error' ? entryAt(problem.line) : undefined
      return entry && isOf(imported, entry) ? [{ entry, problem }] : []
    })
    if (rejected.length === 0) return { text: written, losses: lossesOf(imported), problems }
    for (const { entry, problem } of rejected) disable(imported, entry, problem.message)
  }
}

/** Disables a rejected rule or sink, and the rules behind a rejected `drop`. */
function disable({ rules }: Imported, entry: Entry<unknown>, reason: string): void {
  entry.off.push(`kubeherald rejects it: ${reason}`)
  const at = rules.indexOf(entry as Entry<ImportedRule>)
  if (!rules[at]?.value.drop) return
  for (const { value, off } of rules.slice(at + 1))
    if (value.to) off.push(`events that were dropped come here: ${reason}`)
}

/** Converts the text of a file, without a check of the result. */
export function importText(text: string, file: string, wanted?: ToolName): Imported {
  const name = file === '-' ? 'standard input' : file
  const search = findConfiguration<ToolName>(name, text, IMPORTERS, wanted)
  if (!search.ok) throw new UsageError(search.fault || nothingFound(name, text, wanted))
  const { found } = search
  const { make, types, isOfChart }: Tool = IMPORTERS[found.tool]
  for (const [key, type] of Object.entries(types)) checkType(found, key, type)
  const imported = make(found.raw, text)
  const unread = found.unread()
  const ofChart = unread.filter((path) => isOfChart?.(path))
  const around = [...new Set([...ofChart, ...found.around()])]
  imported.lost.push(...unread.filter((path) => !ofChart.includes(path)))
  if (found.where !== '') imported.heading.push(`Read from ${found.where}.`)
  if (around.length > 0)
    imported.heading.push('Left out, as it is around the configuration:', ...inLines(around))
  return imported
}

function nothingFound(name: string, text: string, wanted: ToolName | undefined): string {
  if (wanted === undefined)
    return `${name} is not a configuration of ${TOOLS.slice(0, -1).join(', ')} or ${TOOLS.at(-1)}`
  const other = findConfiguration<ToolName>(name, text, IMPORTERS)
  const hint = other.ok ? `; it looks like one of ${other.found.tool}` : ''
  return `${name} is not a configuration of ${wanted}: it has no ${IMPORTERS[wanted].has}${hint}`
}

function checkType({ raw, placeOf }: Found<ToolName>, key: string, type: 'map' | 'list'): void {
  const value = raw[key]
  if (value === undefined || value === null) return
  if (
    type === 'list'
      ? Array.isArray(value)
      : mapOf(value) === value || (typeof value === 'object' && !Array.isArray(value))
  )
    return
  throw new UsageError(
    `${placeOf(key)}: "${key}" must be a ${type === 'list' ? 'list' : 'map of keys and values'}`,
  )
}

function inLines(names: readonly string[]): string[] {
  const lines: string[] = []
  for (const name of names.map((it, i) => (i < names.length - 1 ? `${it},` : it))) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + name.length < 120) lines[lines.length - 1] = `${last} ${name}`
    else lines.push(`  ${name}`)
  }
  return lines
}

async function problemsOf(text: string): Promise<Problem[]> {
  const loaded = await loadConfig({
    file: 'kubeherald.yaml',
    text,
    env: {},
    readFile() {
      throw Object.assign(new Error(), { code: 'ENOENT' })
    },
    standIn: PLACEHOLDER,
    sinkTypes: allSinks,
  })
  return (loaded.ok ? loaded.warnings : loaded.problems).filter(({ absent }) => !absent)
}

/** False for the rule and the sink that replace disabled ones. */
function isOf({ sinks, rules }: Imported, entry: Entry<unknown>): boolean {
  return [...sinks, ...rules].some((it) => it === entry)
}

/** Returns a function that gives the rule or sink in whose YAML a line is; undefined for a line of neither. */
function entriesByLine({ sinks, rules }: WrittenEntries, text: string) {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter })
  const begins = (key: string) =>
    (document.get(key) as { items: { key?: Node; range?: Node['range'] }[] }).items.map(
      (it) => lineCounter.linePos((it.key ?? it).range?.[0] ?? 0).line,
    )
  const sinksAt = begins('sinks').map((line, i) => ({ line, entry: sinks[i] }))
  const rulesAt = begins('rules').map((line, i) => ({ line, entry: rules[i] }))
  return (line: number): Entry<unknown> | undefined =>
    [...sinksAt, ...rulesAt].findLast((it) => it.line <= line)?.entry
}

/** Returns the remaining problems, and how much was lost. */
function verdict(text: string, { settings, rules, sinks }: Losses, problems: readonly Problem[]): string {
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`
  const lines = [
    ...(problems.length > 0 ? [formatProblems(problems, text)] : []),
    ...(settings > 0 ? [`Not carried over: ${count(settings, 'setting')}, each in a comment.\n`] : []),
    ...(rules + sinks > 0
      ? [
          `Disabled: ${count(rules, 'rule')} and ${count(sinks, 'sink')}, at the end of the file with their reasons.\n`,
        ]
      : []),
  ]
  return lines.join('')
}
