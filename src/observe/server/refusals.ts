import type { Logger } from '../log.ts'
import type { RefusalReason } from '../server-metrics.ts'

/** A request that was not served for want of rights. Never its token. */
export interface Refused {
  reason: RefusalReason
  method: string
  /** Without the query, which may have a token. */
  path: string
  peer: string
  host?: string | undefined
  origin?: string | undefined
  /** Whom the token or the proxy named. */
  who?: string | undefined
}

const EVERY_MS = 60_000
const MAX_TEXT = 200

/** Returns a function that counts each refused request, and logs the first one of a reason in a minute, with how many there were since the last line. */
export function createRefusalLog(
  count: (reason: RefusalReason) => void,
  log: Logger,
  nowMs = () => performance.now(),
): (refused: Refused) => void {
  const unlogged = new Map<RefusalReason, number>()
  const loggedMs = new Map<RefusalReason, number>()
  return ({ reason, method, path, peer, host, origin, who }) => {
    count(reason)
    const requests = (unlogged.get(reason) ?? 0) + 1
    unlogged.set(reason, requests)
    if (nowMs() - (loggedMs.get(reason) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return
    loggedMs.set(reason, nowMs())
    unlogged.set(reason, 0)
    const about = {
      ...{ reason, requests, method, path: path.slice(0, MAX_TEXT), peer },
      ...(who !== undefined && { who }),
      ...(reason === 'host' && { host: host?.slice(0, MAX_TEXT) }),
      ...(reason === 'origin' && { origin: origin?.slice(0, MAX_TEXT) }),
    }
    log.warn(about, 'a request to the API or the page was refused')
  }
}
