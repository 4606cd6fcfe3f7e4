import type { Source, SourceStore } from '../../model/change.ts'
import type { Logger } from '../../observe/log.ts'
import { redactMessage } from '../../text/redact.ts'
import { ApiFault, faultOf, faultOfStream } from '../client/api-fault.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { collectionPath } from '../list/list.ts'
import type { PlannedSource, WatchPlan } from './plan.ts'
import { NEARLY_NOTHING, shardSelectorOf, shardTitle } from './shards.ts'

interface SplitterParts {
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
    const warn = (choice: 'shards' | 'whole', offered: boolean) => {
      const message = messageOf(choice, offered)
      if (message) log.warn({ watch: title, shards: of }, message)
    }
    // What is decided waits for nobody.
    if (stored) void offer.then((offered) => warn(stored, offered)).catch(() => {})
    const choice = stored ?? (await store.splits.settle(name, (await offer) ? 'shards' : 'whole', signal))
    if (!stored) warn(choice, await offer)
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
      undecided.push({ source, message: redactMessage(error.message) })
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

const WATCH_SECONDS = 1
const PATIENCE_MS = 10_000
/** The type of a frame is at its beginning. */
const MOST_READ = 1_024

/**
 * Returns true if the API server splits this collection (feature gate ShardedListAndWatch, 1.36). One that does not know the selector
 * ignores it in silence, so a list has to repeat it, and a watch must not send what is in no shard: the server splits lists of a kind
 * that it does not cache, such as Events, and not their watches. Throws ApiFault when it may not be asked.
 */
export async function offersShards(
  client: ClusterClient,
  source: Omit<Source, 'shard'>,
  of: number,
  signal: AbortSignal,
): Promise<boolean> {
  const shardSelector = shardSelectorOf({ index: 0, of })
  const list = await client.get(
    collectionPath(source, { limit: '1', shardSelector }),
    { timeoutMs: PATIENCE_MS },
    signal,
  )
  if (list.status !== 200) throw faultOf(list)
  if (echoOf(list.body) !== shardSelector) return false
  return !(await watchIsWhole(client, source, signal))
}

function echoOf(body: Buffer): string | undefined {
  const { metadata } = JSON.parse(body.toString()) as { metadata?: { shardInfo?: { selector?: string } } }
  return metadata?.shardInfo?.selector
}

/** Returns true if a watch of next to nothing sends objects. In a collection without objects it never does. */
async function watchIsWhole(
  client: ClusterClient,
  source: Omit<Source, 'shard'>,
  signal: AbortSignal,
): Promise<boolean> {
  const query = {
    watch: 'true',
    resourceVersion: '0',
    timeoutSeconds: String(WATCH_SECONDS),
    shardSelector: NEARLY_NOTHING,
  }
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)])
  const { status, headers, body } = await client.stream(collectionPath(source, query), {}, deadline)
  try {
    if (status !== 200) throw await faultOfStream({ status, headers, body })
    let beginning: Buffer = Buffer.alloc(0)
    for await (const chunk of body as AsyncIterable<Buffer>) {
      beginning = Buffer.concat([beginning, chunk])
      if (beginning.includes('\n') || beginning.length > MOST_READ) break
    }
    return beginning.includes('"type":"ADDED"')
  } finally {
    body.destroy()
  }
}
