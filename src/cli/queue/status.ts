import { describeRestart, type QueueStatus } from '../../model/status.ts'
import { titleIn } from '../../store/commit/stored-json.ts'
import { type RuleLedger, readStatus, type StatusReport, type WatchCounts } from '../../store/ledger.ts'
import { readHash } from '../../store/redis/scan.ts'
import { sinkView, watchViews } from '../../store/status-views.ts'
import { printable } from '../../text/printable.ts'
import { duration, relative } from '../../text/quantities.ts'
import { silencesTable } from '../control/silence.ts'
import { dataText, type OutputOptions, table } from '../output/format.ts'
import { type OpenQueue, openQueue, type QueueOptions } from './open-queue.ts'
import { contact, lastErrorOf, phaseOf, relistsOf, short, shownSinks } from './status-views.ts'

interface StatusOptions extends QueueOptions, OutputOptions {
  verify?: boolean
}

/** Prints watches, sinks and the ledger, as tables or as data. */
export async function status(options: StatusOptions): Promise<number> {
  await using queue = await openQueue(options)
  if (queue.isNew && options.output === 'table') return 0
  const report = await readStatus(queue.redis, queue.keys, {
    verify: options.verify ?? false,
    now: Date.now(),
  })
  process.stdout.write(
    options.output === 'table'
      ? describe(report, queue.cluster, await storedTitles(queue))
      : dataText(report, options.output),
  )
  return 0
}

/** The titles of all stored sources, by their keys. */
async function storedTitles({ redis, keys }: OpenQueue): Promise<Map<string, string>> {
  const sources = await readHash(redis, keys.sources)
  return new Map([...sources].map(([key, text]) => [key, titleIn(text) ?? key]))
}

function describe(report: StatusReport, cluster: string, titles: ReadonlyMap<string, string>): string {
  const { instances } = report
  const watching = instances.some(({ role }) => role !== 'deliver')
  const parts = [
    ...troubles(report),
    processes(report, cluster),
    watching ? watches(report) : storedWatches(report, titles),
    ...metadata(report),
    sinks(report) + sinkWarnings(report) + queues(report) + deadLetters(report),
    ...rules(report),
    ...silences(report),
    ledger(report) + history(report) + journal(report),
  ]
  return parts.join('\n')
}

/** Why Redis refuses writes: its own reason, and those that processes report. */
function troubles({ redisRefuses, instances }: StatusReport): string[] {
  const lines = instances.flatMap(({ host, pid, redisTrouble }) =>
    redisTrouble === undefined ? [] : [`redis: ${host} ${pid} reports: ${short(redisTrouble, 400)}\n`],
  )
  if (redisRefuses !== undefined) lines.unshift(`redis: ${redisRefuses}\n`)
  return lines.length === 0 ? [] : [lines.join('')]
}

function processes({ instances, atMs, redisRefuses }: StatusReport, cluster: string): string {
  if (instances.length === 0 && redisRefuses !== undefined)
    return `no process can report while Redis refuses writes; this is what is stored of cluster ${cluster}\n`
  if (instances.length === 0)
    return `no process runs for cluster ${cluster}; this is what is stored, and the next start goes on from it\n`
  const rows = instances.map((it) => [
    it.host,
    String(it.pid),
    it.role,
    it.version,
    duration(atMs - it.startedMs),
    it.config?.digest ?? '-',
  ])
  return table([['HOST', 'PID', 'ROLE', 'VERSION', 'UP', 'CONFIG'], ...rows]) + configurations(instances)
}

/** What is to be known of the configurations: that one is not good, that another waits for a restart, that they differ. */
function configurations(instances: StatusReport['instances']): string {
  const lines = instances.flatMap(({ host, pid, config }) => {
    const whose = instances.length > 1 ? ` of ${host} ${pid}` : ''
    const { rejected, restart = [] } = config ?? {}
    const since = rejected && new Date(rejected.sinceMs).toISOString()
    return [
      ...(rejected
        ? [`configuration${whose}: rejected since ${since}: ${short(rejected.problem, 300)}`]
        : []),
      ...(restart.length > 0 ? [`configuration${whose}: ${describeRestart(restart)}`] : []),
    ]
  })
  const digests = new Set(instances.flatMap(({ config }) => config?.digest ?? []))
  if (digests.size > 1) lines.push('configuration: the processes do not all use the same one')
  return lines.map((line) => `${line}\n`).join('')
}

