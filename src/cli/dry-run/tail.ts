import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Source, Transition } from '../../change.ts'
import { createDryRun, type DryRun } from '../../dry-run/dry-run.ts'
import { createPaint, wantsColour } from '../../dry-run/paint.ts'
import { enrichBeforeCommit } from '../../enriched-store.ts'
import { startEnrichment } from '../../enrichment.ts'
import type { ClusterEvent } from '../../event.ts'
import { createMetrics } from '../../metrics.ts'
import { createMemorySourceStore } from '../../queue/memory-source-store.ts'
import { compilePattern } from '../../rules/pattern.ts'
import { matcherOfSelector } from '../../rules/selector.ts'
import { userAgent } from '../../version.ts'
import { connectCluster } from '../../watch/connect.ts'
import { createWatchManager, type WatchManager } from '../../watch/manager.ts'
import { normalise } from '../../watch/normalise.ts'
import { DEFAULT_TIMING } from '../../watch/timing.ts'
import { objectJsonOf } from '../../watch/trim.ts'
import { kubeconfigOptions, loadCluster } from '../cluster-access.ts'
import { clusterName } from '../cluster-name.ts'
import { commandLog } from '../command-log.ts'
import { openQueue } from '../queue/open-queue.ts'
import type { PluginOptions } from '../reading/configuration.ts'
import { type DryConfiguration, readDryConfiguration } from '../reading/dry-configuration.ts'
import { firstSignal, outputClosed } from '../signals.ts'
import { spanOf } from '../span.ts'
import { replayOf } from './journal-events.ts'
import { createTailLines, requireKnownNames, type TailFilter, type TailLines } from './tail-lines.ts'
import { createRecoveryNote, neverBegan, requireWatchedKind } from './tail-watching.ts'

export interface TailOptions extends TailFilter, PluginOptions {
  config?: string
  rules?: string
  context?: string
  stateDir?: string
  since?: string
  for?: string
  json?: boolean
}

const TIMERS_MS = 500
const READY_MS = 20_000

/** Shows what would go where, as it happens; sends nothing, and writes nothing anywhere. */
export async function tail(options: TailOptions): Promise<number> {
  const sinceMs = options.since === undefined ? undefined : Date.now() - spanOf('--since', options.since)
  const forMs = options.for === undefined ? undefined : spanOf('--for', options.for)
  const configuration = await readDryConfiguration(options.rules ?? options.config, options)
  const { config } = configuration
  requireKnownNames(config, options)
  requireWatchedKind(config, options.kind)
  const paint = createPaint(!options.json && wantsColour(process.stdout, process.env))
  const lines = createTailLines({
    ...options,
    paint,
    print: (line) => process.stdout.write(configuration.hide(line)),
  })
  const ended = new AbortController()
  const end = Promise.race([firstSignal(['SIGINT', 'SIGTERM']), outputClosed(() => true)])
  void end.then(() => ended.abort())
  if (forMs !== undefined) setTimeout(() => ended.abort(), forMs).unref()
  await using stack = new AsyncDisposableStack()
  const run = await createDryRun(configuration)
  const { cluster, fault } = await follow(
    { options, configuration, run, lines, sinceMs, stack },
    ended.signal,
  )
  if (forMs !== undefined && fault !== undefined) throw new Error(fault)
  const { events, sent } = lines.counts()
  process.stderr.write(
    `${count(events, 'event')} of ${cluster}, ${count(sent, 'message')} would have been sent; nothing was\n`,
  )
  return 0
}

interface Tailing {
  options: TailOptions
  configuration: DryConfiguration
  run: DryRun
  lines: TailLines
  sinceMs: number | undefined
  stack: AsyncDisposableStack
}

