import type { Delivery } from '../../model/delivery.ts'
import type { Attempt, HistoryEvent, HistoryRecord } from '../../model/history-record.ts'
import type { Suppression } from '../../model/limit.ts'
import type { Outcome } from '../../sink/index.ts'
import { redactMessage, redactSecrets } from '../../text/redact.ts'

const MAX_NAME = 253
const MAX_DETAIL = 200
const MAX_TITLE = 120
const FIRST_ATTEMPTS = 2
const LAST_ATTEMPTS = 8
const MAX_OBJECTS = 40

/** The attempts of a delivery that are kept: the first and the last ones, and how many there were. */
export interface Attempts {
  kept: Attempt[]
  count: number
  /** Of the last one, if it succeeded: the title of the message, and an unusual way. */
  title?: string | undefined
  note?: string | undefined
}

/** Adds what a call came to; a sink that leaves a delivery for later has made no attempt. */
export function noteAttempt(
  item: { attempts?: Attempts },
  outcome: Outcome,
  {
    atMs,
    tookMs,
    title,
    renderedMs = 0,
  }: { atMs: number; tookMs: number; title?: string | undefined; renderedMs?: number | undefined },
): void {
  if (outcome.kind === 'later') return
  const error = outcome.kind === 'delivered' ? undefined : outcome.detail || outcome.reason
  const note = outcome.kind === 'delivered' ? outcome.note : undefined
  const times: Attempt = { atMs: Math.round(atMs), tookMs: Math.round(tookMs) }
  if (renderedMs >= 0.5) times.renderedMs = Math.round(renderedMs)
  const kept = item.attempts?.kept ?? []
  kept.push(error === undefined ? times : { ...times, error: detailOf(error) })
  if (kept.length > FIRST_ATTEMPTS + LAST_ATTEMPTS) kept.splice(FIRST_ATTEMPTS, 1)
  const shown = outcome.kind === 'delivered' ? title : undefined
  item.attempts = { kept, count: (item.attempts?.count ?? 0) + 1, title: shown, note }
}

/** Returns the record of a delivery; none while no history is kept. */
export type RecordOf = (item: Recorded, end: End) => HistoryRecord[]

type Recorded = { delivery: Delivery; attempts?: Attempts }
type End = { outcome: 'delivered' | 'failed' } | { outcome: 'dead'; reason: string; detail: string }

/** Records are made at the time of the clock, while `history` wants them. */
export function recordsWith(history: { isOn(): boolean } | undefined, clock: { now(): number }): RecordOf {
  if (!history) return () => []
  return ({ delivery, attempts }, end) =>
    history.isOn() ? [recordOfDelivery(delivery, attempts, end, clock.now())] : []
}

/** The record of a delivery that was delivered, given up, or failed and waits on. */
export function recordOfDelivery(
  { sink, rule, event, notice, replay, replayed }: Delivery,
  attempts: Attempts | undefined,
  end: End,
  atMs: number,
): HistoryRecord {
  const { kept = [], count = 0, title, note } = attempts ?? {}
  return {
    outcome: end.outcome,
    atMs,
    event: describe(event),
    rule,
    sinks: [sink],
    attempts: kept,
    ...(count > kept.length && { attemptCount: count }),
    ...(end.outcome === 'dead' && { reason: end.reason, detail: detailOf(end.detail) }),
    ...(end.outcome === 'delivered' &&
      title && { title: redactSecrets(title).slice(0, MAX_TITLE).toWellFormed() }),
    ...(end.outcome === 'delivered' && note !== undefined && { note }),
    ...(notice && {
      notice:
        notice.kind === 'resolved'
          ? { kind: notice.kind }
          : { kind: notice.kind, count: notice.count, objects: objectsOf(notice.items) },
    }),
    ...((replay || replayed) && { isReplay: true }),
  }
}

export function recordOfSuppressed(
  { rule, limit, sinks, event, silence, detail, untilMs }: Suppression,
  atMs: number,
): HistoryRecord {
  return {
    outcome: 'suppressed',
    atMs,
    event: describe(event),
    rule,
    sinks,
    attempts: [],
    limit,
    ...(untilMs !== undefined && { untilMs: Math.round(untilMs) }),
    ...(silence !== undefined && { silence }),
    ...(detail !== undefined && { detail: detailOf(detail) }),
  }
}

/** Texts that tenants choose are bounded; the names of Kubernetes are never longer. */
function describe({
  id,
  type,
  apiVersion,
  kind,
  namespace,
  name,
  event,
}: Suppression['event']): HistoryEvent {
  const regarding = event?.regarding
  return {
    id,
    type,
    apiVersion,
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    ...(event && { reason: bounded(event.reason) }),
    ...(regarding?.name && {
      regarding: {
        kind: bounded(regarding.kind ?? ''),
        ...(regarding.namespace && { namespace: bounded(regarding.namespace) }),
        name: bounded(regarding.name),
      },
    }),
  }
}

/** As `kind/namespace/name`, each once. */
function objectsOf(
  items: readonly {
    kind: string
    namespace?: string
    name: string
    regarding?: { kind?: string; namespace?: string; name?: string }
  }[],
): string[] {
  const objects = items.map((item) => {
    const { kind = '', namespace = '', name = '' } = item.regarding?.name ? item.regarding : item
    return [kind, namespace, name].map(bounded).join('/')
  })
  return [...new Set(objects)].slice(0, MAX_OBJECTS)
}

function bounded(text: string): string {
  return text.length > MAX_NAME ? text.slice(0, MAX_NAME).toWellFormed() : text
}

function detailOf(text: string): string {
  return redactMessage(text).slice(0, MAX_DETAIL).toWellFormed()
}
