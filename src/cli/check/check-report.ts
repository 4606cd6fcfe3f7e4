import { type Problem, withShortWords } from '../../config/problem.ts'
import { printableJson } from '../../printable.ts'

/** What a check found outside of the file: of the cluster, of Redis, of a sink. */
export interface Finding {
  severity: 'error' | 'warning'
  message: string
}

/** What a check of a configuration tells machines. */
export interface CheckResult {
  file: string
  /** Nothing of it is an error. */
  good: boolean
  exitCode: number
  problems: readonly (Omit<Problem, 'absent'> | Finding)[]
  /** How many more problems there are, where there are very many. */
  more?: number
  /** What the file refers to and is not here. */
  absent: readonly Omit<Problem, 'absent'>[]
  cluster?: { name: string; watches: readonly WatchedSource[] }
  /** Why the cluster was not asked. */
  notAsked?: string
  counts?: { watch: number; sinks: number; rules: number }
}

/** What the cluster said, or why it was not asked. */
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

/** Gathers what a check finds: as it goes for people, at the end for machines. */
export class CheckReport {
  readonly isJson: boolean
  readonly #problems: (Problem | Finding)[] = []

  constructor(isJson: boolean) {
    this.isJson = isJson
  }

  get warnings(): number {
    return this.#problems.filter(({ severity }) => severity === 'warning').length
  }

  get errors(): number {
    return this.#problems.length - this.warnings
  }

  /** For people only. */
  say(text: string): void {
    if (!this.isJson) process.stdout.write(text)
  }

  /** What is wrong outside of the file, or beyond what it says. */
  tell(severity: Finding['severity'], message: string): void {
    this.#problems.push({ severity, message })
    this.say(`  ${severity}: ${message}\n`)
  }

  /** Problems with places, in the words that people see. */
  tellProblems(problems: readonly Problem[], shown: string): void {
    for (const it of problems) if (!it.absent) this.#problems.push(withShortWords(it))
    this.say(shown)
  }

  /** The end; gives the exit code. */
  end(result: Omit<CheckResult, 'problems' | 'good'>): number {
    const warnsOnly = ({ severity }: { severity: string }) => Number(severity === 'warning')
    const more = this.#problems.length - MAX_PROBLEMS
    const all = this.#problems.map(withoutAbsent)
    const problems =
      more > 0 ? all.toSorted((a, b) => warnsOnly(a) - warnsOnly(b)).slice(0, MAX_PROBLEMS) : all
    const told = { ...result, good: this.errors === 0, problems, ...(more > 0 && { more }) }
    if (this.isJson) process.stdout.write(`${printableJson(told, 2)}\n`)
    return result.exitCode
  }
}

export function withoutAbsent<It extends object>(it: It): Omit<It, 'absent'> {
  const { absent: _, ...rest } = it as It & { absent?: true }
  return rest
}
