import type { Source } from '../change.ts'
import { faultOf, faultOfStream } from './api-fault.ts'
import type { ClusterClient } from './cluster-client.ts'
import { collectionPath } from './list.ts'
import { NEARLY_NOTHING, shardSelectorOf } from './shards.ts'

const WATCH_SECONDS = 1
const PATIENCE_MS = 10_000
/** The type of a frame is at its beginning. */
const MOST_READ = 1_024

/**
 * Does the API server split this collection (feature gate ShardedListAndWatch, 1.36)? One that does not know the selector
 * ignores it in silence, so a list has to repeat it, and a watch must not send what is in no shard: the server splits
 * lists of a kind that it does not cache, such as Events, and not their watches. Throws ApiFault when it may not be asked.
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

/** Does a watch of next to nothing tell of objects? Where there are none, nobody can tell. */
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
