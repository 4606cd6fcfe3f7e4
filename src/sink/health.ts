import type { Outcome } from './outcome.ts'
import type { Health } from './sink.ts'

/** What the outcome of a question, such as a GET, says of the peer. */
export function healthOf(outcome: Outcome): Health {
  if (outcome.kind === 'delivered' || outcome.kind === 'later') return { ok: true }
  return { ok: false, reason: outcome.reason, detail: outcome.detail }
}
