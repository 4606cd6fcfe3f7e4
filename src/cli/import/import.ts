import { type Document, isMap, isScalar, LineCounter, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../config/load.ts'
import { formatProblems } from '../../config/problem.ts'
import { allSinks } from '../../sink-types.ts'
import { nearest } from '../../text/closest-match.ts'
import { invocation } from '../environment.ts'
import { PLACEHOLDER } from '../load-config/placeholder-secrets.ts'
import { readInput } from '../load-config/read-configuration.ts'
import { UsageError } from '../usage-error.ts'
import { importBotkube } from './botkube.ts'
import { importEventExporter } from './event-exporter.ts'
import { type Imported, toYaml } from './imported.ts'
import { importKubewatch } from './kubewatch.ts'
import { mapOf, type Raw } from './source-options.ts'

/** Prints another tool's configuration as one of kubeherald, and on stderr the remaining problems. */
export async function importConfiguration(tool: string, file: string): Promise<number> {
  const name = file === '-' ? 'standard input' : file
  const from = toolOf(tool)
  const read = readForeign(await readInput(file, 'the configuration '))
  if (!read.ok) throw new UsageError(`${shown(name, read)}: ${read.fault}`)
  const looksLike = recognise(read.raw)
  if (!keysOf(from).some((key) => Object.hasOwn(read.raw, key))) {
    const other = looksLike ? `; it looks like one of ${looksLike}` : ''
    throw new UsageError(
      `${name} is no configuration of ${from}: it has no ${keysOf(from).join(' and no ')}${other}`,
    )
  }
  const wrong = shapeFault(from, read.raw)
  if (wrong) throw new UsageError(`${shown(name, read.placeOf(wrong.key))}: ${wrong.fault}`)
  const text = importFrom(from, read.raw)
  process.stdout.write(text)
  process.stderr.write(await verdict(text))
  return 0
}

function shown(file: string, { line, column }: Partial<Place> = {}): string {
  return line === undefined ? file : `${file}:${line}:${column}`
}

function toolOf(text: string): Tool {
  const tool = TOOLS.find((it) => it === text)
  if (tool) return tool
  const near = nearest(text, TOOLS)
  const hint = near ? `did you mean ${near}?` : `there are ${TOOLS.join(', ')}`
  throw new UsageError(`nothing is known of "${text}"; ${hint}`)
}

/** Returns the remaining problems and the next command. */
async function verdict(text: string): Promise<string> {
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
  const problems = (loaded.ok ? loaded.warnings : loaded.problems).filter(({ absent }) => !absent)
  const shown = problems.length > 0 ? formatProblems(problems, text) : ''
  return `${shown}Write it to kubeherald.yaml, read its comments, then: ${invocation(process.env)} check\n`
}

const IMPORTERS = {
  'kubernetes-event-exporter': {
    make: importEventExporter,
    keys: ['route', 'receivers'],
    lists: ['receivers'],
  },
  kubewatch: { make: importKubewatch, keys: ['handler', 'resource'], lists: [] },
  botkube: { make: importBotkube, keys: ['sources', 'communications'], lists: [] },
} as const satisfies Readonly<Record<string, Importer>>

interface Importer {
  make(raw: Raw): Imported
  /** The top-level keys by which it is recognised. */
  keys: readonly string[]
  /** Those of them that are lists; the others are maps. */
  lists: readonly string[]
}

export type Tool = keyof typeof IMPORTERS
export const TOOLS = Object.keys(IMPORTERS) as Tool[]

/** Returns the tool whose keys the configuration has. */
export function recognise(raw: Raw): Tool | undefined {
  return TOOLS.find((tool) => IMPORTERS[tool].keys.every((key) => Object.hasOwn(raw, key)))
}

/** Returns a configuration as YAML with comments on what could not be carried over. */
export function importFrom(tool: Tool, raw: Raw): string {
  return toYaml(IMPORTERS[tool].make(raw))
}

function keysOf(tool: Tool): readonly string[] {
  return IMPORTERS[tool].keys
}

/** The first top-level key whose value is of the wrong type; undefined when nothing is wrong. Absent keys are no fault. */
function shapeFault(tool: Tool, raw: Raw): { key: string; fault: string } | undefined {
  const { keys, lists }: Importer = IMPORTERS[tool]
  for (const key of keys) {
    const value = raw[key]
    if (value === undefined || value === null) continue
    if (lists.includes(key)) {
      if (!Array.isArray(value)) return { key, fault: `"${key}" must be a list` }
    } else if (mapOf(value) !== value) return { key, fault: `"${key}" must be a map of keys and values` }
  }
  return undefined
}

type ReadText =
  | { ok: true; raw: Raw; placeOf(key: string): Place | undefined }
  | { ok: false; fault: string; line?: number; column?: number }

/** Counted from 1. */
interface Place {
  line: number
  column: number
}

/** Bounds the expansion of aliases. */
const MAX_ALIASES = 200

/** Parses another tool's file, or the text in a ConfigMap. */
export function readForeign(text: string): ReadText {
  const lineCounter = new LineCounter()
  const [document, ...more] = parseAllDocuments(text, { lineCounter })
  if (!document || 'empty' in document) return { ok: false, fault: 'the file is empty' }
  const [error] = (
    document as { errors: { message: string; linePos?: readonly { line: number; col: number }[] }[] }
  ).errors
  if (error) {
    const [at] = error.linePos ?? []
    const fault = error.message.split('\n')[0]?.replace(/ at line \d+.*$/, '') ?? 'is no YAML'
    if (/call stack/.test(fault)) return { ok: false, fault: 'it nests too deep: is a bracket missing?' }
    return { ok: false, fault, ...(at && { line: at.line, column: at.col }) }
  }
  if (more.length > 0)
    return { ok: false, fault: 'it holds several documents: give it the one with the configuration' }
  const raw = mapOf(plain(document))
  const inner = innerText(raw)
  if (inner !== undefined) {
    const read = readForeign(inner)
    // Its lines are counted from the beginning of the inner text.
    return read.ok
      ? { ...read, placeOf: () => undefined }
      : { ok: false, fault: `in data of the ConfigMap: ${read.fault}` }
  }
  return Object.keys(raw).length === 0
    ? { ok: false, fault: 'it is no map of keys and values' }
    : { ok: true, raw, placeOf: (key) => placeOf(document as Document, key, lineCounter) }
}

/** The position of the value of a top-level key. */
function placeOf({ contents }: Document, key: string, lineCounter: LineCounter): Place | undefined {
  const pairs = isMap(contents) ? contents.items : []
  const pair = pairs.find((it) => isScalar(it.key) && it.key.value === key)
  const range = (pair?.value as { range?: readonly [number, ...number[]] | null } | undefined)?.range
  if (!range) return undefined
  const { line, col } = lineCounter.linePos(range[0])
  return { line, column: col }
}

function plain(document: { toJS(options: { maxAliasCount: number }): unknown }): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch {
    return undefined
  }
}

/** The one text in a ConfigMap. */
function innerText(raw: Raw): string | undefined {
  if (raw['kind'] !== 'ConfigMap') return undefined
  const texts = Object.values(mapOf(raw['data'])).filter((it): it is string => typeof it === 'string')
  return texts.length === 1 ? texts[0] : undefined
}
