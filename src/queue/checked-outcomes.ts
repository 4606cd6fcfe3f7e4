import { cutText } from '../redact.ts'
import { NOTES, type Outcome, REASONS, type Reason, SCOPES } from '../sink/outcome.ts'

const isReason = isOneOf(REASONS)
const isScope = isOneOf(SCOPES)
const isNote = isOneOf(NOTES)
/** Nothing waits longer without being asked again, whatever a sink says. */
const MAX_PAUSE_MS = 3_600_000
/** Of one that asks for a pause without saying how long. */
const PAUSE_MS = 1_000

/** Makes of whatever a sink answered one good outcome per message: what cannot be used must not keep the rest from counting. */
export function checkedOutcomes(answer: unknown, length: number): Outcome[] {
  const outcomes: unknown[] = Array.isArray(answer) ? answer : []
  return Array.from({ length }, (_, i) => {
    try {
      return checked(outcomes[i]) ?? failure('unknown', 'the sink gave no outcome for this message')
    } catch {
      return failure('unknown', 'the sink gave an outcome that cannot be read')
    }
  })
}

/** A retry that is the sink's fault as a whole. */
export function failure(reason: Reason, detail: string): Outcome {
  return { kind: 'retry', reason, detail: cutText(detail), scope: 'sink' }
}

function checked(outcome: unknown): Outcome | undefined {
  const { kind, note, reason, detail, scope, afterMs, ambiguous } = (outcome ?? {}) as Record<string, unknown>
  const why = {
    reason: isReason(reason) ? reason : ('unknown' as const),
    detail: typeof detail === 'string' ? cutText(detail) : '',
  }
  const pauseMs = typeof afterMs === 'number' && afterMs >= 0 ? Math.min(afterMs, MAX_PAUSE_MS) : undefined
  if (kind === 'delivered') return isNote(note) ? { kind, note } : { kind }
  if (kind === 'later') return { kind, afterMs: pauseMs ?? PAUSE_MS }
  if (kind === 'rejected') return { kind, ...why }
  if (kind !== 'retry') return undefined
  return {
    kind,
    ...why,
    scope: isScope(scope) ? scope : 'sink',
    ...(pauseMs !== undefined && { afterMs: pauseMs }),
    ...(ambiguous === true && { ambiguous }),
  }
}

function isOneOf<const T extends string>(closed: readonly T[]): (value: unknown) => value is T {
  const known = new Set<unknown>(closed)
  return (value): value is T => known.has(value)
}
