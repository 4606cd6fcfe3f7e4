import type { Redis } from 'ioredis'
import type { Config } from '../../config/schema.ts'
import type { Delivery } from '../../model/delivery.ts'
import { type ClusterEvent, type EventHeader, headerOf } from '../../model/event.ts'
import type { HistoryEvent, HistoryRecord } from '../../model/history-record.ts'
import type { Caller } from '../../observe/server/access.ts'
import type { Message } from '../../sink/index.ts'
import { journalExtent } from '../../store/commit/journal.ts'
import { type FoundDelivery, findDeliveries } from '../../store/history/find-deliveries.ts'
import { eventIdOf, historyTarget } from '../../store/history/history-target.ts'
import type { Keys } from '../../store/keys.ts'
import { cutText } from '../../text/redact.ts'
import type { DryRun } from '../dry-run/dry-run.ts'
import { type ExplainedRule as Explained, explainEvent, shownPreview } from '../dry-run/explanation.ts'
import { eventInJournal } from '../dry-run/journal-events.ts'
import { limitTexts } from '../dry-run/rule-texts.ts'
import type { EventStory, EventSummary, ExplainedRule, Notification, SinkLine } from './contract.ts'
import { asItem, HISTORY_BOUNDS } from './history.ts'
import { ApiError } from './routes.ts'
import { mayRead, mayReadAll, visibleDetail, visibleRecord } from './scope.ts'
import { BOUNDS, waitingSinceMs } from './story.ts'

interface EventParts {
  redis: Redis
  keys: Keys
  cluster: string
  /** Salts the hashes of Secret values. */
  salt: Buffer
  /** The configuration in force, to be evaluated without sending. */
  dryRun(): Promise<DryRun>
}

const MOST_RECORDS = 500
/** Messages that are rendered again for one answer. */
const MOST_RENDERED = 20
const MAX_TEXT = 20_000

/** Returns what became of an event at each sink, and what each rule makes of it. Throws an ApiError where nothing is known of it. */
export async function eventStoryOf(
  parts: EventParts,
  id: string,
  caller: Pick<Caller, 'namespaces'>,
  signal: AbortSignal,
): Promise<EventStory> {
  const target = historyTarget(eventIdOf(id))
  if (target?.id === undefined)
    throw new ApiError(400, 'is not an id of an event: CLUSTER/UID/RESOURCEVERSION/TYPE, its slashes as %2F')
  const found = await findDeliveries(parts, target, () => true, {
    ...BOUNDS,
    records: MOST_RECORDS,
    history: HISTORY_BOUNDS,
    objects: MOST_RENDERED,
  })
  const records = found.records.flatMap((it) => visibleRecord(caller, it) ?? [])
  const waiting = found.waiting.filter(({ delivery }) => mayRead(caller, delivery.event))
  const letters = found.letters.filter(({ delivery }) => mayRead(caller, delivery.event))
  const stored = waiting[0]?.delivery ?? letters[0]?.delivery
  // The journal is searched for any id only for those who may read all of it: that takes long.
  if (!stored && records.length === 0 && caller.namespaces) throw new ApiError(404, NOTHING_KNOWN)
  const run = await parts.dryRun()
  const journal = await eventInJournal(parts, target.id, run.snapshot, {
    aboutMs: stored && Date.parse(stored.event.time),
    untilMs: firstAttemptMs(records) ?? letters[0]?.atMs,
    signal,
  })
  const event = journal.event && mayRead(caller, journal.event) ? journal.event : undefined
  const header = event ? headerOf(event) : stored?.event
  const changes = header?.changes ?? stored?.event.changes
  // Rules that compare it with the object before would not match.
  const lacksPrevious = event && !journal.isComplete && run.snapshot.readsPrevious(event.resource)
  const summary = header ? summaryOf(header) : records[0] && { ...records[0].event, id: target.id }
  if (!summary) throw new ApiError(404, NOTHING_KNOWN)
  const lines: SinkLine[] = [
    ...waiting.map(({ lane, sink, isQuarantined, delivery }) => ({
      sink,
      rule: delivery.rule,
      outcome: 'waiting' as const,
      atMs: waitingSinceMs(delivery),
      attempts: [],
      attemptCount: 0,
      waiting: { lane, quarantine: isQuarantined },
      ...(delivery.replay && { isReplay: true as const }),
    })),
    ...records.flatMap(linesOf),
  ]
  for (const { id: deadLetterId, sink, rule, reason, detail, atMs, delivery } of letters) {
    const line = lines.find(
      (it) => it.outcome === 'dead' && it.sink === sink && it.rule === rule && !it.deadLetterId,
    )
    if (line) line.deadLetterId = deadLetterId
    else
      lines.push({
        sink,
        rule,
        outcome: 'dead',
        atMs,
        attempts: [],
        attemptCount: 0,
        reason,
        ...(mayReadAll(caller, delivery) && { detail: visibleDetail(caller, detail) }),
        deadLetterId,
      })
  }
  const observedMs = header ? Date.parse(header.time) : undefined
  const deliveryOf = deliveryFinder(header, event, [
    ...waiting.map(({ delivery }) => delivery),
    ...letters.map(({ delivery }) => delivery),
  ])
  let rendered = 0
  for (const line of lines) {
    if (observedMs !== undefined && line.outcome !== 'suppressed') line.enqueuedMs = observedMs
    const delivery =
      rendered < MOST_RENDERED && !(line.notice && line.outcome !== 'waiting') && deliveryOf(line)
    const notification = delivery && mayReadAll(caller, delivery) && notificationOf(run, delivery)
    if (!notification) continue
    line.notification = notification
    rendered++
  }
  return {
    id: target.id,
    event: summary,
    sinks: lines,
    isComplete: found.isComplete,
    ...(observedMs !== undefined && { observedMs }),
    ...(header?.event && { message: cutText(header.event.message, MAX_TEXT) }),
    ...(changes && { changes: changes.map((it) => ({ ...it })) }),
    ...(event && !lacksPrevious
      ? { rules: explained(run, event, records, caller) }
      : { rulesMissing: await whyNoRules(parts, journal) }),
  }
}

