import type { SinkType } from '../sink.ts'
import { Bench } from './bench.ts'
import type { CheckBody } from './check.ts'
import { abortChecks } from './checks-abort.ts'
import { deliveryChecks } from './checks-delivery.ts'
import { faultChecks } from './checks-faults.ts'
import { lifeChecks } from './checks-life.ts'
import { memoryChecks } from './checks-memory.ts'
import { typeChecks } from './checks-type.ts'
import { ConformanceFault, Skip } from './fault.ts'
import type { Setup } from './target.ts'

const CHECKS: Readonly<Record<string, CheckBody>> = {
  ...typeChecks,
  ...deliveryChecks,
  ...faultChecks,
  ...abortChecks,
  ...lifeChecks,
  ...memoryChecks,
}

/** One thing that the contract asks of a sink. */
export interface Check {
  readonly name: string
  /** Starts a target, looks, and stops it. Throws what the sink does wrong. */
  run(): Promise<CheckResult>
}

export type CheckResult = { kind: 'passed' } | { kind: 'skipped'; why: string }

/** What became of all checks. */
export interface Report {
  passed: string[]
  skipped: { name: string; why: string }[]
  failed: { name: string; error: Error }[]
}

/** All checks of the contract for a sink type, each on its own: one test each in the runner of your choice. */
export function conformance<C, R>(type: SinkType<C, R>, setup: Setup): Check[] {
  return Object.entries(CHECKS).map(([name, body]) => ({
    name,
    async run() {
      const excuse = setup.excused?.[name]
      if (excuse !== undefined) return { kind: 'skipped', why: excuse }
      return runCheck(type as SinkType, setup, body)
    },
  }))
}

/** Runs all checks, one after the other; throws a report of those that failed. */
export async function runConformance<C, R>(type: SinkType<C, R>, setup: Setup): Promise<Report> {
  const report: Report = { passed: [], skipped: [], failed: [] }
  for (const { name, run } of conformance(type, setup)) {
    try {
      const result = await run()
      if (result.kind === 'passed') report.passed.push(name)
      else report.skipped.push({ name, why: result.why })
    } catch (error) {
      report.failed.push({ name, error: error as Error })
    }
  }
  if (report.failed.length > 0) throw new ConformanceFault(describeReport(type.type, report))
  return report
}

/** A report for people: what failed and why, what was skipped and why, how many passed. */
export function describeReport(type: string, { passed, skipped, failed }: Report): string {
  return [
    `sink type ${type}: ${passed.length} checks passed, ${skipped.length} skipped, ${failed.length} failed`,
    ...failed.map(({ name, error }) => `  failed: ${name}\n          ${error.message}`),
    ...skipped.map(({ name, why }) => `  skipped: ${name} (${why})`),
  ].join('\n')
}

async function runCheck(type: SinkType, setup: Setup, body: CheckBody): Promise<CheckResult> {
  const unhandled: unknown[] = []
  const note = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', note)
  try {
    await using bench = await Bench.start(type, setup)
    await body(bench)
    await bench.target.faults?.restore()
    await bench.finish()
    await new Promise(setImmediate)
  } catch (error) {
    if (error instanceof Skip) return { kind: 'skipped', why: error.message }
    throw error
  } finally {
    process.off('unhandledRejection', note)
  }
  if (unhandled.length > 0)
    throw new ConformanceFault(`a rejection was left unhandled: ${String((unhandled[0] as Error)?.message)}`)
  return { kind: 'passed' }
}
