import { randomBytes } from 'node:crypto'
import { createDryRun } from '../../app/dry-run/dry-run.ts'
import { type Explanation, explainEvent, explainJson } from '../../app/dry-run/explanation.ts'
import { replayOf } from '../../app/dry-run/journal-events.ts'
import { isWatched } from '../../app/dry-run/match-report.ts'
import type { ClusterEvent, EventHeader } from '../../model/event.ts'
import type { HistoryRecord } from '../../model/history-record.ts'
import { createSilences } from '../../rules/silences/silences.ts'
import { journalExtent } from '../../store/commit/journal.ts'
import { listSilences } from '../../store/control/silences.ts'
import {
  type FoundDeliveries,
  type FoundLetter,
  findDeliveries,
  newestOf,
  type WaitingDelivery,
} from '../../store/history/find-deliveries.ts'
import {
  eventIdOf,
  type HistoryTarget,
  isAboutTarget,
  isOf,
  type Sent,
} from '../../store/history/history-target.ts'
import { objectTitle } from '../../text/object-title.ts'
import { printable } from '../../text/printable.ts'
import { counted, duration } from '../../text/quantities.ts'
import { invocation } from '../environment.ts'
import type { PluginOptions } from '../load-config/configuration.ts'
import { readDryConfiguration } from '../load-config/configuration.ts'
import { outputPaint, type Paint } from '../output/colour.ts'
import { dataText, type OutputOptions, table } from '../output/format.ts'
import { describeEvent, describeObject, describeOutcome, nothing, timeOf } from '../queue/history.ts'
import { type OpenQueue, openQueue, type QueueOptions } from '../queue/open-queue.ts'
import { pastTarget } from '../queue/past-target.ts'
import { requireRuleAndSink } from '../usage-error.ts'
import { explainText } from './explain-text.ts'

interface WhyOptions extends QueueOptions, PluginOptions, OutputOptions {
  sink?: string
  rule?: string
}

/** Prints what became of an event, or of the newest one of an object, at each sink, and the result of each rule. */
export async function why(text: string, options: WhyOptions): Promise<number> {
  const target = pastTarget(text)
  const configuration = await readDryConfiguration(options.config, options)
  requireRuleAndSink(options, configuration.config)
  await using queue = await openQueue(options)
  const print = (it: string) => void process.stdout.write(configuration.hide(it))
  const silences = createSilences(await listSilences(queue.redis, queue.keys))
  const run = await createDryRun({ ...configuration, silences })
  const found = await findDeliveries(
    queue,
    target,
    ({ sink, rule }) => (options.sink ?? sink) === sink && (options.rule ?? rule) === rule,
  )
  const { waiting, letters, isComplete } = found
  const records = found.records.filter(
    (it) =>
      (options.sink === undefined || it.sinks.includes(options.sink)) &&
      (options.rule === undefined || it.rule === options.rule),
  )
  const recorded = newestOf(found)
  const replayed = await explainFromJournal(queue, run, target, recorded?.id)
  const { id, explained } = subjectOf(target, recorded, replayed)
  const isOfEvent = ({ delivery }: Pick<WaitingDelivery, 'delivery'>) =>
    id === undefined || isOf(id, delivery)
  const shown = records.filter((it) => id === undefined || isOf(id, it))
  if (options.output !== 'table') {
    const pending = waiting.map(({ sink, delivery, isQuarantined }) => ({
      sink,
      rule: delivery.rule,
      event: delivery.event.id,
      isQuarantined,
      observedAt: delivery.event.time,
    }))
    const dead = letters.map(({ id, sink, rule, reason, detail, atMs, delivery }) => ({
      id,
      sink,
      rule,
      event: delivery.event.id,
      reason,
      detail,
      atMs,
    }))
    const rules = explained && explainJson(run, explained)
    print(
      dataText(
        { id, history: shown, waiting: pending, waitingIsComplete: isComplete, deadLetters: dead, rules },
        options.output,
      ),
    )
    return 0
  }
  const paint = outputPaint()
  if (records.length === 0 && waiting.length === 0 && letters.length === 0)
    print(await nothing(queue, text, options))
  const others = {
    last: records.filter((it) => recorded && recorded.id !== id && isOf(recorded.id, it)),
    waiting: waiting.filter((it) => !isOfEvent(it)),
    letters: letters.filter((it) => !isOfEvent(it)),
  }
  print(headText(shown, [...waiting, ...letters].find(isOfEvent), paint))
  print(historyText(shown))
  print(waitingText(waiting.filter(isOfEvent), isComplete))
  print(lettersText(letters.filter(isOfEvent)))
  print(othersText(others, paint))
  print(explained ? `\n${explainText(run, explained, { ...options, paint })}` : await noJournal(queue, text))
  return 0
}

interface FromJournal {
  /** Explanation of the newest event about the target. */
  newest?: Explanation
  /** Explanation of the event with the id. */
  recorded?: Explanation
}

