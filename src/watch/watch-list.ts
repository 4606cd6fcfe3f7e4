import { ApiFault, BrokenStream } from './api-fault.ts'
import { type InitialState, type ListOptions, METADATA_WATCH } from './list.ts'
import { type WatchRequest, watchStream } from './stream.ts'

/**
 * What is there now, as a stream (KEP-3157, "WatchList"): the server sends every object, then a bookmark that says so.
 * A stream that ends before that bookmark says nothing; the caller begins anew. Servers without it answer 422 or 400.
 */
export async function* streamInitialState(
  request: Omit<WatchRequest, 'query' | 'accept'>,
  { metadataOnly }: Pick<ListOptions, 'metadataOnly'>,
  signal: AbortSignal,
): InitialState {
  const query = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
  const accept = metadataOnly ? { accept: METADATA_WATCH } : {}
  for await (const batch of watchStream({ ...request, ...accept, query }, signal)) {
    // A deletion may come before the bookmark: of an object that was told just before.
    if (batch.changes.length > 0) yield batch.changes
    if (batch.initialEventsEnd) return batch.resourceVersion
  }
  throw new BrokenStream('the stream of initial events ended before it was complete')
}

/** The server refuses the request as it is; a plain list tells whether that is because of the wish for initial state. */
export function isRefused(error: unknown): error is ApiFault {
  return error instanceof ApiFault && (error.status.code === 422 || error.status.code === 400)
}

/** The server knows no WatchList: it names the parameters. */
export function isUnsupported({ status }: ApiFault): boolean {
  return /sendInitialEvents|resourceVersionMatch|WatchList/i.test(status.message)
}