const NOTHING_KNOWN = 'nothing is known of this event: it is in no lane, and not in the history'

/** When an event was attempted or suppressed first, as far as that is recorded. */
function firstAttemptMs(records: readonly HistoryRecord[]): number | undefined {
  const oldest = records.at(-1)
  return oldest?.attempts[0]?.atMs ?? oldest?.atMs
}

function linesOf(record: HistoryRecord): SinkLine[] {
  const { event: _, sinks, attemptCount, ...rest } = asItem(record)
  const count = Math.max(attemptCount ?? 0, rest.attempts.length)
  return sinks.map((sink) => ({ sink, ...rest, attemptCount: count }))
}

function summaryOf({ id, type, apiVersion, kind, namespace, name, event }: EventHeader): EventSummary {
  const { kind: ofKind, name: named, namespace: inNamespace } = event?.regarding ?? {}
  const about: Pick<HistoryEvent, 'reason' | 'regarding'> = {
    ...(event && { reason: event.reason }),
    ...(ofKind &&
      named && { regarding: { kind: ofKind, ...(inNamespace && { namespace: inNamespace }), name: named } }),
  }
  return {
    id: eventIdOf(id),
    type,
    apiVersion,
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    ...about,
  }
}

/** Returns the delivery of a line as it is stored, or as it was made from the event of the journal. */
function deliveryFinder(
  header: EventHeader | undefined,
  event: ClusterEvent | undefined,
  found: readonly FoundDelivery[],
) {
  const stored = found.filter((it): it is Delivery => it.objectJson !== undefined)
  return ({ sink, rule }: Pick<SinkLine, 'sink' | 'rule'>): Delivery | undefined => {
    const own = stored.find((it) => it.sink === sink && it.rule === rule)
    if (own || !header) return own
    const objectJson = event?.objectJson ?? stored[0]?.objectJson
    return objectJson && { sink, rule, event: header, objectJson }
  }
}

