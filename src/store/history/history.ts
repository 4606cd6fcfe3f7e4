import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import type { Attempt, HistoryEvent, HistoryRecord } from '../../model/history-record.ts'
import type { Suppression } from '../../model/limit.ts'
import type { Logger } from '../../observe/log.ts'
import type { Outcome } from '../../sink/index.ts'
import { redactMessage, redactSecrets } from '../../text/redact.ts'
import type { Transaction } from '../commit/transaction.ts'
import type { Keys } from '../keys.ts'
import { describeFault, isRefusal, type Troubles } from '../redis/redis-fault.ts'
import { packHistory } from './history-format.ts'
import { lastHistoryLoss, noteHistoryLoss } from './read-history.ts'

/** How much is kept; undefined while nothing is. */
export interface HistoryBounds {
  keepMs: number
  /** Maximum size of both streams together. */
  maxBytes: number
}

/** What one script appends: a packed entry, and the oldest entry id that is kept. */
export interface HistoryEntry {
  payload: Buffer
  oldestId: string
}

/**
 * The history of deliveries, and that of suppressed events in a stream of its own, so that many of these remove none of the others. It is
 * given up before anything else: while Redis is nearly full nothing is appended.
 */
export interface History {
  /** Whether records are wanted at the moment. */
  isOn(): boolean
  /** Packs the records of some lanes; undefined if there is nothing to append. */
  entryOf(groups: readonly (readonly HistoryRecord[])[]): HistoryEntry | undefined
  close(): void
}

interface HistoryParts {
  redis: Redis
  keys: Keys
  bounds(): HistoryBounds | undefined
  /** Redis is nearly full. */
  isFull(): boolean
  troubles: Troubles
  log: Logger
  clock: { now(): number }
}

const TRIM_MS = 5_000
/** After trimming this part of the bound is used, so that not every check trims. */
const TRIMMED_PART = 0.9
/** Trimming leaves at least this part of that. */
const LEFT_PART = 0.5
/** Number of checks after which all processes have noticed a loss. */
const RECENT_CHECKS = 3
const TROUBLE = 'history'

/**
 * The time bound is kept by the scripts that append, the bound in bytes and the expiry of the keys by a check every five seconds. The check
 * also notices that Redis lost the history.
 */
export function startHistory(parts: HistoryParts): History {
  const { redis, keys, bounds, isFull, troubles, log, clock } = parts
  /** The id of the newest entry of each stream, at the last check. */
  const seen = new Map<string, string>()

  async function trim(): Promise<void> {
    const bound = bounds()
    if (!bound || isFull()) seen.clear()
    if (!bound) {
      await redis.unlink(keys.history, keys.suppressed, keys.historyLost)
      return
    }
    let isLost = false
    for (const key of [keys.history, keys.suppressed]) {
      isLost = (await hasLost(key, bound)) || isLost
      await trimStream(redis, key, bound)
    }
    if (isLost) await noteLoss()
    troubles.over(TROUBLE)
  }

  /** Whether Redis lost what the last check saw. A bound removes the oldest entries only, and as few as it has to. */
  async function hasLost(key: string, { keepMs, maxBytes }: HistoryBounds): Promise<boolean> {
    const last = seen.get(key)
    const isThere = last !== undefined && (await redis.xrange(key, last, last)).length > 0
    const [newest] = await redis.xrevrange(key, '+', '-', 'COUNT', 1)
    if (isFull()) seen.clear()
    else if (newest) seen.set(key, newest[0])
    else seen.delete(key)
    if (last === undefined || isThere || isFull() || Number.parseInt(last, 10) < clock.now() - keepMs)
      return false
    const hasOlder = (await redis.xrange(key, '-', last, 'COUNT', 1)).length > 0
    const bytes = Number((await redis.memory('USAGE', key)) ?? 0)
    return hasOlder || bytes < (maxBytes / 2) * TRIMMED_PART * LEFT_PART
  }

  /** Another process may have deleted the history, since Redis was nearly full, or noticed the loss before. */
  async function noteLoss(): Promise<void> {
    const atMs = clock.now()
    const known = await lastHistoryLoss(redis, keys)
    if (known && known.atMs > atMs - RECENT_CHECKS * TRIM_MS) return
    await noteHistoryLoss(redis, keys, { atMs, why: 'lost' })
    log.warn({}, 'Redis lost the history: what was delivered before is not known')
  }

  const tick = () =>
    trim().catch((error) => {
      if (isRefusal(error)) troubles.note(TROUBLE, describeFault(error))
      else log.debug({ error }, 'the history was not trimmed; it is tried again')
    })
  const timer = setInterval(() => void tick(), TRIM_MS)
  timer.unref()
  const isOn = () => bounds() !== undefined && !isFull()

  return {
    isOn,
    entryOf(groups) {
      const bound = bounds()
      if (!bound || isFull() || groups.every((records) => records.length === 0)) return undefined
      return { payload: packHistory(groups), oldestId: String(Math.max(0, clock.now() - bound.keepMs)) }
    },
    close: () => clearInterval(timer),
  }
}

/** Maximum number of records of one commit; the ledger counts all of them. */
const MOST_SUPPRESSED = 200

/** Queues the records of what limits and silences of a commit suppressed. They fail nothing. */
export function writeSuppressed(
  transaction: Transaction,
  keys: Keys,
  history: Pick<History, 'entryOf'> | undefined,
  { suppressed, nowMs }: { suppressed: readonly Suppression[]; nowMs: number },
): void {
  if (!history || suppressed.length === 0) return
  const some = suppressed.slice(0, MOST_SUPPRESSED)
  const entry = history.entryOf([some.map((it) => recordOfSuppressed(it, nowMs))])
  if (entry) transaction.add('HISTORY', keys.suppressed, entry.oldestId, entry.payload)
}

async function trimStream(redis: Redis, key: string, { keepMs, maxBytes }: HistoryBounds): Promise<void> {
  const [bytes, entries] = await Promise.all([redis.memory('USAGE', key), redis.xlen(key)])
  if (bytes === null) return
  const most = maxBytes / 2
  if (bytes > most) await redis.xtrim(key, 'MAXLEN', '~', Math.floor((entries * most * TRIMMED_PART) / bytes))
  await redis.pexpire(key, keepMs)
}

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
  /** Title of the message, and a note on unusual delivery, of the last attempt if it succeeded. */
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
function recordOfDelivery(
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

function recordOfSuppressed(
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
