import type { Delivery } from '../../model/delivery.ts'
import { sinkBytes } from '../../store/bounds/queue-bounds.ts'
import { journalExtent } from '../../store/commit/journal.ts'
import { historyExtent } from '../../store/history/read-history.ts'
import { enqueueAgain, noRoomFor } from '../../store/lanes/enqueue-again.ts'
import { readSalt } from '../../store/redis/layout.ts'
import { replayOf } from '../dry-run/backtest.ts'
import { createDryRun } from '../dry-run/dry-run.ts'
import { invocation } from '../environment.ts'
import {
  type DryConfiguration,
  type PluginOptions,
  readDryConfiguration,
} from '../load-config/configuration.ts'
import { dataText, type OutputOptions } from '../output/format.ts'
import { isQuiet, note } from '../output/notes.ts'
import { counted, table } from '../output/table.ts'
import { timeOf } from '../queue/history.ts'
import { type OpenQueue, openQueue, type QueueOptions } from '../queue/open-queue.ts'
import { firstSignal } from '../signals.ts'
import { durationOf, requireRuleAndSink, UsageError } from '../usage-error.ts'
import { type Delivered, deliveriesAgain, readDelivered } from './delivered.ts'
import { enqueuePaced, type PacedParts } from './paced.ts'

interface ReplayOptions extends QueueOptions, PluginOptions, OutputOptions {
  since: string
  until?: string
  sink: string
  rule?: string
  dryRun?: boolean
}

/** Puts delivered events into the lanes of their sink again, the oldest first, marked `replayed`. */
export async function replay(options: ReplayOptions): Promise<number> {
  const nowMs = Date.now()
  const { sink, rule } = options
  const sinceMs = momentOf('--since', options.since, nowMs)
  const untilMs = options.until === undefined ? nowMs : momentOf('--until', options.until, nowMs)
  if (untilMs <= sinceMs) throw new UsageError('--until is not after --since')
  const configuration = await readDryConfiguration(options.config, options)
  requireRuleAndSink(options, configuration.config)
  await using queue = await openQueue(options)
  const begins = await requireRecords(queue)
  const delivered = await readDelivered(queue.redis, queue.keys, { sink, rule, sinceMs })
  const { snapshot } = await createDryRun(configuration)
  const events = replayOf(queue, {
    ...{ sinceMs, cluster: queue.cluster, salt: await readSalt(queue.redis, queue.keys) },
    ...(snapshot.needs.inTemplates && { inTemplates: snapshot.needs.inTemplates }),
    named: (resource) => snapshot.named(resource),
  })
  const deliveries = deliveriesAgain(events, delivered, {
    ...{ sink, untilMs },
    keepsPrevious: snapshot.keepsPrevious,
  })
  if (options.dryRun) {
    const found = await summaryOf(deliveries)
    const { output } = options
    process.stdout.write(
      output === 'table'
        ? summaryText(found, sink)
        : dataText({ sink, ...found, ...leftOf(delivered) }, output),
    )
    noteLeft(delivered, { sinceMs, ...begins })
    return 0
  }
  const progress = createProgress(sink)
  const ended = new AbortController()
  void firstSignal(['SIGINT', 'SIGTERM']).then(() => ended.abort())
  const { count, last } = await enqueuePaced(deliveries, {
    enqueue: (portion) => enqueueAgain(queue.redis, queue.keys, sink, Map.groupBy(portion, snapshot.laneOf)),
    noRoom: () => noRoomFor(queue.redis, queue.keys, sink, boundOf(configuration, sink)),
    onProgress: progress.at,
    signal: ended.signal,
  })
  progress.end()
  const isStopped = ended.signal.aborted
  const { output } = options
  if (output !== 'table')
    process.stdout.write(dataText({ sink, sent: count, isStopped, ...leftOf(delivered) }, output))
  else process.stdout.write(`${counted(count, 'event goes', 'events go')} to ${sink} again\n`)
  if (isStopped) process.stderr.write(`stopped: ${continueHint(last, options)}\n`)
  else noteLeft(delivered, { sinceMs, ...begins })
  return isStopped ? 1 : 0
}

/** Returns the time of `2h` or of an RFC 3339 time, in Unix milliseconds. */
function momentOf(option: string, text: string, nowMs: number): number {
  if (!/^\d{4}-/.test(text)) return nowMs - durationOf(option, text)
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw new UsageError(`${option} ${text}: is no time such as 2026-11-26T08:00:00Z`)
  if (ms > nowMs) throw new UsageError(`${option} ${text}: is in the future`)
  return ms
}

interface Begins {
  journalMs: number
  historyMs: number
}

