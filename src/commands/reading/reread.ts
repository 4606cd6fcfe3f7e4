import { dirname, resolve } from 'node:path'
import { assemble } from '../../config/assemble.ts'
import type { SinkTypes } from '../../config/check-sinks.ts'
import type { Problem } from '../../config/problem.ts'
import type { Config } from '../../config/schema.ts'
import type { SinkType } from '../../sink/index.ts'
import { UsageError } from '../usage-error.ts'
import { FileReads } from './file-reads.ts'
import { readApart } from './read-apart.ts'
import { type ReadSource, readOnce } from './read-once.ts'
import { firstPlace, inOneLine, isColoured, showProblems } from './shown-problems.ts'

export type Reread = { reads: FileReads } & (
  | {
      ok: true
      config: Config
      digest: string | undefined
      warnings: readonly Problem[]
      /** The warnings with their lines, for people. */
      shownWarnings: string
    }
  | {
      ok: false
      /** In one line: the first, and how many there are. */
      problem: string
      /** For people. */
      shown: string
      /** `file:line` of the first. */
      place?: string | undefined
    }
)

export interface RereadTypes {
  builtIn: SinkTypes
  /** Loaded at the start, and not again. */
  plugins: Readonly<Record<string, SinkType>>
}

/**
 * Reads a configuration anew while the process works: in a thread of its own, so that a large one holds nothing up. Here it is
 * only put together. Throws when the thread cannot do its work; then nothing is known of the configuration.
 */
export async function reread(source: ReadSource, types: RereadTypes): Promise<Reread> {
  const read = await readApart({ source, colour: isColoured(), pluginTypes: Object.keys(types.plugins) })
  const reads = FileReads.from(read.reads)
  if (!read.ok) return { ok: false, reads, problem: read.problem, shown: read.shown, place: read.place }
  const { digest, warnings, shownWarnings } = read
  const folder = dirname(resolve(source.shown))
  const sinkTypes = { ...types.builtIn, ...loaders(types.plugins) }
  const config = await assemble(read, { folder, sinkTypes })
  if (config) return { ok: true, reads, config, digest, warnings, shownWarnings }
  // Options of a plug-in's sink, which the thread could not check: what is wrong with them is told with its place.
  return rereadHere(source, types)
}

async function rereadHere(source: ReadSource, { builtIn, plugins }: RereadTypes): Promise<Reread> {
  const reads = new FileReads()
  try {
    const { digest, loaded } = await readOnce(source, reads, { sinkTypes: builtIn, pluginTypes: plugins })
    const { texts } = loaded
    if (!loaded.ok) {
      const { problems } = loaded
      const shown = showProblems(problems, texts)
      return {
        ok: false,
        reads,
        problem: inOneLine(problems, texts),
        shown,
        place: firstPlace(problems, texts),
      }
    }
    const { config, warnings } = loaded
    return { ok: true, reads, config, digest, warnings, shownWarnings: showProblems(warnings, texts) }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return { ok: false, reads, problem: error.message, shown: '' }
  }
}

function loaders(types: RereadTypes['plugins']): SinkTypes {
  return Object.fromEntries(Object.entries(types).map(([name, type]) => [name, async () => type]))
}
