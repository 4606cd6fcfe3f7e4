import type { SinkType } from '../sink/index.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { Problem } from './problem.ts'
import type { SinkConfig } from './schema.ts'
import { targetsOf } from './targets.ts'

/** Words for people that no sink shows: what goes to topics, files and programs is the event itself. */
export function checkMessages(
  document: ConfigDocument,
  types: ReadonlyMap<string, SinkType>,
  sinks: readonly SinkConfig[],
): Problem[] {
  const sections = new Map(sinks.map((sink) => [sink.name, sink.options]))
  /** Of sinks that are not known, or whose type does not say, nobody knows. */
  const isMute = (sink: string) =>
    sections.has(sink) && types.get(sink)?.tellsChanges?.(sections.get(sink)) === false
  const rules = [...(document.at(['rules'])?.items ?? []).keys()].flatMap((index) => {
    const path = ['rules', index, 'message']
    if (!document.at(path)) return []
    const names = [...new Set(targetsOf(document, index).map(({ sink }) => sink))]
    if (names.length === 0 || !names.every(isMute)) return []
    return [unseen(document, path, names, types)]
  })
  const mute = [...sections.keys()].filter((name) => document.at(['sinks', name, 'messages']) && isMute(name))
  return [...rules, ...mute.map((name) => unseen(document, ['sinks', name, 'messages'], [name], types))]
}

function unseen(
  document: ConfigDocument,
  path: Path,
  names: readonly string[],
  types: ReadonlyMap<string, SinkType>,
): Problem {
  const shown = names.map((name) => `"${name}" (${types.get(name)?.type})`).join(' and ')
  const verb = names.length === 1 ? 'sends' : 'send'
  return document.problem(path, `nobody reads this: ${shown} ${verb} the event, not a message`, {
    atKey: true,
    hint: 'messages are shown by slack, webhook with a preset, and stdout with format: message',
    severity: 'warning',
  })
}
