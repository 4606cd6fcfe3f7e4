import type { DryRun } from '../../app/dry-run/dry-run.ts'
import { watchedBy } from '../../app/dry-run/match-report.ts'
import type { Path } from '../../config/document.ts'
import type { Problem } from '../../config/problem.ts'
import type { Moment } from '../../config/schema/test-file.ts'
import { isMap } from '../../text/plain-data.ts'
import { expandShortForm, type ObjectFault, textIn } from './complete-object.ts'
import { type Mismatch, mismatchesOf, type Step } from './expectations.ts'
import { changesIn, lastSeenMs } from './read-objects.ts'
import { createScenario, type Scenario } from './scenario.ts'
import type { GivenStep, TestCase } from './test-files.ts'

export interface TestResult {
  test: TestCase
  mismatches: readonly Mismatch[]
  /** Why it could not be run. */
  problems: readonly Problem[]
  /** Rules that matched. */
  matched: ReadonlySet<string>
  tookMs: number
}

export interface RunTestOptions {
  /** Returns a new run, without state of other tests. */
  createRun(): Promise<DryRun>
  cluster: string
  /** Returns the values of a file that a test names, or why it cannot be read. */
  readFile(name: string, test: TestCase): { values: readonly unknown[] } | { fault: string }
}

/** A Monday at noon: no test depends on the day it runs. */
const START_MS = Date.parse('2026-01-05T12:00:00Z')
/** Two runs of a test give the same hashes. */
const SALT = Buffer.alloc(16)

/** Runs one test: its changes pass through watch, rules and limits as in a cluster. */
export async function runTest(test: TestCase, options: RunTestOptions): Promise<TestResult> {
  const begunMs = performance.now()
  const run = await options.createRun()
  const scenario = createScenario({ run, cluster: options.cluster, salt: SALT, asWatched: true })
  const problems: Problem[] = []
  const matched = new Set<string>()
  const done = (mismatches: readonly Mismatch[] = []): TestResult => ({
    test,
    mismatches,
    problems,
    matched,
    tookMs: performance.now() - begunMs,
  })
  const given = changesOf(test, options, problems)
  const changes = problems.length > 0 ? undefined : withTimes(given, test, problems)
  if (!changes) return done()
  const [beginMs = START_MS] = changes.map(({ atMs }) => atMs)
  for (const { object, path } of test.surroundings)
    problems.push(...problemsAt(test, path, scenario.addRelated(object, beginMs)))
  const windows = new Windows(test, run, beginMs, problems)
  if (problems.length > 0) return done()
  for (const [index, change] of changes.entries()) {
    const { step, atMs } = change
    windows.advance(atMs)
    if (change.object === undefined) {
      windows.endOf(step)
      continue
    }
    if (changes[index - 1]?.step !== step) problems.push(...addRelated(change, scenario, test))
    if (problems.length > 0) return done()
    const applied = scenario.change(change)
    if (!applied.ok) {
      for (const fault of applied.faults)
        problems.push(...problemsAt(test, fault.of === 'old' ? step.oldPath : step.objectPath, [fault]))
      return done()
    }
    const { event } = applied
    const watched = watchedBy(run.snapshot.config.watch, event)
    // Rules never see an event that no entry of `watch` selects.
    const result = watched.entry === undefined ? undefined : run.evaluate(event, atMs)
    for (const it of result?.rules ?? []) if (it.outcome !== 'failed') matched.add(it.rule)
    windows.steps.push({ kind: 'event', event, watched, result })
    if (changes[index + 1]?.step !== step) windows.endOf(step)
  }
  windows.close()
  return done(test.expect.flatMap((expect, index) => mismatchesOf(expect, windows.at(index), run)))
}

function problemsAt(test: TestCase, path: Path, faults: readonly ObjectFault[]): Problem[] {
  return faults.map(({ path: inner, message, hint }) => test.problem([...path, ...inner], message, hint))
}

interface GivenChange {
  step: GivenStep
  object: unknown
  old?: unknown
  ownMs: number | undefined
}

type TimedChange = GivenChange & Pick<GivenStep, 'type' | 'synthesized'> & { atMs: number }

/** Reads the objects of the steps and of the files that they name. */
function changesOf(test: TestCase, { readFile }: RunTestOptions, problems: Problem[]): GivenChange[] {
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
  return test.given.flatMap((step): GivenChange[] => {
    if (step.object === undefined) return [{ step, object: undefined, ownMs: undefined }]
    const [old, ...more] = step.old === undefined ? [] : load(step.old, step.oldPath)
    if (more.length > 0) problems.push(test.problem(step.oldPath, 'holds several objects'))
    return load(step.object, step.objectPath).map(({ object, type }) => ({
      step: step.type === undefined && type ? { ...step, type } : step,
      object,
      old: old?.object,
      ownMs: lastSeenMs(object),
    }))
  })
}

