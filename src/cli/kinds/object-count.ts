import type { ClusterClient } from '../../watch/client/cluster-client.ts'

/** Lists with the metadata of objects alone, where the server can. */
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

export type Json = Readonly<Record<string, unknown>>

/** Returns the answer to a small GET; its status alone where that is not 200, or where the body is not JSON. */
export async function smallGet(
  client: ClusterClient,
  path: string,
  signal: AbortSignal,
): Promise<{ status: number; json?: Json }> {
  const { status, body } = await client.get(path, { accept: METADATA_LIST, timeoutMs: 10_000 }, signal)
  if (status !== 200) return { status }
  try {
    return { status, json: JSON.parse(body.toString()) as Json }
  } catch {
    return { status }
  }
}

export function itemsOf(list: Json): readonly Json[] {
  return Array.isArray(list['items']) ? (list['items'] as Json[]) : []
}

/**
 * Returns how many objects a list with `limit=1` is about: its own and `remainingItemCount`. Undefined where there are more and the
 * server gives no number (it may leave the number out, API concepts: "Retrieving large results sets in chunks").
 */
export function countOf(list: Json): number | undefined {
  const metadata = (list['metadata'] ?? {}) as { continue?: string; remainingItemCount?: number }
  const isWhole = (metadata.continue ?? '') === ''
  if (metadata.remainingItemCount === undefined && !isWhole) return undefined
  return itemsOf(list).length + (metadata.remainingItemCount ?? 0)
}
