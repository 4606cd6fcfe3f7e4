import { createLogLimit, type Logger } from '../log.ts'
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

const MAX_TEXT = 200

/** Returns a function that counts each refused request, and logs the first one of a reason in a minute, with how many there were since the last line. */
export function createRefusalLog(
  count: (reason: RefusalReason) => void,
  log: Logger,
  nowMs?: () => number,
): (refused: Refused) => void {
  const limit = createLogLimit(nowMs)
  return ({ reason, method, path, peer, host, origin, who }) => {
    count(reason)
    const requests = limit(reason)
    if (requests === undefined) return
    const about = {
      reason,
      requests,
      method,
      path: path.slice(0, MAX_TEXT),
      peer,
      ...(who !== undefined && { who }),
      ...(reason === 'host' && { host: host?.slice(0, MAX_TEXT) }),
      ...(reason === 'origin' && { origin: origin?.slice(0, MAX_TEXT) }),
    }
    log.warn(about, 'a request to the API or the page was refused')
  }
}
