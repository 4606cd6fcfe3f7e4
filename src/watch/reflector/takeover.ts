import { setTimeout as pause } from 'node:timers/promises'
import type {
  Checkpoint,
  FormerSource,
  KnownObject,
  PeekedCheckpoint,
  ScannedObject,
  Selection,
  Source,
  SourceSession,
  SourceStore,
} from '../../model/change.ts'
import type { Logger } from '../../observe/log.ts'
import { readLabels } from '../decode/scan.ts'
import type { PlannedSource } from '../plan/plan.ts'
import { isInShard } from '../plan/shards.ts'
import { hasPosition, type WatchProgress } from './progress.ts'
import type { ReflectorStatus } from './reflector-status.ts'
import type { Timing } from './timing.ts'

/** What a source takes over, and how its first list is compared with that. */
export interface Adoption {
  /** Those that it replaces. Asked when it begins: another process may have replaced this one meanwhile. */
  formers(signal: AbortSignal): Promise<readonly FormerSource[]>
  parts: SelectionParts
  /** Some of its namespaces were watched before it begins, by another selection or by itself. */
  hasBegun: boolean
}

/**
 * Which of the wanted sources an object of a source that is not wanted any more belongs to. Those of `undecided` begin later: what is
 * theirs stays where it is.
 */
export function adoptionOf(
  parts: SelectionParts,
  source: PlannedSource,
  wanted: readonly PlannedSource[],
  undecided: readonly PlannedSource[],
  unwanted: (signal: AbortSignal) => Promise<readonly Source[]>,
  watched: readonly Selection[],
): Adoption {
  const places = [...wanted, ...undecided].map((it) => ({ key: it.key, test: placeTest(parts, it) }))
  // What nobody selects any more goes to whichever comes first: there it ends.
  const claims = (object: KnownObject) =>
    (places.find(({ test }) => test(object))?.key ?? source.key) === source.key
  // A namespace that was only taken out keeps its place, should it come back.
  const isReplaced = ({ namespace }: Source) =>
    namespace === '' || wanted.some((it) => includesNamespace(parts, it, namespace))
  return {
    parts,
    hasBegun: watched.some((it) => haveSameNamespaces(parts, source, it)),
    formers: async (signal) =>
      (await unwanted(signal)).filter(isReplaced).map((it) => ({ source: it, claims })),
  }
}

function includesNamespace(parts: SelectionParts, { shard: _, ...selection }: Selection, namespace: string) {
  return placeTest(parts, selection)({ namespace, uid: '', name: '', labelsJson: '{}' })
}

/** Returns whether there may be a namespace that both select. */
function haveSameNamespaces(parts: SelectionParts, a: Selection, b: Selection): boolean {
  const meets = (it: Selection, { namespace }: Selection) =>
    namespace === '' || includesNamespace(parts, it, namespace)
  return meets(a, b) && meets(b, a)
}

/** Returns the selections that were watched, as far as the checkpoint of a source shows. */
export function watchedOf(source: Source, checkpoint: Checkpoint | undefined): readonly Selection[] {
  return checkpoint?.adopting ?? (checkpoint?.resourceVersion ? [source] : [])
}

interface AdoptingParts {
  store: Pick<SourceStore, 'peek' | 'owners'>
  timing: Timing
  log: Logger
}

/**
 * Takes over what the former sources of a source knew, once no other process works on any of them; after `adoptWaitMs` it leaves out
 * those on which one does. Returns these; undefined unless the session adopts, or an earlier attempt has adopted something.
 * Asks for them until all are adopted: while this one waits, another process may adopt the same state for a selection of its own.
 */
