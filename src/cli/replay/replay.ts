import { createDryRun } from '../../app/dry-run/dry-run.ts'
import { replayOf } from '../../app/dry-run/journal-events.ts'
import type { Delivery } from '../../model/delivery.ts'
import { quoted } from '../../render/summary/phrasing.ts'
import { sinkBytes } from '../../store/bounds/queue-bounds.ts'
import { journalExtent } from '../../store/commit/journal.ts'
import { historyExtent } from '../../store/history/read-history.ts'
import { enqueueAgain, noRoomFor } from '../../store/lanes/enqueue-again.ts'
import { readReportsWithRules } from '../../store/process-reports.ts'
import { readSalt } from '../../store/redis/layout.ts'
import { counted } from '../../text/quantities.ts'
import { invocation } from '../environment.ts'
import {
  type DryConfiguration,
  type PluginOptions,
  readDryConfiguration,
} from '../load-config/configuration.ts'
import { dataText, type OutputOptions, table } from '../output/format.ts'
import { isQuiet, note } from '../output/notes.ts'
import { timeOf } from '../queue/history.ts'
import { type OpenQueue, openQueue, type QueueOptions } from '../queue/open-queue.ts'
import { firstSignal } from '../signals.ts'
import { durationOf, requireRuleAndSink, timeOf as timeFrom, UsageError } from '../usage-error.ts'
import { type Delivered, deliveriesAgain, readDelivered } from './delivered.ts'
import { createPacer, type PacedParts, type Pacer, type Progress } from './paced.ts'
import { addPresentStates, enqueueStates, kindTestOf, type States } from './snapshot.ts'

interface ReplayOptions extends QueueOptions, PluginOptions, OutputOptions {
  since?: string
  until?: string
  snapshot?: boolean
  kind?: string
  sink: string
  rule?: string
  dryRun?: boolean
}

/** Puts delivered events into the lanes of their sink again, or the present state of each object, marked `replayed`. */
export async function replay(options: ReplayOptions): Promise<number> {
  requireOneSource(options)
  return options.snapshot ? replaySnapshot(options) : replayEvents(options)
}

function requireOneSource({ since, until, snapshot, kind, dryRun }: ReplayOptions): void {
  if (!snapshot && since === undefined)
    throw new UsageError('name what is sent: --since 2h for past events, or --snapshot for the present state')
  if (snapshot && (since !== undefined || until !== undefined))
    throw new UsageError('--snapshot sends the present state: it takes no --since and --until')
  if (!snapshot && kind !== undefined) throw new UsageError('--kind goes with --snapshot')
  if (snapshot && dryRun)
    throw new UsageError('--snapshot has no --dry-run; "kubeherald explain" shows one object')
}

async function replayEvents(options: ReplayOptions): Promise<number> {
  const nowMs = Date.now()
  const { sink, rule } = options
  const sinceMs = momentOf('--since', options.since ?? '', nowMs)
  const untilMs = options.until === undefined ? nowMs : momentOf('--until', options.until, nowMs)
  if (untilMs <= sinceMs) throw new UsageError('--until is not after --since')
  const configuration = await readDryConfiguration(options.config, options)
  requireRuleAndSink(options, configuration.config)
  await using queue = await openQueue(options)
  const begins = await requireRecords(queue)
  const delivered = await readDelivered(queue.redis, queue.keys, { sink, rule, sinceMs })
  const { snapshot } = await createDryRun(configuration)
  const events = replayOf(queue, {
    sinceMs,
    cluster: queue.cluster,
    salt: await readSalt(queue.redis, queue.keys),
    inTemplates: snapshot.needs.inTemplates,
    named: (resource) => snapshot.named(resource),
  })
  const deliveries = deliveriesAgain(events, delivered, {
    sink,
    untilMs,
    keepsPrevious: snapshot.keepsPrevious,
  })
  const { output } = options
  if (options.dryRun) {
    const found = await summaryOf(deliveries)
    const data = { sink, ...found, ...leftOf(delivered) }
    process.stdout.write(output === 'table' ? summaryText(found, sink) : dataText(data, output))
    noteLeft(delivered, { sinceMs, ...begins })
    return 0
  }
  const sending = await startSending(queue, configuration, sink, async (portion) => {
    await enqueueAgain(queue.redis, queue.keys, sink, Map.groupBy(portion, snapshot.laneOf))
    return portion.length
  })
  const { count, last } = await sendAll(deliveries, sending).catch((error: Error) => {
    process.stderr.write(`stopped: ${continueHint(sending.progress().last, options, { sinceMs, untilMs })}\n`)
    throw error
  })
  const isStopped = sending.signal.aborted
  const data = { sink, sent: count, isStopped, ...leftOf(delivered) }
  process.stdout.write(
    output === 'table'
      ? `${counted(count, 'event goes', 'events go')} to ${sink} again\n`
      : dataText(data, output),
  )
  if (isStopped) process.stderr.write(`stopped: ${continueHint(last, options, { sinceMs, untilMs })}\n`)
  else noteLeft(delivered, { sinceMs, ...begins })
  return isStopped ? 1 : 0
}

