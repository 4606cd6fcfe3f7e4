import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { createDryRun, type DryRun } from '../../app/dry-run/dry-run.ts'
import { replayOf } from '../../app/dry-run/journal-events.ts'
import { isWatched } from '../../app/dry-run/match-report.ts'
import { suggest } from '../../config/error-messages/suggest.ts'
import { mayMean, titleOf, watchedKindOf } from '../../config/lint/watched-kind.ts'
import type { Config } from '../../config/schema.ts'
import type { ClusterEvent } from '../../model/event.ts'
import type { WatchStatus } from '../../model/status.ts'
import { parsePatterns } from '../../rules/pattern.ts'
import { clusterName, kubeconfigOptions, loadCluster } from '../environment.ts'
import type { PluginOptions } from '../load-config/configuration.ts'
import { type DryConfiguration, readDryConfiguration } from '../load-config/configuration.ts'
import type { OutputOptions } from '../output/format.ts'
import { note } from '../output/notes.ts'
import { openQueue } from '../queue/open-queue.ts'
import { firstSignal, outputClosed } from '../signals.ts'
import { durationOf, requireRuleAndSink, UsageError } from '../usage-error.ts'
import { createTailEnd, type TailEnd, type TailEndOptions } from './tail-end.ts'
import { createPrinter, eventFilter, type Printer, type TailFilter } from './tail-printer.ts'
import { startWatchesInMemory } from './watches-in-memory.ts'

interface TailOptions extends TailFilter, TailEndOptions, OutputOptions, PluginOptions {
  config?: string
  rules?: string
  context?: string
  stateDir?: string
  since?: string
}

const TIMERS_MS = 500
/** Maximum number of live events that wait in memory for the journal; the rest of a commit comes in addition. */
const MOST_WAITING = 1_000
const READY_MS = 20_000

/** Prints the deliveries of live events; sends nothing and writes nothing anywhere. */
export async function tail(options: TailOptions): Promise<number> {
  const sinceMs = options.since === undefined ? undefined : Date.now() - durationOf('--since', options.since)
  const passes = eventFilter(options)
  const end = createTailEnd(options, passes)
  const configuration = await readDryConfiguration(options.rules ?? options.config, options)
  const { config } = configuration
  requireRuleAndSink(options, config)
  requireWatchedKind(config, options.kind)
  const print = (text: string) => void process.stdout.write(configuration.hide(text))
  const printer = createPrinter(options, { passes, print })
  const ended = new AbortController()
  const stopped = Promise.race([firstSignal(['SIGINT', 'SIGTERM', 'SIGHUP']), outputClosed(() => true)])
  void stopped.then(() => ended.abort())
  await using stack = new AsyncDisposableStack()
  const run = await createDryRun({ ...configuration, config: end.withUntil(config) })
  const { cluster, fault } = await follow(
    { options, configuration, run, printer, sinceMs, end, stack },
    ended,
  )
  const isTimed = (end.forMs ?? end.idleMs) !== undefined
  if (isTimed && fault !== undefined && !end.isFulfilled) throw new Error(fault)
  const { events, sent } = printer.counts()
  note(
    `${count(events, 'event')} of ${cluster}, ${count(sent, 'message')} would have been sent; nothing was\n`,
  )
  end.requireFulfilled()
  return 0
}

interface TailParts {
  options: TailOptions
  configuration: DryConfiguration
  run: DryRun
  printer: Printer
  sinceMs: number | undefined
  end: TailEnd
  stack: AsyncDisposableStack
}

