import type {
  FormerSource,
  KnownObject,
  ScannedObject,
  Source,
  SourceSession,
  SourceStore,
} from '../change.ts'
import type { Logger } from '../log.ts'
import type { PlannedSource } from './plan.ts'
import { labelTest, placeTest, type SelectionParts, selectionTest } from './selection.ts'
import type { SourceReport } from './source-report.ts'
import type { Timing } from './timing.ts'

/** What a source takes over, and how its first list is compared with that. */
export interface Adoption {
  /** Those that it replaces. Asked when it begins: another process may have replaced this one meanwhile. */
  formers(signal: AbortSignal): Promise<readonly FormerSource[]>
  parts: SelectionParts
}

/** Which of the wanted sources an object of a source that is not wanted any more belongs to. */
export function adoptionOf(
  parts: SelectionParts,
  source: PlannedSource,
  wanted: readonly PlannedSource[],
  unwanted: (signal: AbortSignal) => Promise<readonly Source[]>,
): Adoption {
  const places = wanted.map((it) => ({ key: it.key, test: placeTest(parts, it) }))
  // What nobody selects any more goes to whichever comes first: there it ends.
  const claims = (object: KnownObject) =>
    (places.find(({ test }) => test(object))?.key ?? source.key) === source.key
  // A namespace that was only taken out keeps its place, should it come back.
  const isReplaced = ({ namespace }: Source) =>
    namespace === '' || wanted.some((it) => includesNamespace(parts, it, namespace))
  return {
    parts,
    formers: async (signal) =>
      (await unwanted(signal)).filter(isReplaced).map((it) => ({ source: it, claims })),
  }
}

function includesNamespace(parts: SelectionParts, { shard: _, ...source }: PlannedSource, namespace: string) {
  return placeTest(parts, source)({ namespace, uid: '', name: '', labelsJson: '{}' })
}

export interface AdoptingParts {
  store: Pick<SourceStore, 'peek' | 'owners'>
  clock: { now(): number }
  timing: Timing
  log: Logger
}

/** Takes over what the former sources of a source knew, once no other process works on them. True when the session adopts. */
export async function adopt(
  parts: AdoptingParts,
  source: PlannedSource,
  session: SourceSession,
  report: SourceReport,
  signal: AbortSignal,
): Promise<boolean> {
  const formers = (await source.adoption?.formers(signal)) ?? []
  if (!(await areFree(parts, source, formers, report, signal))) return false
  for (const former of formers) await session.adopt(former, signal)
  if (session.checkpoint?.adopting === undefined) return false
  parts.log.info({ watch: source.title }, 'goes on with what was known by another selection')
  return true
}

/**
 * False where a process goes on by a selection of before: what it knows stays its own. During a roll-out of another configuration
 * it ends as soon as this one is ready.
 */
async function areFree(
  { store, clock, timing, log }: AdoptingParts,
  { title: watch }: PlannedSource,
  formers: readonly FormerSource[],
  report: SourceReport,
  signal: AbortSignal,
): Promise<boolean> {
  const untilMs = clock.now() + timing.adoptWaitMs
  for (;;) {
    const { changes } = store.owners
    const at = await Promise.all(formers.map(({ source }) => store.peek(source, signal)))
    const owned = formers.find((_, i) => at[i]?.ownerAlive)
    if (!owned) return true
    if (clock.now() >= untilMs) {
      log.warn({ watch, before: owned.source.title }, STILL_OWNED)
      return false
    }
    report.standby(true)
    await store.owners.wait(changes, timing.fencedPauseMs, signal)
  }
}

const STILL_OWNED =
  'another process watches by the selection of before: this watch begins anew, without its state'

/** How the first list of a source that adopts is compared: what is new, and what is only not selected any more. */
export function comparisonOf(source: PlannedSource, session: SourceSession) {
  const scopes = session.checkpoint?.adopting ?? []
  const parts = source.adoption?.parts
  if (!parts) return {}
  const watched = scopes.map((it) => selectionTest(parts, it))
  // Nobody knows of which fields an object that is not there was.
  const { fieldSelector } = source
  const isKnown = fieldSelector === '' || scopes.every((it) => it.fieldSelector === fieldSelector)
  const isIn = labelTest(parts, source)
  return {
    isNew: (object: ScannedObject) => source.initial === 'emit' || watched.some((test) => test(object)),
    isSelected: (object: KnownObject) => isKnown && isIn(object),
  }
}