/** Replays the journal up to the event, so that limits are as they were, as far as the journal goes back; for an object, to its end. */
async function explainFromJournal(
  queue: OpenQueue,
  run: Awaited<ReturnType<typeof createDryRun>>,
  target: HistoryTarget,
  id = target.id,
): Promise<FromJournal> {
  const found: FromJournal = {}
  // The journal has events, and not what limits emitted for them.
  const ofEvent = target.id === undefined ? target : { ...target, id: eventIdOf(target.id) }
  const events = replayOf(queue, {
    sinceMs: 0,
    cluster: queue.cluster,
    salt: randomBytes(16),
    named: (resource) => run.snapshot.named(resource),
    inTemplates: run.snapshot.needs.inTemplates,
  })
  for await (const event of events) {
    const atMs = Date.parse(event.time)
    run.advance(atMs)
    if (isAboutTarget(ofEvent, plain(event))) {
      found.newest = explainEvent(run, event, atMs)
      if (id !== undefined && isOf(id, { event })) found.recorded = found.newest
    } else if (isWatched(run.snapshot.config, event)) run.evaluate(event, atMs)
    if (found.newest && target.id !== undefined) break
  }
  return found
}

/** The event that the answer is about: of an object the newest one, which only the journal has if no rule matched it. */
function subjectOf(
  target: HistoryTarget,
  last: { id: string; atMs: number } | undefined,
  { newest, recorded }: FromJournal,
): { id: string | undefined; explained: Explanation | undefined } {
  if (target.id !== undefined) return { id: target.id, explained: newest }
  const isLater = newest && (!last || recorded || Date.parse(newest.event.time) > last.atMs)
  return isLater ? { id: newest.event.id, explained: newest } : { id: last?.id, explained: recorded }
}

const plain = ({ id, kind, namespace, name, uid, event }: ClusterEvent): Sent['event'] => ({
  id,
  kind,
  name,
  uid,
  ...(namespace !== undefined && { namespace }),
  ...(event && { event: { regarding: event.regarding } }),
})

/** Names the event that the lines below it are about. */
function headText(
  [record]: readonly HistoryRecord[],
  stored: Pick<WaitingDelivery, 'delivery'> | undefined,
  paint: Paint,
): string {
  const event = stored?.delivery.event
  const id = record?.event.id ?? event?.id
  if (id === undefined) return ''
  const head = record
    ? `${describeEvent(record)} of ${describeObject(record)}`
    : event && `${event.event?.reason ?? event.type} of ${objectTitle(regardedBy(event))}`
  return `${paint('bold', printable(head ?? ''))}  ${printable(id)}\n`
}

/** The object that an Event regards; another object itself. */
function regardedBy(event: EventHeader): Parameters<typeof objectTitle>[0] {
  const { kind, name, namespace } = event.event?.regarding ?? {}
  return kind && name ? { kind, name, namespace } : event
}

function historyText(records: readonly HistoryRecord[]): string {
  const rows = records.map((it) => {
    const title = it.title === undefined ? '' : `"${it.title}"`
    return [`  ${it.sinks.join(',')}`, it.rule, describeOutcome(it), timeOf(it.atMs), title]
  })
  return rows.length > 0 ? table(rows) : ''
}

function waitingText(waiting: readonly WaitingDelivery[], isComplete: boolean): string {
  const rows = waiting.map(({ sink, delivery: { rule, event }, isQuarantined }) => [
    `  ${sink}`,
    rule,
    `waits${isQuarantined ? ' in quarantine: its object fails while others succeed' : ''}`,
    `${duration(Date.now() - Date.parse(event.time))} so far`,
  ])
  const note = isComplete ? '' : '  more deliveries wait than were looked at\n'
  return (rows.length > 0 ? table(rows) : '') + note
}

function lettersText(letters: readonly FoundLetter[]): string {
  const rows = letters.map(({ id, sink, rule, reason, detail }) => [
    `  ${sink}`,
    rule,
    `dead letter (${reason}): ${detail.slice(0, 80)}`,
    `${invocation(process.env)} dead-letters retry ${id}`,
  ])
  return rows.length > 0 ? table(rows) : ''
}

/** Lines of each kind about other events of the object. */
const MOST_OTHERS = 10

/** Describes other events of the object: the outcome of the last one that a rule matched, waiting deliveries, and dead letters. */
function othersText(
  { last, waiting, letters }: Pick<FoundDeliveries, 'waiting' | 'letters'> & { last: HistoryRecord[] },
  paint: Paint,
): string {
  if (last.length + waiting.length + letters.length === 0) return ''
  const more = [waiting.length - MOST_OTHERS, letters.length - MOST_OTHERS].map((it) => Math.max(it, 0))
  const [waits = 0, dead = 0] = more
  const left = [
    ...(waits > 0 ? [`  and ${waits} more that wait\n`] : []),
    ...(dead > 0
      ? [
          `  and ${counted(dead, 'older dead letter')}: "${invocation(process.env)} dead-letters list" shows them\n`,
        ]
      : []),
  ]
  const lines =
    historyText(last) +
    waitingText(waiting.slice(0, MOST_OTHERS), true) +
    lettersText(letters.slice(0, MOST_OTHERS))
  return `\n${paint('bold', 'other events of the object')}\n${lines}${left.join('')}`
}

async function noJournal({ redis, keys }: OpenQueue, text: string): Promise<string> {
  const { oldestMs } = await journalExtent(redis, keys)
  if (oldestMs !== undefined)
    return `\nthe journal, which begins at ${timeOf(oldestMs)}, has no such event: "${invocation(process.env)} explain ${text}" evaluates the rules for the object as it is now\n`
  return `\nwithout a journal ("journal: { keep: 24h }") the result of each rule is not known; "${invocation(process.env)} explain ${text}" evaluates them for the object as it is now\n`
}