export async function adopt(
  parts: AdoptingParts,
  source: PlannedSource,
  session: SourceSession,
  report: ReflectorStatus,
  signal: AbortSignal,
): Promise<readonly Source[] | undefined> {
  const untilMs = performance.now() + parts.timing.adoptWaitMs
  const adopted = new Set<string>()
  let leftOut: readonly Source[] = []
  for (;;) {
    const { changes } = parts.store.owners
    const formers = (await source.adoption?.formers(signal)) ?? []
    const left = formers.filter((it) => !adopted.has(it.source.key))
    if (left.length === 0) break
    const free = await freeOf(parts, left, signal)
    if (free.length < left.length && performance.now() < untilMs) {
      report.standby(true)
      await parts.store.owners.wait(changes, parts.timing.fencedPauseMs, signal)
    } else if (free.length > 0) {
      for (const former of free) {
        await session.adopt(former, signal)
        adopted.add(former.source.key)
      }
    } else {
      leftOut = left.map((it) => it.source)
      const before = leftOut.map(({ title }) => title).join(', ')
      parts.log.warn({ watch: source.title, before }, STILL_OWNED)
      // What that process emitted is not new.
      if (source.initial === 'emit' && session.checkpoint === undefined)
        await session.adopt(undefined, signal)
      break
    }
  }
  if (session.checkpoint?.adopting === undefined) return undefined
  parts.log.info({ watch: source.title }, 'goes on with what was known by another selection')
  return leftOut
}

/**
 * Those of these on which no living process works: the state of the others stays with their processes. During a roll-out of another
 * configuration such a process ends as soon as this one is ready. The newest come first: of an object that several know, the state that
 * is adopted first is kept.
 */
async function freeOf(
  { store }: Pick<AdoptingParts, 'store'>,
  formers: readonly FormerSource[],
  signal: AbortSignal,
): Promise<FormerSource[]> {
  const at = await Promise.all(formers.map(({ source }) => store.peek(source, signal)))
  return formers
    .map((former, i) => ({ former, isOwned: at[i]?.ownerAlive, atMs: at[i]?.atMs ?? 0 }))
    .filter(({ isOwned }) => !isOwned)
    .toSorted((a, b) => b.atMs - a.atMs)
    .map(({ former }) => former)
}

interface OpeningParts extends Pick<AdoptingParts, 'store' | 'timing'> {
  progress: Pick<WatchProgress, 'whileStoring'>
}

/**
 * Waits, for longer than that mostly takes, while a living process may be taking over the state of a source: to open the source would fence
 * that process, and then each of the two would wait for the other.
 */
export async function awaitMove(
  { store, timing, progress }: OpeningParts,
  source: PlannedSource,
  report: ReflectorStatus,
  signal: AbortSignal,
): Promise<void> {
  const untilMs = performance.now() + 2 * timing.fencedPauseMs
  while (performance.now() < untilMs) {
    const { changes } = store.owners
    const at = await progress.whileStoring(() => store.peek(source, signal))
    if (!at?.released || !at.adopting) return
    const formers = (await source.adoption?.formers(signal)) ?? []
    const free = await freeOf({ store }, formers, signal)
    if (free.length === formers.length) return
    report.standby(true)
    await store.owners.wait(changes, timing.fencedPauseMs, signal)
  }
}

const STILL_OWNED =
  'another process watches by the former selection: this watch starts over, without its state'

/**
 * How the first list of a source that adopts is compared: what is new, and what is only not selected any more. Objects of a source that
 * was left out are known there.
 */
export function comparisonOf(source: PlannedSource, session: SourceSession, leftOut: readonly Source[]) {
  const scopes = session.checkpoint?.adopting ?? []
  const parts = source.adoption?.parts
  if (!parts) return {}
  const watched = scopes.map((it) => selectionTest(parts, it))
  const kept = leftOut.map((it) => selectionTest(parts, it))
  const places = scopes.map((it) => placeTest(parts, it))
  const isAny = (tests: readonly Test<ScannedObject>[], object: ScannedObject) =>
    tests.some((test) => test(object))
  const isAllNew = (object: ScannedObject) =>
    source.initial === 'emit' || (source.wasAbsent === true && !isAny(places, object))
  // Nobody knows of which fields an object that is not there was.
  const { fieldSelector } = source
  const isKnown = fieldSelector === '' || scopes.every((it) => it.fieldSelector === fieldSelector)
  const isIn = labelTest(parts, source)
  return {
    isNew: (object: ScannedObject) => !isAny(kept, object) && (isAllNew(object) || isAny(watched, object)),
    isSelected: (object: KnownObject) => isKnown && isIn(object),
  }
}

interface StandByParts {
  store: Pick<SourceStore, 'peek' | 'owners'>
  timing: Timing
  random(): number
}

