import type { Path } from '../config/document.ts'
import type { Problem } from '../config/problem.ts'
import type { Moment } from '../config/test-schema.ts'
import { readKubeEvent } from '../watch/kube-event.ts'
import type { DryRun } from './dry-run.ts'
import { type Mismatch, mismatchesOf } from './expectations.ts'
import { isPlainMap, textIn } from './plain.ts'
import { changesIn } from './read-changes.ts'
import { unshortened } from './short-object.ts'
import { createStage, type Stage } from './stage.ts'
import type { GivenStep, TestCase } from './test-case.ts'
import { watchedBy } from './watched.ts'
import { momentMs, Windows } from './windows.ts'

export interface TestResult {
  test: TestCase
  mismatches: readonly Mismatch[]
  /** It could not be run. */
  problems: readonly Problem[]
  /** Rules that matched. */
  matched: ReadonlySet<string>
  tookMs: number
}

export interface RunTestOptions {
  /** A new one: nothing of another test is left in it. */
  createRun(): Promise<DryRun>
  cluster: string
  /** The values of a file that a test names, or why there are none. */
  readFile(name: string, test: TestCase): { values: readonly unknown[] } | { fault: string }
}

/** A Monday at noon, so that no test depends on the day when it runs. */
const BEGINNING_MS = Date.parse('2026-01-05T12:00:00Z')
/** Two runs of a test give the same hashes. */
const SALT = Buffer.alloc(16)

/** Runs one test: what is given goes through watch, rules and limits as it would in a cluster. */
export async function runTest(test: TestCase, options: RunTestOptions): Promise<TestResult> {
  const begunMs = performance.now()
  const run = await options.createRun()
  const stage = createStage({ run, cluster: options.cluster, salt: SALT })
  const problems: Problem[] = []
  const told = toldBy(test, options, problems)
  const timed = problems.length > 0 ? undefined : timedBy(told, test, problems)
  const matched = new Set<string>()
  const done = (mismatches: readonly Mismatch[] = []): TestResult => ({
    test,
    mismatches,
    problems,
    matched,
    tookMs: performance.now() - begunMs,
  })
  if (!timed) return done()
  know(test, stage, timed, problems)
  const [beginMs = BEGINNING_MS] = timed.map(({ atMs }) => atMs)
  const windows = new Windows(test, run, beginMs, problems)
  if (problems.length > 0) return done()
  for (const [index, change] of timed.entries()) {
    windows.pass(change.atMs)
    if (change.object === undefined) {
      windows.endOf(change.step)
      continue
    }
    if (timed[index - 1]?.step !== change.step) knowAt(change, stage, test, problems)
    if (problems.length > 0) return done()
    const staged = stage.tell(change)
    if (!staged.ok) {
      const { step } = change
      for (const { of, path, message, hint } of staged.faults)
        problems.push(
          test.problem([...(of === 'old' ? step.oldPath : step.objectPath), ...path], message, hint),
        )
      return done()
    }
    const { event } = staged
    const watched = watchedBy(run.generation.config.watch, event)
    // What no entry of `watch` brings, rules never see.
    const fate = watched.entry === undefined ? undefined : run.feed(event, change.atMs)
    for (const it of fate?.rules ?? []) if (it.fate !== 'failed') matched.add(it.rule)
    windows.steps.push({ kind: 'event', event, watched, fate })
    if (timed[index + 1]?.step !== change.step) windows.endOf(change.step)
  }
  windows.close()
  return done(test.expect.flatMap((expect, index) => mismatchesOf(expect, windows.at(index), run)))
}

interface ToldChange {
  step: GivenStep
  object: unknown
  old?: unknown
  ownMs: number | undefined
}

type TimedChange = ToldChange & {
  type: GivenStep['type']
  synthesized: GivenStep['synthesized']
  atMs: number
}

