import { openQueue } from '../open-queue.ts'
import type { StatusReport } from '../queue/status-report.ts'
import { readStatus } from '../queue/status-report.ts'
import type { WatchStatus } from '../status.ts'
import { duration, printable, table } from './table.ts'

interface StatusOptions {
  config?: string
  stateDir?: string
  json?: boolean
  verify?: boolean
}

/** Prints watches, sinks and the ledger, as JSON or as tables. */
export async function status(options: StatusOptions): Promise<number> {
  await using queue = await openQueue(options)
  const report = await readStatus(queue.redis, queue.keys, {
    verify: options.verify ?? false,
    now: Date.now(),
  })
  process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : describe(report))
  return 0
}

function describe(report: StatusReport): string {
  return [processes(report), watches(report), sinks(report), ledger(report)].join('\n')
}

function processes({ instances, atMs }: StatusReport): string {
  if (instances.length === 0) return 'no process is running\n'
  const rows = instances.map((it) => [
    it.host,
    String(it.pid),
    it.role,
    it.version,
    duration(atMs - it.startedMs),
  ])
  return table([['HOST', 'PID', 'ROLE', 'VERSION', 'UP'], ...rows])
}

function watches({ instances, ledger, atMs }: StatusReport): string {
  const live = instances.flatMap((instance) => instance.watches)
  const header = [
    'WATCH',
    'PHASE',
    'POSITION',
    'LAST CONTACT',
    'OBSERVED',
    'UNMATCHED',
    'DROPPED',
    'MATCHED',
    'LAST ERROR',
  ]
  const rows = live.map((watch) => {
    const counts = ledger.watches[watch.key]
    const numbers = [counts?.observed, counts?.unmatched, counts?.dropped, counts?.matched].map((n) =>
      String(n ?? 0),
    )
    return [
      watch.title,
      watch.phase,
      watch.resourceVersion,
      contact(watch, atMs),
      ...numbers,
      short(watch.lastError),
    ]
  })
  return rows.length === 0 ? 'no watches\n' : table([header, ...rows])
}

function contact(watch: WatchStatus, now: number): string {
  return watch.lastContactMs === 0 ? '-' : `${duration(now - watch.lastContactMs)} ago`
}

function sinks({ instances, ledger, atMs }: StatusReport): string {
  const header = ['SINK', 'HEALTH', 'ENQUEUED', 'DELIVERED', 'DEAD', 'PENDING', 'OLDEST', 'LAST ERROR']
  const rows = Object.entries(ledger.sinks).map(([name, counts]) => {
    const views = instances.flatMap((instance) => instance.sinks.filter(({ sink }) => sink === name))
    const failing = views.find(({ healthy }) => !healthy)
    const health = views.length === 0 ? 'not in use' : failing ? 'failing' : 'ok'
    const oldest = counts.oldestMs === undefined ? '-' : duration(atMs - counts.oldestMs)
    const numbers = [counts.enqueued, counts.delivered, counts.dead, counts.pending].map(String)
    return [name, health, ...numbers, oldest, short(failing?.lastError)]
  })
  return rows.length === 0 ? 'no deliveries yet\n' : table([header, ...rows])
}

function ledger({ ledger }: StatusReport): string {
  return ledger.balanced
    ? 'ledger: balanced\n'
    : 'ledger: NOT BALANCED; please report this with the output of `kubeherald status --json --verify`\n'
}

function short(text: string | undefined): string {
  if (!text) return ''
  const line = printable(text)
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
