import { printable } from '../printable.ts'
import type { Mismatch } from './expectations.ts'
import type { Paint } from './paint.ts'
import type { TestResult } from './run-test.ts'

/** A test's lines: its name, and for each expectation that is not met what was expected and what came instead. */
export function resultText({ test, mismatches, tookMs }: TestResult, paint: Paint): string {
  const name = printable(test.name)
  const ms = paint('dim', `${Math.max(1, Math.round(tookMs))} ms`)
  if (mismatches.length === 0) return `  ${paint('good', '✓')} ${name}  ${ms}\n`
  const lines = mismatches.flatMap((it) => mismatchLines(it, test, paint))
  return `  ${paint('deciding', `✗ ${name}`)}  ${ms}\n${lines.map((line) => `      ${line}\n`).join('')}`
}

function mismatchLines(mismatch: Mismatch, test: TestResult['test'], paint: Paint): string[] {
  const { key, expected, got, why } = mismatch
  return [
    `${paint('bold', key)}  ${paint('dim', placeOf(mismatch, test))}`,
    `  expected  ${paint('good', printable(expected))}`,
    `  got       ${paint('bad', printable(got))}`,
    ...why.map((line, i) => `  ${i === 0 ? 'because' : '       '}   ${printable(line)}`),
  ]
}

/** `kubeherald.yaml:34:17` */
export function placeOf({ path }: Mismatch, { problem }: TestResult['test']): string {
  const { file, line, column } = problem(path, '')
  return `${file}:${line}:${column}`
}

/** `3 passed, 1 failed  (12 ms)` */
export function summaryText(results: readonly TestResult[], tookMs: number, paint: Paint): string {
  const failed = results.filter(({ mismatches }) => mismatches.length > 0).length
  const passed = results.length - failed
  const words = [
    passed > 0 || failed === 0 ? paint('good', `${passed} passed`) : '',
    failed > 0 ? paint('deciding', `${failed} failed`) : '',
  ].filter(Boolean)
  return `\n${words.join(', ')}  ${paint('dim', `(${Math.round(tookMs)} ms)`)}\n`
}

/** Rules that no test saw matching. */
export function coverageText(
  rules: readonly { name: string; place: string | undefined }[],
  results: readonly TestResult[],
  paint: Paint,
): string {
  const seen = new Set(results.flatMap(({ matched }) => [...matched]))
  const bare = rules.filter(({ name }) => !seen.has(name))
  if (bare.length === 0) return `${paint('good', `each of the ${rules.length} rules matches in a test`)}\n`
  const lines = bare.map(({ name, place }) => `  ${name}${place ? `  ${paint('dim', place)}` : ''}\n`)
  const of = `${bare.length} of ${rules.length} ${rules.length === 1 ? 'rule' : 'rules'}`
  return `${paint('warn', `no test shows what these do (${of}):`)}\n${lines.join('')}`
}

export function resultJson(results: readonly TestResult[]): object {
  const failed = results.filter(({ mismatches }) => mismatches.length > 0).length
  return {
    passed: results.length - failed,
    failed,
    tests: results.map((result) => {
      const { test, mismatches, matched, tookMs } = result
      return {
        name: test.name,
        place: test.place,
        passed: mismatches.length === 0,
        ms: Math.round(tookMs),
        rules: [...matched],
        mismatches: mismatches.map(({ path: _, ...it }, i) => ({
          ...it,
          place: placeOf(mismatches[i] as Mismatch, test),
        })),
      }
    }),
  }
}