/** Reads the files that are named. */
function toldBy(test: TestCase, { readFile }: RunTestOptions, problems: Problem[]): ToldChange[] {
  const load = (value: unknown, path: Path): { object: unknown; type?: GivenStep['type'] }[] => {
    if (typeof value !== 'string') return [{ object: value }]
    const read = readFile(value, test)
    if ('fault' in read) {
      problems.push(test.problem(path, read.fault))
      return []
    }
    const changes = read.values.map(changesIn)
    if (changes.length > 0 && changes.every((it) => it !== undefined)) return changes.flat()
    problems.push(test.problem(path, `${value} holds no Kubernetes object: it needs apiVersion and kind`))
    return []
  }
  return test.given.flatMap((step): ToldChange[] => {
    if (step.object === undefined) return [{ step, object: undefined, ownMs: undefined }]
    const [old, ...more] = step.old === undefined ? [] : load(step.old, step.oldPath)
    if (more.length > 0) problems.push(test.problem(step.oldPath, 'holds several objects'))
    return load(step.object, step.objectPath).map(({ object, type }) => ({
      step: step.type === undefined && type ? { ...step, type } : step,
      object,
      old: old?.object,
      ownMs: ownTimeOf(object),
    }))
  })
}

/** An Event's last occurrence, where the object says it. */
function ownTimeOf(object: unknown): number | undefined {
  if (textIn(object, 'kind') !== 'Event') return undefined
  const { lastSeen } = readKubeEvent(object as Record<string, unknown>)
  const atMs = Date.parse(lastSeen ?? '')
  return Number.isNaN(atMs) ? undefined : atMs
}

/** Gives each change its time, and repeats those that come several times. */
function timedBy(
  told: readonly ToldChange[],
  test: TestCase,
  problems: Problem[],
): TimedChange[] | undefined {
  const timed: TimedChange[] = []
  const [first] = told
  const beginMs = (first && (absoluteMs(first.step.at) ?? first.ownMs)) ?? BEGINNING_MS
  let lastMs = beginMs
  for (const change of told) {
    const { step, ownMs } = change
    const { at, times = 1, every = 0, type, synthesized } = step
    const startMs = momentMs(at, beginMs) ?? Math.max(ownMs ?? lastMs, lastMs)
    if (startMs < lastMs) {
      problems.push(test.problem([...step.path, 'at'], 'is before what stands above it'))
      return undefined
    }
    for (let i = 0; i < times; i++) timed.push({ ...change, type, synthesized, atMs: startMs + i * every })
    lastMs = startMs + (times - 1) * every
  }
  return timed
}

function know(test: TestCase, stage: Stage, timed: readonly TimedChange[], problems: Problem[]): void {
  const atMs = timed[0]?.atMs ?? BEGINNING_MS
  for (const { object, path } of test.surroundings)
    for (const { path: inner, message, hint } of stage.know(object, atMs))
      problems.push(test.problem([...path, ...inner], message, hint))
}

/** What one step says of the surroundings, which holds from then on. */
function knowAt(
  { step, object, atMs }: TimedChange,
  stage: Stage,
  test: TestCase,
  problems: Problem[],
): void {
  const { namespaceLabels: labels, surroundings = [], path } = step
  for (const [index, known] of surroundings.entries())
    for (const { path: inner, message, hint } of stage.know(known, atMs))
      problems.push(test.problem([...path, 'surroundings', index, ...inner], message, hint))
  if (labels) stage.know({ kind: 'Namespace', metadata: { name: namespaceOf(object), labels } }, atMs)
}

function namespaceOf(short: unknown): string {
  const object = unshortened(short)
  if (!isPlainMap(object)) return 'default'
  const about = object['involvedObject'] ?? object['regarding']
  return textIn(object['metadata'], 'namespace') ?? textIn(about, 'namespace') ?? 'default'
}

function absoluteMs(at: Moment | undefined): number | undefined {
  return at && 'atMs' in at ? at.atMs : undefined
}