/** Until the signal; gives the cluster's name, and why nothing of it could be seen. */
async function follow(parts: Tailing, signal: AbortSignal): Promise<{ cluster: string; fault?: string }> {
  const { options, configuration, run, lines, sinceMs, stack } = parts
  const { config } = configuration
  const kubeconfig = kubeconfigOptions(config.kubernetes, options.context)
  const access = loadCluster(kubeconfig)
  const cluster = clusterName(config, () => access.context)
  const journal = sinceMs === undefined ? undefined : stack.use(await openQueue(journalOptions(options)))
  const salt = randomBytes(16)
  // What happens while the journal is read comes behind it, and none of it twice.
  let waiting: ClusterEvent[] | undefined = journal && []
  const feed = (event: ClusterEvent, atMs: number) => {
    for (const later of run.advance(atMs)) lines.later(later)
    lines.fate(run.feed(event, atMs))
  }
  const client = connectCluster({ ...kubeconfig, userAgent })
  stack.defer(() => client.close())
  const common = { client, metrics: createMetrics(), log: commandLog('warn', true).log, clock: Date }
  const enrichment = startEnrichment(common)
  stack.defer(() => enrichment.close())
  const { needs } = run.generation
  enrichment.use(needs, config.enrich?.maxObjects)
  const context = {
    cluster,
    salt,
    surroundings: enrichment.surroundings,
    owners: needs.owners || needs.regardingOwners,
    named: run.generation.named,
  }
  const onTransitions = (source: Source, transitions: readonly Transition[]) => {
    for (const transition of transitions) {
      const event = normalise(source, transition, context)
      if (waiting) waiting.push(event)
      else attempt(lines, () => feed(event, Date.now()))
    }
  }
  const store = createMemorySourceStore({
    onTransitions,
    old: {
      keeps: (resource) => run.generation.keepsOld(resource),
      jsonOf: (resource, object) => objectJsonOf(resource, object, salt),
    },
    clock: Date,
  })
  const { maxObjectSize: maxObjectBytes } = config.kubernetes
  const watches = createWatchManager({
    ...common,
    store: enrichBeforeCommit(store, enrichment.known),
    random: Math.random,
    timing: DEFAULT_TIMING,
    matcherOf: compilePattern,
    selectorOf: matcherOfSelector,
    ...(maxObjectBytes !== undefined && { maxObjectBytes }),
  })
  stack.defer(() => watches.close())
  watches.apply(config.watch)
  await ready(watches, signal)
  if (!signal.aborted) tellStart(watches, cluster, configuration.file)
  if (journal && waiting && !signal.aborted) {
    const seen = new Set<string>()
    let atMs = 0
    for await (const event of replayOf(journal, {
      sinceMs: sinceMs ?? 0,
      cluster,
      salt,
      named: context.named,
    })) {
      if (signal.aborted) break
      seen.add(event.id)
      atMs = Math.max(atMs, Date.parse(event.time))
      attempt(lines, () => feed(event, atMs))
    }
    if (seen.size === 0) process.stderr.write('note: the journal has nothing of that time\n')
    const missed = waiting.filter(({ id }) => !seen.has(id))
    waiting = undefined
    for (const event of missed) attempt(lines, () => feed(event, Math.max(atMs, Date.parse(event.time))))
  }
  const note = createRecoveryNote((line) => process.stderr.write(`${line}\n`))
  while (!signal.aborted) {
    for (const later of run.advance(Date.now())) lines.later(later)
    note(watches.statuses())
    await pause(TIMERS_MS, undefined, { signal }).catch(() => {})
  }
  const fault = neverBegan(watches.statuses())
  return { cluster, ...(fault !== undefined && { fault }) }
}

/** One object that cannot be read is no reason to end. */
function attempt(lines: TailLines, work: () => void): void {
  try {
    work()
  } catch (error) {
    lines.unreadable(error)
  }
}

/** Waits until all watches have begun, for a while at most. */
async function ready(watches: WatchManager, signal: AbortSignal): Promise<void> {
  const untilMs = performance.now() + READY_MS
  while (!signal.aborted && performance.now() < untilMs) {
    const statuses = watches.statuses()
    if (statuses.length > 0 && statuses.every((it) => it.ready)) return
    await pause(50, undefined, { signal }).catch(() => {})
  }
}

function tellStart(watches: WatchManager, cluster: string, file: string): void {
  const statuses = watches.statuses()
  const late = statuses.filter((it) => !it.ready)
  process.stderr.write(
    `${file} on ${cluster}: ${count(statuses.length, 'watch', 'watches')}; nothing is sent, Ctrl-C ends\n`,
  )
  for (const { title, lastError } of late)
    process.stderr.write(`warning: ${title} has not begun yet${lastError ? `: ${lastError}` : ''}\n`)
}

function journalOptions({ config, rules, context, stateDir }: TailOptions) {
  const file = config ?? rules
  return {
    ...(file !== undefined && { config: file }),
    ...(context !== undefined && { context }),
    ...(stateDir !== undefined && { stateDir }),
  }
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`
}
