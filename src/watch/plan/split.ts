import type { SourceStore } from '../change.ts'
import type { Logger } from '../log.ts'
import { ApiFault } from './api-fault.ts'
import type { ClusterClient } from './cluster-client.ts'
import type { PlannedSource, WatchPlan } from './plan.ts'
import { offersShards } from './shard-offer.ts'
import { shardTitle } from './shards.ts'

export interface SplitterParts {
  client: ClusterClient
  store: Pick<SourceStore, 'splits'>
  log: Logger
}

/** A source for each shard that its entry asks for. */
export function shardsOf(source: PlannedSource): PlannedSource[] {
  const { shards: of = 1, ...whole } = source
  if (of === 1) return [whole]
  return Array.from({ length: of }, (_, index) => ({
    ...whole,
    shard: { index, of },
    key: `${whole.key}.${index + 1}of${of}`,
    title: `${whole.title} (shard ${shardTitle({ index, of })})`,
  }))
}

/**
 * Splits what is to be watched in shards, where the server does so. It is decided once for a watch and a number, in Redis and
 * so for all processes: shards and the whole are different sources, and to change from one to the other takes a list.
 */
export function createSplitter({ client, store, log }: SplitterParts) {
  const settled = new Map<string, 'shards' | 'whole'>()

  async function choose(source: PlannedSource, signal: AbortSignal): Promise<'shards' | 'whole'> {
    const { shards: of = 1, key, title } = source
    const name = `${key}.${of}`
    const known = settled.get(name)
    if (known) return known
    const stored = await store.splits.get(name, signal)
    const offer = offersShards(client, source, of, signal)
    const tell = (choice: 'shards' | 'whole', offered: boolean) => {
      const message = messageOf(choice, offered)
      if (message) log.warn({ watch: title, shards: of }, message)
    }
    // What is decided waits for nobody.
    if (stored) void offer.then((offered) => tell(stored, offered)).catch(() => {})
    const choice = stored ?? (await store.splits.settle(name, (await offer) ? 'shards' : 'whole', signal))
    if (!stored) tell(choice, await offer)
    settled.set(name, choice)
    return choice
  }

  async function sourcesOf(
    source: PlannedSource,
    undecided: WatchPlan['undecided'],
    signal: AbortSignal,
  ): Promise<PlannedSource[]> {
    if (source.shards === undefined) return [source]
    try {
      const { shards: _, ...whole } = source
      return (await choose(source, signal)) === 'shards' ? shardsOf(source) : [whole]
    } catch (error) {
      if (!(error instanceof ApiFault)) throw error
      undecided.push({ title: source.title, message: error.message })
      return []
    }
  }

  return async (plan: WatchPlan, signal: AbortSignal): Promise<WatchPlan> => {
    const undecided: WatchPlan['undecided'] = []
    const sources = await Promise.all(plan.sources.map((it) => sourcesOf(it, undecided, signal)))
    return { ...plan, sources: sources.flat(), undecided }
  }
}

function messageOf(choice: 'shards' | 'whole', offered: boolean): string | undefined {
  if (choice === 'shards')
    return offered
      ? undefined
      : 'the API server does not split this watch any more: each shard reads all of it and passes over the rest'
  return offered
    ? 'the API server could split this watch by now; it goes on in one: with another number of "shards" it is asked again'
    : 'the API server does not split this watch (feature gate ShardedListAndWatch): it goes on in one'
}
