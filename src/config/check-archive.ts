import type { SinkType } from '../sink/index.ts'
import { readRoute } from './check-routes.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft } from './draft.ts'
import type { Problem } from './problem.ts'
import type { SinkConfig } from './schema.ts'
import { suggest } from './suggest.ts'

const SINK = ['deadLetters', 'archive', 'sink'] as const

/** The sink that is the archive of dead letters, as it is written; undefined where there is none. */
export function archiveSink(document: ConfigDocument): string | undefined {
  const name = document.at(SINK)?.value
  return typeof name === 'string' ? name : undefined
}

/** The archive's sink has to exist, and to be no rule's: its own dead letters would come back to it. */
export function checkArchive({ sinks, rules }: Draft, document: ConfigDocument): Problem[] {
  const name = archiveSink(document)
  if (name === undefined || sinks === undefined) return []
  if (!sinks.includes(name))
    return [document.problem(SINK, `there is no sink "${name}"`, { hint: suggest(name, sinks, 'there are') })]
  const rule = rules.findIndex(({ to = [] }) => to.includes(name))
  if (rule === -1) return []
  const where = document.lineWords(['rules', rule], SINK)
  return [
    document.problem(
      SINK,
      `"${name}" would archive its own dead letters in itself: the rule on ${where} sends to it, too`,
      { hint: 'give the archive a sink of its own, which no rule sends to' },
    ),
  ]
}

/** What the archive's sink needs and its section does not have, since no rule adds anything: a topic, a channel. */
export async function checkArchiveRoute(
  document: ConfigDocument,
  types: ReadonlyMap<string, SinkType>,
  sinks: readonly SinkConfig[],
): Promise<Problem[]> {
  const name = archiveSink(document)
  const [type, section] = [types.get(name ?? ''), sinks.find((sink) => sink.name === name)]
  if (!type || !section) return []
  const read = await readRoute(type, {})
  const lacking =
    'value' in read
      ? (type.checkRoute?.(read.value, section.options, { digests: false }) ?? [])
      : 'issues' in read
        ? read.issues
        : []
  return lacking.map(({ message }) => document.problem(SINK, `"${name}" ${message}`))
}