/** Adds the time of each change, and repeats those with `times`. */
function withTimes(
  changes: readonly GivenChange[],
  test: TestCase,
  problems: Problem[],
): TimedChange[] | undefined {
  const timed: TimedChange[] = []
  const [first] = changes
  const beginMs = (first && (absoluteMs(first.step.at) ?? first.ownMs)) ?? START_MS
  let lastMs = beginMs
  for (const change of changes) {
    const { step, ownMs } = change
    const { at, times = 1, every = 0, type, synthesized } = step
    const startMs = momentMs(at, beginMs) ?? Math.max(ownMs ?? lastMs, lastMs)
    if (startMs < lastMs) {
      problems.push(test.problem([...step.path, 'at'], 'is before the time of the step above'))
      return undefined
    }
    for (let i = 0; i < times; i++) timed.push({ ...change, type, synthesized, atMs: startMs + i * every })
    lastMs = startMs + (times - 1) * every
  }
  return timed
}

/** Adds the related metadata of a step, which counts from then on. */
function addRelated({ step, object, atMs }: TimedChange, scenario: Scenario, test: TestCase): Problem[] {
  const { namespaceLabels: labels, surroundings = [], path } = step
  const problems = surroundings.flatMap((it, index) =>
    problemsAt(test, [...path, 'surroundings', index], scenario.addRelated(it, atMs)),
  )
  if (labels)
    scenario.addRelated({ kind: 'Namespace', metadata: { name: namespaceOf(object), labels } }, atMs)
  return problems
}

function namespaceOf(short: unknown): string {
  const object = expandShortForm(short)
  if (!isMap(object)) return 'default'
  const about = object['involvedObject'] ?? object['regarding']
  return textIn(object['metadata'], 'namespace') ?? textIn(about, 'namespace') ?? 'default'
}

function absoluteMs(at: Moment | undefined): number | undefined {
  return at && 'atMs' in at ? at.atMs : undefined
}

/** The steps of a test, split among its expectations: each covers the steps since the one before. */
class Windows {
  readonly steps: Step[] = []
  readonly #test: TestCase
  readonly #run: DryRun
  /** The end of each; undefined for those that end with the step at the same position. */
  readonly #times: readonly (number | undefined)[]
  readonly #ends: (number | undefined)[] = []

  constructor(test: TestCase, run: DryRun, beginMs: number, problems: Problem[]) {
    this.#test = test
    this.#run = run
    this.#times = test.expect.map(({ at }) => momentMs(at, beginMs))
    let last = Number.NEGATIVE_INFINITY
    for (const [index, { path }] of test.expect.entries()) {
      const time = this.#times[index]
      if (time !== undefined && time < last)
        problems.push(test.problem([...path, 'at'], 'is before the one above'))
      last = Math.max(last, time ?? last)
      const hasPlace = index < test.given.length || time !== undefined
      if (!hasPlace)
        problems.push(
          test.problem(path, 'nothing is given at its place in the list: it needs a time', 'at: 10m'),
        )
    }
  }

  /** Runs timers up to the next change. */
  advance(toMs: number): void {
    for (const [index, time] of this.#times.entries())
      if (time !== undefined && time < toMs && this.#ends[index] === undefined) this.#end(index, time)
    this.#advance(toMs)
  }

  /** The changes of the step are complete. */
  endOf(step: GivenStep): void {
    const place = this.#test.given.findIndex(({ path }) => path === step.path)
    if (this.#test.isWhole || this.#times[place] !== undefined) return
    if (place < this.#times.length) this.#ends[place] = this.steps.length
  }

  /** After the last change only timers run. */
  close(): void {
    for (const [index, time] of this.#times.entries())
      if (time !== undefined && this.#ends[index] === undefined) this.#end(index, time)
  }

  at(index: number): readonly Step[] {
    const from = index === 0 ? 0 : (this.#ends[index - 1] ?? 0)
    return this.steps.slice(from, this.#ends[index] ?? this.steps.length)
  }

  #end(index: number, time: number): void {
    this.#advance(time)
    this.#ends[index] = this.steps.length
  }

  #advance(toMs: number): void {
    for (const timer of this.#run.advance(toMs)) this.steps.push({ kind: 'timer', timer })
  }
}

function momentMs(at: Moment | undefined, beginMs: number): number | undefined {
  return at && ('atMs' in at ? at.atMs : beginMs + at.afterMs)
}