async function sendAll(deliveries: AsyncIterable<Delivery>, sending: Sending): Promise<Progress> {
  for await (const delivery of deliveries) {
    if (sending.signal.aborted) break
    await sending.add(delivery)
  }
  return sending.end()
}

async function replaySnapshot(options: ReplayOptions): Promise<number> {
  const { sink, rule, context, output } = options
  const isKind = kindTestOf(options.kind)
  const configuration = await readDryConfiguration(options.config, options)
  requireRuleAndSink(options, configuration.config)
  await using queue = await openQueue(options)
  if (queue.isNew)
    throw new Error('there is nothing to complete: start kubeherald with this configuration first')
  const run = await createDryRun(configuration)
  const states: States = new WeakMap()
  const { laneOf } = run.snapshot
  const enqueue = enqueueStates(queue, { sink, laneOf, states })
  const sending = await startSending(queue, configuration, sink, enqueue)
  const { signal } = sending
  const counts = await addPresentStates(
    { configuration, run, queue, context, sink, rule, isKind, signal },
    sending,
    states,
  )
  const { count } = await sending.end()
  const isStopped = signal.aborted
  const newer = counts.matched - count
  const data = { sink, sent: count, isStopped, ...counts, ...(!isStopped && { newer }) }
  const of = `of ${counted(counts.objects, 'object')}`
  process.stdout.write(
    output === 'table'
      ? `${counted(count, 'state goes', 'states go')} to ${sink}, ${of}\n`
      : dataText(data, output),
  )
  if (isStopped) process.stderr.write('stopped: the next run begins with the first object again\n')
  if (!isStopped && newer > 0)
    note(
      `note: ${counted(newer, 'object has', 'objects have')} a newer state, which goes to ${sink} by itself\n`,
    )
  if (counts.limited > 0)
    note(
      `note: ${counted(counts.limited, 'object is', 'objects are')} left out: the rule has limits, which are about events\n`,
    )
  return isStopped ? 1 : 0
}

/** Aborted by the first signal. */
type Sending = Pacer & { signal: AbortSignal }

/** Enqueues what is added until a signal comes, and shows the progress. */
async function startSending(
  { redis, keys }: OpenQueue,
  configuration: DryConfiguration,
  sink: string,
  enqueue: PacedParts['enqueue'],
): Promise<Sending> {
  const reports = await readReportsWithRules(redis, keys)
  if (!reports.some(({ sinks }) => sinks.some((it) => it.sink === sink)))
    note(`note: no process delivers to ${sink}: what is sent waits until one does\n`)
  const progress = createProgress(sink)
  const ended = new AbortController()
  void firstSignal(['SIGINT', 'SIGTERM', 'SIGHUP']).then(() => ended.abort())
  const { signal } = ended
  const maxBytesOf = boundOf(configuration, sink)
  const noRoom = () => noRoomFor(redis, keys, sink, maxBytesOf)
  const pacer = createPacer({ enqueue, noRoom, onProgress: progress.at, signal })
  return {
    signal,
    async add(delivery) {
      await pacer.add(delivery).catch((error) => {
        progress.end()
        throw error
      })
    },
    progress: pacer.progress,
    async end() {
      const end = await pacer.end()
      progress.end()
      return end
    },
  }
}

/** Returns the time of `2h` or of an RFC 3339 time, in Unix milliseconds. */
function momentOf(option: string, text: string, nowMs: number): number {
  if (!/^\d{4}-/.test(text)) return nowMs - durationOf(option, text)
  const ms = timeFrom(option, text)
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
  return (maxmemory) => sinkBytes(Math.floor(maxmemory * (config.redis.share ?? 1)), own).get(sink) ?? 0
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
function leftOf({ messages, notices }: Delivered) {
  const notInJournal = [...messages.values()].reduce((sum, { size }) => sum + size, 0)
  return { notInJournal, notices }
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

/**
 * Returns the command that sends the rest of a window (Unix milliseconds) to the same sink of the same installation. Its end is always
 * written: without it, the next run would also send what was delivered live in the meantime.
 */
export function continueHint(
  last: Delivery | undefined,
  { sink, rule, config, context, stateDir, demo, plugins }: Omit<ReplayOptions, 'output'>,
  { sinceMs, untilMs }: { sinceMs: number; untilMs: number },
): string {
  if (!last) return 'nothing was sent'
  const fromMs = Math.max(sinceMs, Date.parse(last.event.time) - MARGIN_MS)
  const option = (name: string, value: string | undefined) =>
    value === undefined ? [] : [`--${name} ${quoted(value)}`]
  const parts = [
    `${invocation(process.env)} replay`,
    ...option('config', config),
    ...option('context', context),
    ...option('state-dir', stateDir),
    ...(demo ? ['--demo'] : []),
    ...(plugins === false ? ['--no-plugins'] : []),
    ...option('sink', sink),
    ...option('since', new Date(fromMs).toISOString()),
    ...option('until', new Date(untilMs).toISOString()),
    ...option('rule', rule),
  ]
  return `"${parts.join(' ')}" goes on, and repeats the last minute`
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