/** Watches until `ended` is aborted. Returns the cluster's name, and a fault if no watch ever began. */
async function follow(
  parts: TailParts,
  ended: AbortController,
): Promise<{ cluster: string; fault?: string }> {
  const { options, configuration, run, printer, sinceMs, end, stack } = parts
  const { signal } = ended
  const { config } = configuration
  const { snapshot } = run
  const access = loadCluster(kubeconfigOptions(config.kubernetes, options.context))
  const cluster = clusterName(config, () => access.context)
  const { rules, config: file = rules, context: kubeContext, stateDir } = options
  const queueOptions = {
    ...(file !== undefined && { config: file }),
    ...(kubeContext !== undefined && { context: kubeContext }),
    ...(stateDir !== undefined && { stateDir }),
  }
  const journal = sinceMs === undefined ? undefined : stack.use(await openQueue(queueOptions))
  const salt = randomBytes(16)
  // Live events wait while the journal is read; those that it has already are skipped.
  let waiting: ClusterEvent[] | undefined = journal && []
  const journalRead = Promise.withResolvers<void>()
  /** The sources that wait for that: they have begun, also if their first list is not complete. */
  const held = new Set<string>()
  signal.addEventListener('abort', () => journalRead.resolve())
  const outputTaken = createOutputWait(signal)
  const feed = (event: ClusterEvent, atMs: number) => {
    if (signal.aborted) return
    try {
      for (const timer of run.advance(atMs)) printer.timer(timer)
      const { result, ends } = end.read(run.evaluate(event, atMs), performance.now())
      printer.event(result)
      if (ends) ended.abort()
    } catch (error) {
      printer.unreadable(error)
    }
  }
  const { named, needs } = snapshot
  const { inTemplates } = needs
  const { watches } = stack.use(
    startWatchesInMemory({
      config,
      context: options.context,
      cluster,
      salt,
      snapshot,
      keepsPrevious: (resource) => snapshot.keepsPrevious(resource),
      onTransitions({ key }, transitions, eventOf) {
        for (const transition of transitions) {
          const event = eventOf(transition)
          if (waiting) waiting.push(event)
          else feed(event, Date.now())
        }
        if (!waiting || waiting.length <= MOST_WAITING) return outputTaken()
        held.add(key)
        return journalRead.promise
      },
    }),
  )
  watches.apply(config.watch)
  const statuses = () => watches.statuses().map((it) => ({ ...it, ready: it.ready || held.has(it.key) }))
  const startedMs = performance.now()
  const { forMs, idleMs } = end
  await ready(statuses, signal, forMs ?? idleMs)
  if (!signal.aborted) printStart(statuses(), cluster, configuration.file)
  if (journal && waiting && !signal.aborted) {
    const seen = new Set<string>()
    let atMs = 0
    for await (const event of replayOf(journal, {
      sinceMs: sinceMs ?? 0,
      cluster,
      salt,
      named,
      inTemplates,
    })) {
      if (signal.aborted) break
      seen.add(event.id)
      atMs = Math.max(atMs, Date.parse(event.time))
      // The journal has what all watches of that time read.
      if (isWatched(config, event)) feed(event, atMs)
      await outputTaken()
    }
    // A private Redis of its own would keep `run` from the state directory.
    await journal[Symbol.asyncDispose]()
    if (seen.size === 0) note('note: the journal has nothing of that time\n')
    const missed = waiting.filter(({ id }) => !seen.has(id))
    waiting = undefined
    for (const event of missed) {
      feed(event, Math.max(atMs, Date.parse(event.time)))
      await outputTaken()
    }
    journalRead.resolve()
  }
  if (forMs !== undefined) {
    const began = statuses().some((it) => it.ready)
    // A cluster that is out of reach may come back within the time.
    const restMs = began ? forMs : startedMs + forMs - performance.now()
    setTimeout(() => ended.abort(), Math.max(0, restMs)).unref()
  }
  end.begin(performance.now())
  const noteRecovery = createRecoveryNote((line) => note(`${line}\n`))
  while (!signal.aborted && !end.isIdle(performance.now())) {
    for (const timer of run.advance(Date.now())) printer.timer(timer)
    // Events that wait for the reader of the output are no pause between events.
    if (process.stdout.writableNeedDrain) end.begin(performance.now())
    noteRecovery(watches.statuses())
    await pause(TIMERS_MS, undefined, { signal }).catch(() => {})
  }
  ended.abort()
  // A watch whose reader has not taken the first list yet has begun.
  const fault = printer.counts().events > 0 ? undefined : neverBegan(watches.statuses())
  return { cluster, ...(fault !== undefined && { fault }) }
}

/** Returns a wait until the reader of the standard output has taken what was printed: events wait at the API server, not in memory. */
function createOutputWait(signal: AbortSignal): () => Promise<void> | undefined {
  let taken: Promise<void> | undefined
  return () => {
    if (!process.stdout.writableNeedDrain) return undefined
    const drained = () =>
      once(process.stdout, 'drain', { signal }).then(
        () => {},
        () => {},
      )
    taken ??= drained().finally(() => {
      taken = undefined
    })
    return taken
  }
}

/** Waits until all watches have begun: at most 20 s, and after `forMs` not for those that have failed. */
async function ready(
  statusesNow: () => readonly WatchStatus[],
  signal: AbortSignal,
  forMs = READY_MS,
): Promise<void> {
  const startMs = performance.now()
  while (!signal.aborted) {
    const elapsedMs = performance.now() - startMs
    const statuses = statusesNow()
    const hasFailed = (it: WatchStatus) => elapsedMs >= forMs && it.lastError !== undefined
    if (statuses.length > 0 && statuses.every((it) => it.ready || hasFailed(it))) return
    if (elapsedMs >= READY_MS) return
    await pause(50, undefined, { signal }).catch(() => {})
  }
}

function printStart(statuses: readonly WatchStatus[], cluster: string, file: string): void {
  const late = statuses.filter((it) => !it.ready)
  note(`${file} on ${cluster}: ${count(statuses.length, 'watch', 'watches')}; nothing is sent, Ctrl-C ends\n`)
  for (const { title, lastError } of late)
    process.stderr.write(`warning: ${title} has not begun yet${lastError ? `: ${lastError}` : ''}\n`)
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`
}

/** Refuses a kind that no entry of `watch` selects: no event of it would come. */
function requireWatchedKind({ watch }: Pick<Config, 'watch'>, kind: string | undefined): void {
  const parsed = kind === undefined ? undefined : parsePatterns(kind)
  if (kind === undefined || !parsed?.ok || parsed.value.some(({ negated }) => negated)) return
  const watched = watch.flatMap((entry) => watchedKindOf(entry.kind) ?? [])
  if (watched.length < watch.length || parsed.value.some((it) => watched.some((of) => mayMean(it, of))))
    return
  const names = [...new Set(watched.map(titleOf))]
  throw new UsageError(`--kind ${kind}: no entry of "watch" is for it; ${suggest(kind, names, 'there are')}`)
}

/** Prints a line when all watches work again after an interruption. */
export function createRecoveryNote(
  print: (line: string) => void,
): (statuses: readonly WatchStatus[]) => void {
  let interrupted = false
  return (statuses) => {
    if (statuses.some(({ phase, ready }) => ready && (phase === 'reconnecting' || phase === 'failing')))
      interrupted = true
    else if (
      interrupted &&
      statuses.every(({ phase }) => phase === 'watching' || phase === 'waiting-for-kind')
    ) {
      interrupted = false
      print('all watches go on')
    }
  }
}

/** Returns the reason when no watch ever began. */
export function neverBegan(statuses: readonly WatchStatus[]): string | undefined {
  if (statuses.some(({ ready }) => ready)) return undefined
  const why = statuses.find(({ lastError }) => lastError !== undefined)?.lastError
  return `nothing was seen: no watch has begun${why === undefined ? '' : `: ${why}`}`
}