/**
 * Waits as long as another process works on a source: two that took it from each other would never finish a long list.
 * Resolves when that process is gone or has left the source to others, or gets nowhere for long.
 */
export async function standBy(
  { store, timing, random }: StandByParts,
  source: Source,
  report: ReflectorStatus,
  signal: AbortSignal,
): Promise<void> {
  let seen: PeekedCheckpoint | undefined
  let movedMs = performance.now()
  let wasFree = false
  for (;;) {
    const { changes } = store.owners
    const current = await store.peek(source, signal)
    const patience = patienceMs(current, timing)
    const isFree = patience === 0
    if (current?.holder !== seen?.holder || current?.sequence !== seen?.sequence) movedMs = performance.now()
    else if (isFree ? wasFree : performance.now() - movedMs > patience) return
    seen = current
    wasFree = isFree
    report.standby(hasPosition(current))
    // Of several that stand by, the first one takes it, and the others see that.
    if (isFree) await pause(random() * timing.takeOverSpreadMs, undefined, { signal })
    else await store.owners.wait(changes, timing.fencedPauseMs, signal)
  }
}

/** How long a source may stand still: a quiet one moves with bookmarks alone, about once a minute. */
function patienceMs(checkpoint: PeekedCheckpoint | undefined, timing: Timing): number {
  if (!checkpoint || checkpoint.ownerAlive === false) return 0
  const listing = checkpoint.phase === 'listing' || checkpoint.phase === 'seeding'
  return checkpoint.ownerAlive || listing ? timing.standbyPatienceMs : 0
}

/** How patterns of namespaces and label selectors are read. */
export interface SelectionParts {
  /** Makes a predicate of namespace patterns. */
  matcherOf(patterns: readonly string[]): (namespace: string) => boolean
  /** Makes a predicate of a label selector; throws when it cannot be read. */
  selectorOf(selector: string): (labels: Readonly<Record<string, string>>) => boolean
}

type Test<T> = (object: T) => boolean

/** Returns whether an object's namespace and shard are those of a selection, whatever else it asks. */
function placeTest({ matcherOf }: SelectionParts, selection: Selection): Test<KnownObject | ScannedObject> {
  const { namespace, namespaces, shard } = selection
  const tests = namespaces?.map(matcherOf)
  return (object) =>
    (namespace === '' || object.namespace === namespace) &&
    (tests === undefined || tests.some((test) => test(object.namespace))) &&
    (shard === undefined || isInShard(object.uid, shard))
}

/** The same with its labels, as far as they are known. */
function labelTest(parts: SelectionParts, selection: Selection): Test<KnownObject | ScannedObject> {
  const isInPlace = placeTest(parts, selection)
  if (selection.labelSelector === '') return isInPlace
  const test = parts.selectorOf(selection.labelSelector)
  return (object) => isInPlace(object) && test(readLabels(object.labelsJson))
}

/** All of a selection, applied to a whole object. True where it is not certain. */
function selectionTest(parts: SelectionParts, selection: Selection): Test<ScannedObject> {
  const isLabelled = labelTest(parts, selection)
  const { fieldSelector } = selection
  if (fieldSelector === '') return isLabelled
  const terms = fieldSelector.split(',').map(fieldTerm)
  return (object) => isLabelled(object) && terms.every((term) => term(object))
}

/** `path=value`, `path==value`, `path!=value`. */
function fieldTerm(term: string): Test<ScannedObject> {
  const [, path = '', operator, value] = /^\s*([^!=\s]+)\s*(!=|==?)\s*(.*?)\s*$/.exec(term) ?? []
  if (operator === undefined) return () => true
  return ({ bytes }) => {
    const found = valueAt(bytes, path)
    // API servers have values of their own for some fields that an object lacks.
    return found === undefined || (found === value) === (operator !== '!=')
  }
}

function valueAt(bytes: Buffer, path: string): string | undefined {
  try {
    let it: unknown = JSON.parse(bytes.toString())
    for (const key of path.split('.')) it = (it as Record<string, unknown> | null | undefined)?.[key]
    return it === undefined || it === null ? undefined : String(it)
  } catch {
    return undefined
  }
}
