import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { ApiCall } from '../../observe/server/site.ts'
import type { StreamQuery } from './contract.ts'
import { filterKey, recordFilter } from './history.ts'
import { visibleRecord } from './scope.ts'
import type { Accepts } from './stream-messages.ts'

/** Time after which a client that reads nothing is disconnected. */
const CUT_MS = 30_000
const LOOK_MS = 50

export interface Client {
  response: ServerResponse
  /** Clients with the same get the same bytes. */
  key: string
  accepts: Accepts
  isStillAllowed(): boolean
  /** False while it resumes: it does not get what is written meanwhile. */
  isLive: boolean
  skipped: number
  /** Since when too much is unread, or the client has last read any of it. */
  fullMs?: number | undefined
  /** Bytes that were unread at the last check. */
  unreadBytes: number
}

export function clientOf({ response, caller, isStillAllowed }: ApiCall, query: StreamQuery): Client {
  const wanted = recordFilter(query)
  return {
    response,
    isStillAllowed,
    isLive: false,
    skipped: 0,
    unreadBytes: 0,
    key: JSON.stringify([filterKey(query), caller.namespaces]),
    accepts(record) {
      const visible = visibleRecord(caller, record)
      return visible && wanted(visible) ? visible : undefined
    },
  }
}

/** Whether a client of which too much is unread has read nothing for long. */
export function isStuck(client: Client, nowMs: number): boolean {
  const unreadBytes = client.response.writableLength
  if (client.fullMs !== undefined && unreadBytes < client.unreadBytes) client.fullMs = nowMs
  client.unreadBytes = unreadBytes
  return unreadBytes > 0 && client.fullMs !== undefined && nowMs - client.fullMs > CUT_MS
}

/** Resolves when less than some bytes are unread, or the client is gone: one that reads nothing for long is cut off. */
export async function drained(client: Client, bytes: number, gone: AbortSignal): Promise<void> {
  const { response } = client
  while (!gone.aborted && response.writableLength >= bytes) {
    client.fullMs ??= performance.now()
    // Node reports with `drain` that all is read, but only if more than its own limit was unread.
    const read = response.writableNeedDrain
      ? once(response, 'drain', { signal: gone })
      : pause(LOOK_MS, undefined, { signal: gone })
    await read.catch(() => {})
  }
  client.fullMs = undefined
}