/** Throws where there is no journal or no history: both are needed. */
async function requireRecords({ redis, keys }: OpenQueue): Promise<Begins> {
  const journal = await journalExtent(redis, keys)
  if (journal.oldestMs === undefined) throw new Error(NO_JOURNAL)
  const history = await historyExtent(redis, keys)
  if (history.oldestMs === undefined) throw new Error(NO_HISTORY)
  return { journalMs: journal.oldestMs, historyMs: history.oldestMs }
}

const NO_JOURNAL =
  'there is no journal, which has the events: write "journal: { keep: 24h }" into the configuration of the kubeherald that runs; events from then on can be replayed'
const NO_HISTORY =
  'there is no history, which knows what was delivered: nothing was delivered yet, or the configuration has "history: false"'

function boundOf({ config }: DryConfiguration, sink: string): (maxmemory: number) => number {
  const own = new Map(config.sinks.map(({ name, queue }) => [name, queue?.maxBytes]))
  return (maxmemory) => sinkBytes(maxmemory, own).get(sink) ?? 0
}

interface Summary {
  events: number
  from: string | undefined
  to: string | undefined
  rules: Record<string, number>
}

async function summaryOf(deliveries: AsyncIterable<Delivery>): Promise<Summary> {
  const rules = new Map<string, number>()
  let [events, from, to] = [0, undefined as string | undefined, undefined as string | undefined]
  for await (const { rule, event } of deliveries) {
    events++
    rules.set(rule, (rules.get(rule) ?? 0) + 1)
    if (from === undefined || event.time < from) from = event.time
    if (to === undefined || event.time > to) to = event.time
  }
  return { events, from, to, rules: Object.fromEntries(rules) }
}

function summaryText({ events, from, to, rules }: Summary, sink: string): string {
  if (events === 0) return `no event would go to ${sink} again\n`
  const span = `from ${timeOf(Date.parse(from ?? ''))} to ${timeOf(Date.parse(to ?? ''))}`
  const rows = Object.entries(rules).map(([rule, count]) => [rule, String(count)])
  return `${counted(events, 'event')} would go to ${sink} again, ${span}\n\n${table([['RULE', 'EVENTS'], ...rows])}`
}

/** What was delivered and is not sent again. */
function leftOf({ rules, notices }: Delivered) {
  return { notInJournal: rules.size, notices }
}

function noteLeft(
  delivered: Delivered,
  { sinceMs, journalMs, historyMs }: Begins & { sinceMs: number },
): void {
  const { notInJournal, notices } = leftOf(delivered)
  const [ofJournal, ofHistory] = [timeOf(journalMs), timeOf(historyMs)]
  if (historyMs > sinceMs)
    note(`note: the history begins at ${ofHistory}: what was delivered before is not known\n`)
  if (notInJournal > 0)
    process.stderr.write(
      `warning: ${counted(notInJournal, 'delivered event is', 'delivered events are')} not sent again: ${notInJournal === 1 ? 'it is' : 'they are'} older than --since, or not in the journal, which begins at ${ofJournal}\n`,
    )
  if (notices > 0)
    note(
      `note: ${counted(notices, 'digest or resolve notification is', 'digests and resolve notifications are')} not sent again: the journal has events\n`,
    )
}

/** An event of another watch may be some seconds older than one before it. */
const MARGIN_MS = 60_000

function continueHint(last: Delivery | undefined, { sink }: ReplayOptions): string {
  if (!last) return 'nothing was sent'
  const time = new Date(Date.parse(last.event.time) - MARGIN_MS).toISOString()
  return `"${invocation(process.env)} replay --sink ${sink} --since ${time}" goes on, and repeats the last minute`
}

const SHOWN_EVERY_MS = 500

/** On a terminal one line that changes; elsewhere a note when it begins to wait. */
function createProgress(sink: string): { at: PacedParts['onProgress']; end(): void } {
  const output = process.stderr
  const isLive = output.isTTY === true && !isQuiet()
  let shownMs = 0
  let waited = false
  return {
    at({ count, last, waitsFor }) {
      const why =
        waitsFor === undefined
          ? ''
          : waitsFor.kind === 'memory'
            ? `waits: Redis is ${waitsFor.usedPercent} % full`
            : `waits: ${counted(waitsFor.waiting, 'delivery waits', 'deliveries wait')} for ${sink}`
      if (!isLive) {
        if (why !== '' && !waited) note(`note: the replay ${why}; it goes on when there is room\n`)
        waited ||= why !== ''
        return
      }
      if (performance.now() - shownMs < SHOWN_EVERY_MS) return
      shownMs = performance.now()
      const at = last ? `, at ${timeOf(Date.parse(last.event.time))}` : ''
      output.write(`\r${count.toLocaleString('en-US')} sent${at}${why && `; ${why}`}\u001b[K`)
    },
    end() {
      if (isLive && shownMs > 0) output.write('\r\u001b[K')
    },
  }
}
