import { loadConfig } from '../config/load.ts'
import { formatProblems } from '../config/problem.ts'
import { importFrom, keysOf, recognise, shapeFault, TOOLS, type Tool } from '../import/index.ts'
import { type Place, readForeign } from '../import/text.ts'
import { nearest } from '../nearest.ts'
import { builtInSinks } from '../sink-types.ts'
import { STAND_IN } from './check/check-absent.ts'
import { invocation } from './invocation.ts'
import { readConfigurationText } from './reading/read-once.ts'
import { UsageError } from './usage-error.ts'

/** Prints another tool's configuration as one of kubeherald, and says on stderr what is to be done by hand. */
export async function importConfiguration(tool: string, file: string): Promise<number> {
  const name = file === '-' ? 'standard input' : file
  const from = toolOf(tool)
  const read = readForeign(await readConfigurationText(file))
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

/** What is still wrong with it, before it can run. */
async function verdict(text: string): Promise<string> {
  const loaded = await loadConfig({
    file: 'kubeherald.yaml',
    text,
    env: {},
    readFile() {
      throw Object.assign(new Error(), { code: 'ENOENT' })
    },
    standIn: STAND_IN,
    sinkTypes: builtInSinks,
  })
  const problems = (loaded.ok ? loaded.warnings : loaded.problems).filter(({ absent }) => !absent)
  const shown = problems.length > 0 ? formatProblems(problems, text) : ''
  return `${shown}Write it to kubeherald.yaml, read its comments, then: ${invocation(process.env)} check\n`
}