/** A message that cannot be rendered any more, such as one of a removed sink, is left out. */
function notificationOf({ snapshot, messageOf }: DryRun, delivery: Delivery): Notification | undefined {
  if (!snapshot.config.sinks.some(({ name }) => name === delivery.sink)) return undefined
  try {
    const message = messageOf(delivery, Date.now())
    const { target, body } = shownPreview({ snapshot }, message, delivery.sink)
    return {
      ...contentOf(message, (text) => snapshot.choices.plainOf(text, delivery.sink)),
      ...(target !== undefined && { target }),
      ...(body !== undefined && { body: cut(body) }),
    }
  } catch {
    return undefined
  }
}

function contentOf({ content }: Message, plain: (text: string) => string): Notification {
  const { severity, title, text, fields, links, quote, command, changes } = content
  return {
    severity,
    title: plain(cut(title)),
    text: plain(cut(text)),
    quote: cut(quote),
    command: cut(command),
    fields: fields.map((it) => ({ title: plain(cut(it.title)), value: plain(cut(it.value)) })),
    links: links.map((it) => ({ title: plain(cut(it.title)), url: cut(it.url) })),
    changes: changes.map((it) => ({ ...it })),
  }
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1).toWellFormed()}…` : text
}

/** The conditions whose values in a rule name no objects, namespaces or teams. */
const NAMES_NOTHING: ReadonlySet<string> = new Set([
  ...['kind', 'regarding.kind', 'type', 'reason', 'synthesized', 'age', 'changed', 'unchanged', 'condition'],
])

/**
 * Returns what each rule makes of an event now. The states of its limits are not those of that time, so the history decides on
 * what was sent and suppressed. Conditions may name what is of other namespaces, so a caller with namespaces gets only rules
 * that match, without the values that such conditions have in the rule.
 */
function explained(
  run: DryRun,
  event: ClusterEvent,
  records: readonly HistoryRecord[],
  { namespaces }: Pick<Caller, 'namespaces'>,
): ExplainedRule[] {
  run.forget()
  const { rules } = explainEvent(run, event, Date.parse(event.time))
  const shown = namespaces ? rules.filter(({ verdict }) => verdict === 'matches') : rules
  return shown.map(({ rule, place, verdict, conditions, config, result }) => ({
    rule,
    verdict,
    ...(place !== undefined && !namespaces && { place }),
    conditions: conditions.map(({ name, expected, seen, holds, error }) => ({
      name,
      ...((!namespaces || NAMES_NOTHING.has(name)) && { expected, ...(error !== undefined && { error }) }),
      seen: seen === undefined ? null : cut(seen),
      holds,
    })),
    limits: limitTexts(config as Config['rules'][number]),
    ...(result && {
      result: resultOf(
        result,
        records.filter((it) => it.rule === rule),
      ),
    }),
  }))
}

function resultOf(
  { outcome, sinks, limit, error }: NonNullable<Explained['result']>,
  records: readonly HistoryRecord[],
): NonNullable<ExplainedRule['result']> {
  const suppressed = records.find((it) => it.outcome === 'suppressed')
  const isSent = records.some((it) => it.outcome !== 'suppressed' && !it.notice)
  if (isSent) return { outcome: 'sent', sinks: [...sinks] }
  if (suppressed)
    return { outcome: 'suppressed', sinks: [...sinks], ...(suppressed.limit && { limit: suppressed.limit }) }
  return { outcome, sinks: [...sinks], ...(limit && { limit }), ...(error !== undefined && { error }) }
}

async function whyNoRules(
  { redis, keys }: EventParts,
  { event, isComplete }: { event: unknown; isComplete: boolean },
): Promise<string> {
  const { oldestMs } = await journalExtent(redis, keys)
  if (oldestMs === undefined)
    return 'there is no journal: with "journal: { keep: 24h }" in the configuration, rules are explained for events from then on'
  if (event && !isComplete)
    return 'the journal is long, and the object before this event, which rules compare it with, was not found in it in time'
  if (!isComplete) return 'the journal is long, and this event was not found in it in time'
  return `the journal, which begins at ${new Date(oldestMs).toISOString()}, does not have this event`
}
