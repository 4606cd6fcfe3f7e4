import { type Problem, shortened } from '../../config/problem.ts'
import { dataText, type OutputOptions } from '../output/format.ts'

/** A finding in the cluster, Redis or a sink. */
export interface Finding {
  severity: 'error' | 'warning'
  message: string
}

/** The output of `check -o json`. */
export interface CheckResult {
  file: string
  /** There is no error. */
  good: boolean
  exitCode: number
  problems: readonly (Omit<Problem, 'absent' | 'about'> | Finding)[]
  /** Number of problems beyond the limit. */
  more?: number
  /** Missing variables and files that the configuration refers to. */
  absent: readonly Omit<Problem, 'absent' | 'about'>[]
  cluster?: { name: string; watches: readonly WatchedSource[] }
  /** Why the cluster was not asked. */
  notAsked?: string
  counts?: { watch: number; sinks: number; rules: number }
}

/** The result of checks outside of the file. */
export interface Asked {
  cluster?: CheckResult['cluster']
  notAsked?: string
}

export interface WatchedSource {
  title: string
  labels?: string
  fields?: string
  shards?: number
}

const MAX_PROBLEMS = 1_000

/** Prints findings immediately as text, or at the end as data. */
export class CheckReport {
  readonly #format: OutputOptions['output']
  readonly #problems: (Problem | Finding)[] = []

  constructor(format: OutputOptions['output']) {
    this.#format = format
  }

  /** Whether it prints data instead of text. */
  get isData(): boolean {
    return this.#format !== 'table'
  }

  get warnings(): number {
    return this.#problems.filter(({ severity }) => severity === 'warning').length
  }

  get errors(): number {
    return this.#problems.length - this.warnings
  }

  /** Prints text; nothing where data is printed. */
  print(text: string): void {
    if (!this.isData) process.stdout.write(text)
  }

  /** Adds a finding without a place in the file. */
  add(severity: Finding['severity'], message: string): void {
    this.#problems.push({ severity, message })
    this.print(`  ${severity}: ${message}\n`)
  }

  /** Adds problems with places; `shown` is their text. */
  addProblems(problems: readonly Problem[], shown: string): void {
    for (const it of problems) if (!it.absent) this.#problems.push(shortened(it))
    this.print(shown)
  }

  /** Prints the data and returns the exit code. */
  end(result: Omit<CheckResult, 'problems' | 'good'>): number {
    const warnsOnly = ({ severity }: { severity: string }) => Number(severity === 'warning')
    const more = this.#problems.length - MAX_PROBLEMS
    const all = this.#problems.map(withoutAbsent)
    const problems =
      more > 0 ? all.toSorted((a, b) => warnsOnly(a) - warnsOnly(b)).slice(0, MAX_PROBLEMS) : all
    const data = { ...result, good: this.errors === 0, problems, ...(more > 0 && { more }) }
    if (this.#format !== 'table') process.stdout.write(dataText(data, this.#format))
    return result.exitCode
  }
}

export function withoutAbsent<It extends object>(it: It): Omit<It, 'absent' | 'about'> {
  const { absent: _, about: _a, ...rest } = it as It & { absent?: true; about?: string }
  return rest
}