function watches({ instances, ledger, atMs }: StatusReport): string {
  const watching = instances.filter(({ role }) => role !== 'deliver')
  const live = watchViews({ instances })
  const several = watching.length > 1
  const isRelisted = live.some(({ watch }) => watch.relists !== undefined)
  const isVerified = live.some(({ watch }) => watch.verified !== undefined)
  const header = [
    'WATCH',
    'PHASE',
    ...(several ? ['PROCESS'] : []),
    'POSITION',
    'LAST CONTACT',
    'OBSERVED',
    'UNMATCHED',
    'DROPPED',
    'MATCHED',
    'LIMITED',
    ...(isRelisted ? ['RELISTS'] : []),
    ...(isVerified ? ['DIFFERENCES'] : []),
    'LAST ERROR',
  ]
  const rows = live.map(({ instance, watch }) => {
    const counts = ledger.watches[watch.key]
    const numbers = countsOf(counts)
    return [
      watch.title,
      phaseOf(watch),
      ...(several ? [watch.holder ? printable(watch.holder) : `${instance.host} ${instance.pid}`] : []),
      watch.resourceVersion,
      contact(watch, atMs),
      ...numbers,
      ...(isRelisted ? [relistsOf(watch, atMs)] : []),
      ...(isVerified ? [watch.verified === undefined ? '-' : String(watch.verified.differences)] : []),
      short(watch.lastError),
    ]
  })
  return rows.length === 0 ? 'no watches\n' : table([header, ...rows])
}

/** Watches of metadata, where rules ask for it: each process has its own. */
function metadata({ instances, atMs }: StatusReport): string[] {
  const several = instances.filter(({ metadata }) => metadata && metadata.length > 0).length > 1
  const rows = instances.flatMap(({ host, pid, metadata = [] }) =>
    metadata.map((watch) => [
      watch.title,
      phaseOf(watch),
      ...(several ? [`${host} ${pid}`] : []),
      contact(watch, atMs),
      short(watch.lastError),
    ]),
  )
  const header = ['METADATA', 'PHASE', ...(several ? ['PROCESS'] : []), 'LAST CONTACT', 'LAST ERROR']
  return rows.length === 0 ? [] : [table([header, ...rows])]
}

/** What is known of them while nobody watches. */
function storedWatches({ instances, ledger }: StatusReport, titles: ReadonlyMap<string, string>): string {
  const rows = Object.entries(ledger.watches).map(([key, counts]) => {
    return [titles.get(key) ?? key, 'stopped', ...countsOf(counts)]
  })
  const header = ['WATCH', 'PHASE', 'OBSERVED', 'UNMATCHED', 'DROPPED', 'MATCHED', 'LIMITED']
  const note = instances.length > 0 ? 'no process watches\n' : ''
  return rows.length === 0 ? 'nothing was watched yet\n' : note + table([header, ...rows])
}

function countsOf(counts: WatchCounts | undefined): string[] {
  const { observed = 0, unmatched = 0, dropped = 0, matched = 0, limited = 0 } = counts ?? {}
  return [observed, unmatched, dropped, matched, limited].map(String)
}

function sinks({ instances, ledger, atMs }: StatusReport): string {
  const header = ['SINK', 'HEALTH', 'ENQUEUED', 'DELIVERED', 'DEAD', 'PENDING', 'OLDEST', 'LAST ERROR']
  const delivering = instances.some(({ role }) => role !== 'watch')
  const rows = shownSinks({ instances, ledger }).map(({ sink, health, counts, lastError }) => {
    const oldest = counts.oldestMs === undefined ? '-' : duration(atMs - counts.oldestMs)
    const numbers = [counts.enqueued, counts.delivered, counts.dead, counts.pending].map(String)
    return [sink, health, ...numbers, oldest, lastErrorOf(lastError, atMs)]
  })
  const note = instances.length > 0 && !delivering ? 'no process delivers\n' : ''
  return rows.length === 0 ? 'no deliveries yet\n' : note + table([header, ...rows])
}

/** What does not work of sinks that deliver all the same. */
function sinkWarnings({ instances }: StatusReport): string {
  const names = new Set(instances.flatMap(({ sinks }) => sinks.map(({ sink }) => sink)))
  return [...names]
    .flatMap((sink) =>
      sinkView({ instances }, sink).warnings.map((it) => `sink ${sink}: ${short(it, 300)}\n`),
    )
    .join('')
}

