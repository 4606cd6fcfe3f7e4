import type { Problem } from '../config/problem.ts'
import type { Moment } from '../config/test-schema.ts'
import type { DryRun } from './dry-run.ts'
import type { Step } from './step.ts'
import type { GivenStep, TestCase } from './test-case.ts'

/** What comes to pass in a test, and which part of it each expectation is about: all since the one before. */
export class Windows {
  readonly steps: Step[] = []
  readonly #test: TestCase
  readonly #run: DryRun
  /** When each is over; undefined for those that are over with what is given at their place. */
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
        problems.push(test.problem(path, 'nothing is given at its place in the list: say when', 'at: 10m'))
    }
  }

  /** Lets time pass up to what happens next. */
  pass(toMs: number): void {
    for (const [index, time] of this.#times.entries())
      if (time !== undefined && time < toMs && this.#ends[index] === undefined) this.#end(index, time)
    this.#advance(toMs)
  }

  /** What was given there has come. */
  endOf(step: GivenStep): void {
    const place = this.#test.given.findIndex(({ path }) => path === step.path)
    if (this.#test.isWhole || this.#times[place] !== undefined) return
    if (place < this.#times.length) this.#ends[place] = this.steps.length
  }

  /** Nothing happens any more but what is still expected. */
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
    for (const later of this.#run.advance(toMs)) this.steps.push({ kind: 'later', later })
  }
}

export function momentMs(at: Moment | undefined, beginMs: number): number | undefined {
  return at && ('atMs' in at ? at.atMs : beginMs + at.afterMs)
}
