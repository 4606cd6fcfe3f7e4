import type { Routing, SourceStore } from './change.ts'
import type { DecidingHops } from './decision.ts'
import type { Generations } from './generations.ts'
import { journalContents } from './journal-record.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { CommitLine } from './queue/commit-line.ts'
import type { Keys } from './queue/keys.ts'
import type { Enqueued } from './queue/lane-feed.ts'
import type { LiveProcesses } from './queue/live-processes.ts'
import { createSourceStore } from './queue/source-store.ts'
import { objectJsonOf } from './watch/trim.ts'

export interface CommitsParts {
  line: CommitLine
  keys: Keys
  instance: string
  processes: LiveProcesses
  generations: Generations
  normalise: DecidingHops['normalise']
  /** Salts the hashes of Secret values. */
  salt: Buffer
  metrics: Metrics
  log: Logger
  clock: { now(): number }
}

/** Stores what happened, with the old objects and the journal that the generation in force asks for. */
export function startCommits(
  { generations, normalise, salt, ...parts }: CommitsParts,
  routing: () => Routing,
  onEnqueued: (lanes: readonly Enqueued[]) => void,
): SourceStore {
  return createSourceStore({
    ...parts,
    routing,
    onEnqueued,
    old: {
      keeps: (resource) => generations.current.keepsOld(resource),
      jsonOf: (resource, object) => objectJsonOf(resource, object, salt),
    },
    journal: {
      bounds() {
        const { journal } = generations.current.config
        return journal && { keepMs: journal.keep, maxBytes: journal.max }
      },
      contentsOf(source, transition) {
        const event = normalise(source, transition)
        // Where no rule asks for surroundings, none are looked for.
        const isAlone = generations.current.needs.metadata.length === 0
        return isAlone ? { objectJson: event.objectJson } : journalContents(event)
      },
    },
  })
}