/** Less than this part of a bound is no news. */
const SHOWN_PART = 0.1

/** The queues that come near their bounds. */
function queues({ instances }: StatusReport): string {
  const bySink = new Map(instances.flatMap((it) => it.sinks.map(({ sink, queue }) => [sink, queue] as const)))
  return [...bySink]
    .flatMap(([sink, queue]) =>
      queue && queue.bytes >= queue.maxBytes * SHOWN_PART ? [`queue of ${sink}: ${filled(queue)}\n`] : [],
    )
    .join('')
}

/** How many dead letters there are, how much of their bound they take, and how many beyond it were deleted. */
function deadLetters({ deadLetters: kept, instances, ledger }: StatusReport): string {
  const sum = (what: 'archived' | 'dropped') =>
    Object.values(ledger.sinks).reduce((total, counts) => total + counts[what], 0)
  const [archived, dropped] = [sum('archived'), sum('dropped')]
  if (kept === 0 && archived === 0 && dropped === 0) return ''
  const queue = instances.flatMap((it) => it.deadLetters ?? [])[0]
  const parts = [
    `${kept} kept${queue ? `, ${filled(queue)}` : ''}`,
    ...(archived > 0 ? [`${archived} archived`] : []),
    ...(dropped > 0 ? [`${dropped} dropped`] : []),
  ]
  return `dead letters: ${parts.join('; ')}\n`
}

function filled({ bytes, maxBytes, reachedMs }: QueueStatus): string {
  const room = `${(bytes / 1e6).toFixed(1)} of ${(maxBytes / 1e6).toFixed(1)} MB`
  if (reachedMs === undefined) return room
  return reachedMs === 0 ? `${room}, full` : `${room}, full in ${duration(reachedMs)}`
}

/** In the order of the configuration; those that no process has any more come last. */
function rules({ instances, ledger, atMs }: StatusReport): string[] {
  const errorsOf = new Map<string, number>()
  for (const { rule, errors = 0 } of instances.flatMap((it) => it.rules ?? []))
    errorsOf.set(rule, (errorsOf.get(rule) ?? 0) + errors)
  const running = instances.some((it) => it.rules !== undefined)
  const names = new Set([...errorsOf.keys(), ...Object.keys(ledger.rules).toSorted()])
  if (names.size === 0) return []
  const header = ['RULE', 'MATCHED', 'SENT', 'DIGESTED', 'WAITING', 'SUPPRESSED', 'ERRORS', 'LAST MATCHED']
  const rows = [...names].map((rule) => {
    const counts = ledger.rules[rule]
    const { matched = 0, sent = 0, digested = 0, waiting = 0, lastMatchMs = 0 } = counts ?? {}
    const errors = errorsOf.get(rule) ?? 0
    const last = lastMatchMs === 0 ? '-' : relative(lastMatchMs, atMs)
    const name = running && !errorsOf.has(rule) ? `${rule} (removed)` : rule
    return [name, ...[matched, sent, digested, waiting].map(String), held(counts), String(errors), last]
  })
  return [table([header, ...rows])]
}

function silences({ silences, atMs }: StatusReport): string[] {
  return silences ? [silencesTable(silences, atMs)] : []
}

function held(counts: RuleLedger | undefined): string {
  const some = Object.entries(counts?.suppressed ?? {}).filter(([, count]) => count !== 0)
  return some.length === 0 ? '0' : some.map(([by, count]) => `${count} ${by}`).join(', ')
}

function ledger({ ledger }: StatusReport): string {
  return ledger.balanced
    ? 'ledger: balanced\n'
    : 'ledger: NOT BALANCED; please report this with the output of `kubeherald status --json --verify`\n'
}

function history({ history, historyLost: lost, atMs }: StatusReport): string {
  const size = history
    ? `history: ${(history.bytes / 1e6).toFixed(1)} MB of the last ${duration(atMs - history.oldestMs)}\n`
    : ''
  if (!lost) return size
  const why = lost.why === 'lost' ? 'lost with Redis' : 'deleted, because Redis was nearly full,'
  return `${size}history: ${why} ${relative(lost.atMs, atMs)}: what was delivered before is not known\n`
}

function journal({ journal, atMs }: StatusReport): string {
  if (!journal) return ''
  return `journal: ${(journal.bytes / 1e6).toFixed(1)} MB of the last ${duration(atMs - journal.oldestMs)}\n`
}
