import { setTimeout as pause } from 'node:timers/promises'
import type { DryRun } from '../../app/dry-run/dry-run.ts'
import { watchedKindOf } from '../../config/lint/watched-kind.ts'
import type { Source, Transition } from '../../model/change.ts'
import type { Delivery } from '../../model/delivery.ts'
import { type ClusterEvent, headerOf } from '../../model/event.ts'
import { compileKinds, type KindNames, type KindTest } from '../../rules/kind.ts'
import { enqueueCurrent } from '../../store/lanes/enqueue-again.ts'
import { readSalt } from '../../store/redis/layout.ts'
import { readHash } from '../../store/redis/scan.ts'
import type { WatchManager } from '../../watch/reflector/manager.ts'
import { startWatchesInMemory } from '../dry-run/watches-in-memory.ts'
import type { DryConfiguration } from '../load-config/configuration.ts'
import type { OpenQueue } from '../queue/open-queue.ts'
import { UsageError } from '../usage-error.ts'
import type { Pacer } from './paced.ts'

interface SnapshotParts {
  configuration: DryConfiguration
  run: DryRun
  queue: OpenQueue
  context: string | undefined
  sink: string
  rule: string | undefined
  /** Which of the watched kinds. */
  isKind: KindTest
  signal: AbortSignal
}

/** What a snapshot comes to: objects that were read, and those that rules send. */
interface SnapshotCounts {
  objects: number
  matched: number
  /** Matched, but only rules with limits send them: these are about events, not states. */
  limited: number
}

/** The state of an object, and the sources that may have it in their index. */
export type States = WeakMap<Delivery, readonly string[]>

/** Lists what is watched, page by page, and adds what rules send to the sink: as ADDED, synthesized, marked `replayed`. */
export async function addPresentStates(
  { configuration, run, queue, context, sink, rule, isKind, signal }: SnapshotParts,
  pacer: Pick<Pacer, 'add'>,
  states: States,
): Promise<SnapshotCounts> {
  const { config } = configuration
  const { snapshot } = run
  const salt = await readSalt(queue.redis, queue.keys)
  const stored = [...(await readHash(queue.redis, queue.keys.sources)).keys()]
  const counts = { objects: 0, matched: 0, limited: 0 }

  async function addStates(
    source: Source,
    transitions: readonly Transition[],
    eventOf: (transition: Transition) => ClusterEvent,
  ): Promise<void> {
    if (!isState(source.resource) || !isKind(source.resource)) return
    const sources = sourcesLike(source.key, stored)
    for (const transition of transitions) {
      // What changes while it lists comes to the sink by itself.
      if (signal.aborted || transition.type !== 'ADDED' || !transition.synthesized) continue
      counts.objects++
      const event = eventOf(transition)
      const { sends, limited } = snapshot.match(event)
      const send = sends.find((it) => it.sink === sink && (rule ?? it.rule) === it.rule)
      if (!send) {
        if (limited.some((it) => it.sinks.includes(sink) && (rule ?? it.rule) === it.rule)) counts.limited++
        continue
      }
      counts.matched++
      const releasedAt = new Date().toISOString()
      const { objectJson } = event
      const delivery: Delivery = {
        sink,
        rule: send.rule,
        event: headerOf(event),
        objectJson,
        replayed: true,
        releasedAt,
      }
      states.set(delivery, sources)
      await pacer.add(delivery)
    }
  }

  await using inMemory = startWatchesInMemory({
    config,
    context,
    cluster: queue.cluster,
    salt,
    snapshot,
    keepsPrevious: () => false,
    onTransitions: addStates,
  })
  const { watches } = inMemory
  const entries = config.watch.filter(({ kind }) => mayHaveStates(kind, isKind))
  watches.apply(entries.map(({ verify: _, ...entry }) => ({ ...entry, initial: 'emit' as const })))
  if (entries.length > 0) await listed(watches, signal)
  return counts
}

/** Returns a test of kinds for `--kind`: all of them without it. Throws UsageError. */
export function kindTestOf(kind: string | undefined): KindTest {
  const kinds = kind === undefined ? undefined : compileKinds(kind)
  if (kinds && !kinds.ok)
    throw new UsageError(`--kind ${kind}: ${kinds.faults[0]?.message ?? 'is not a kind'}`)
  return kinds?.value ?? (() => true)
}

/** An Event is not a state: its time is over. */
function isState({ group, kind }: Pick<KindNames, 'group' | 'kind'>): boolean {
  return kind !== 'Event' || !['', 'events.k8s.io'].includes(group)
}

/** False only where it is certain: of a custom resource the kind is known when it was found. */
function mayHaveStates(spelling: string, isKind: KindTest): boolean {
  const builtIn = watchedKindOf(spelling)?.builtIn ?? []
  return builtIn.length === 0 || builtIn.some((it) => isState(it) && isKind({ ...it, version: '' }))
}

/** A watch may be split into parts here and not there, or into others. */
function sourcesLike(key: string, stored: readonly string[]): string[] {
  const whole = key.replace(/\.\d+of\d+$/, '')
  return stored.filter(
    (it) => it === whole || (it.startsWith(`${whole}.`) && /^\d+of\d+$/.test(it.slice(whole.length + 1))),
  )
}

const LOOK_MS = 50
const PATIENCE_MS = 20_000

/** Waits until all watches have listed. Throws if one of them cannot. */
async function listed(watches: Pick<WatchManager, 'statuses'>, signal: AbortSignal): Promise<void> {
  const startMs = performance.now()
  while (!signal.aborted) {
    const statuses = watches.statuses()
    const isLate = performance.now() - startMs > PATIENCE_MS
    const failed = statuses.find(
      ({ phase, ready, lastError }) =>
        (!ready && phase === 'failing') ||
        ((!ready || phase === 'waiting-for-kind') &&
          isLate &&
          phase !== 'listing' &&
          lastError !== undefined),
    )
    if (failed) throw new Error(`${failed.title} cannot be read: ${failed.lastError ?? 'unknown'}`)
    const isDone = statuses.every(({ phase, ready, lastError }) =>
      phase === 'waiting-for-kind'
        ? lastError === undefined
        : ready && phase !== 'listing' && phase !== 'resolving',
    )
    if (statuses.length > 0 && isDone) return
    await pause(LOOK_MS, undefined, { signal }).catch(() => {})
  }
}

/** Enqueues a portion of states; those of which a newer one is on its way are left out. */
export function enqueueStates(
  { redis, keys }: OpenQueue,
  { sink, laneOf, states }: { sink: string; laneOf(delivery: Delivery): string; states: States },
): (portion: readonly Delivery[]) => Promise<number> {
  return (portion) =>
    enqueueCurrent(
      redis,
      keys,
      sink,
      portion.map((delivery) => ({ lane: laneOf(delivery), delivery, sources: states.get(delivery) ?? [] })),
    )
}
