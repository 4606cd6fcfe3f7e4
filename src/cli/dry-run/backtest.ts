import { randomBytes } from 'node:crypto'
import { createDryRun } from '../../app/dry-run/dry-run.ts'
import { replayOf } from '../../app/dry-run/journal-events.ts'
import type { RelatedKeys } from '../../model/event.ts'
import type { JournalSurroundings } from '../../model/journal-record.ts'
import { listed } from '../../render/summary/phrasing.ts'
import { journalExtent } from '../../store/commit/journal.ts'
import { printable } from '../../text/printable.ts'
import { counted } from '../../text/quantities.ts'
import type { MetadataRequirements } from '../../watch/metadata/metadata-requirements.ts'
import type { PluginOptions } from '../load-config/configuration.ts'
import { readDryConfiguration } from '../load-config/configuration.ts'
import { outputPaint } from '../output/colour.ts'
import { dataText, type OutputOptions } from '../output/format.ts'
import { isQuiet, note } from '../output/notes.ts'
import { openQueue, type QueueOptions } from '../queue/open-queue.ts'
import { durationOf } from '../usage-error.ts'
import { compareRuns, comparisonLines } from './compare.ts'

interface BacktestOptions extends QueueOptions, PluginOptions, OutputOptions {
  rules: string
  since?: string
  examples?: number
  failOnDifference?: boolean
}

const EXAMPLES = 5
const PROGRESS_MS = 500

/** Replays the journal through two configurations and prints the differences in what they send. */
export async function backtest(options: BacktestOptions): Promise<number> {
  const sinceMs = options.since === undefined ? 0 : Date.now() - durationOf('--since', options.since)
  const now = await readDryConfiguration(options.config, options)
  const next = await readDryConfiguration(options.rules, options)
  await using queue = await openQueue(options)
  const { oldestMs } = await journalExtent(queue.redis, queue.keys)
  if (oldestMs === undefined) throw new Error(EMPTY)
  const print = (text: string) => void process.stdout.write(now.hide(next.hide(text)))
  const progress = createProgress()
  const runs = [await createDryRun(now), await createDryRun(next)] as const
  const needs = runs.map(({ snapshot }) => snapshot.needs)
  const recorded = new Set<string>()
  let unknown = 0
  const events = replayOf(queue, {
    sinceMs,
    cluster: queue.cluster,
    salt: randomBytes(16),
    named: (resource) => {
      const tests = runs.flatMap(({ snapshot }) => snapshot.named(resource) ?? [])
      return (way) => tests.some((test) => test(way))
    },
    inTemplates: unionOf(needs.map(({ inTemplates }) => inTemplates)),
    onRelated(related) {
      for (const key of Object.keys(related)) recorded.add(key)
    },
    onUnknown(resource) {
      if (runs.some(({ snapshot }) => snapshot.keepsPrevious(resource))) unknown++
    },
  })
  const { examples = EXAMPLES } = options
  const result = await compareRuns(...runs, events, {
    examples,
    untilMs: Date.now(),
    onProgress: progress.at,
  })
  progress.end()
  const { events: count, firstMs, lastMs, total } = result
  if (count === 0) note(`note: the journal has nothing since then; it begins at ${timeOf(oldestMs)}\n`)
  if (unknown > 0) note(`note: ${unknownNote(unknown)}\n`)
  for (const it of unwatchedNote(result.unwatched)) note(`note: ${printable(it)}\n`)
  const { uncertain } = result
  if (uncertain.length > 0) note(`note: ${printable(uncertainNote(uncertain))}\n`)
  for (const missing of count > 0 ? missingIn(recorded, needs) : []) note(`note: ${missing}\n`)
  if (options.output !== 'table')
    print(dataText({ since: timeOf(firstMs), unknownBefore: unknown, ...result }, options.output))
  else {
    const span = count === 0 ? '' : ` from ${timeOf(firstMs)} to ${timeOf(lastMs)}`
    const head = `${count.toLocaleString('en-US')} ${count === 1 ? 'event' : 'events'}${span}: ${now.file} → ${next.file}`
    print(`${[head, '', ...comparisonLines(result, outputPaint())].join('\n')}\n`)
  }
  const differs = Object.values(total).some((it) => it > 0)
  return (differs || uncertain.length > 0) && options.failOnDifference ? 1 : 0
}

const EMPTY =
  'there is no journal: write "journal: { keep: 24h }" into the configuration of the kubeherald that runs, and come back when it has seen something'

/** The previous object of the first change of an object in the journal is unknown. */
function unknownNote(n: number): string {
  const changes =
    n === 1
      ? '1 change is the first of its object'
      : `${n.toLocaleString('en-US')} changes are the first of their objects`
  return `${changes} in the journal, so what was before is not known: rules that ask for it (changed, from, to-state, condition, oldObject) may have sent more than is shown here`
}

/** A cluster may know a kind by a name that only it has. */
function unwatchedNote(counts: Readonly<Record<string, number>>): string[] {
  const kinds = Object.keys(counts)
  if (kinds.length === 0) return []
  const total = Object.values(counts).reduce((sum, it) => sum + it, 0)
  return [`neither "watch" selects ${counted(total, 'event')}, which no rule gets: ${listed(kinds)}`]
}

function uncertainNote(kinds: readonly string[]): string {
  return `"watch" may select ${listed(kinds)} by a name that only a cluster knows, so whether something differs is uncertain: write the kind`
}

function unionOf(all: readonly RelatedKeys[]): RelatedKeys {
  const keysOf = (field: keyof RelatedKeys) => [...new Set(all.flatMap((it) => it[field]))]
  return {
    namespaceLabels: keysOf('namespaceLabels'),
    namespaceAnnotations: keysOf('namespaceAnnotations'),
    regardingLabels: keysOf('regardingLabels'),
    regardingAnnotations: keysOf('regardingAnnotations'),
  }
}

/** Related metadata that a configuration needs, and no record of the journal has: rules of that time did not use it. */
function missingIn(recorded: ReadonlySet<string>, needs: readonly MetadataRequirements[]): string[] {
  const kinds: [isNeeded: boolean, keys: (keyof JournalSurroundings)[], name: string][] = [
    [
      needs.some((it) => it.namespaceMetadata),
      ['namespaceLabels', 'namespaceAnnotations'],
      'labels and annotations of namespaces',
    ],
    [needs.some((it) => it.owners), ['owners'], 'owners beyond the controller of an object'],
    [
      needs.some((it) => it.regardingMetadata || it.regardingOwners),
      ['regarding'],
      'labels, annotations and owners of the objects that Events regard',
    ],
  ]
  return kinds
    .filter(([isNeeded, keys]) => isNeeded && !keys.some((key) => recorded.has(key)))
    .map(
      ([, , name]) =>
        `the journal has no ${name}: rules that use them may send more or less than is shown here`,
    )
}

function timeOf(ms: number | undefined): string {
  return ms === undefined ? '' : `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** Shows progress on a terminal, unless quiet. */
function createProgress() {
  const output = process.stderr
  const isShown = output.isTTY === true && !isQuiet()
  let shownMs = performance.now()
  let wasShown = false
  return {
    at(events: number, atMs: number): void {
      if (!isShown || performance.now() - shownMs < PROGRESS_MS) return
      shownMs = performance.now()
      wasShown = true
      output.write(`\r${events.toLocaleString('en-US')} events, at ${timeOf(atMs)}\u001b[K`)
    },
    end(): void {
      if (wasShown) output.write('\r\u001b[K')
    },
  }
}
