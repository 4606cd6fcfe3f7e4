import type { TestResult } from './run-test.ts'
import { placeOf } from './test-report.ts'

/** The results as JUnit's XML, as CI systems read it: a suite for each file. */
export function junitXml(results: readonly TestResult[]): string {
  const suites = Map.groupBy(results, ({ test }) => test.file)
  const all = totals(results)
  const inner = [...suites].map(([file, own]) => {
    const cases = own.map(caseXml).join('')
    return `  <testsuite name="${escaped(file)}" ${totals(own)}>\n${cases}  </testsuite>\n`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kubeherald" ${all}>\n${inner.join('')}</testsuites>\n`
}

function totals(results: readonly TestResult[]): string {
  const failures = results.filter(({ mismatches }) => mismatches.length > 0).length
  const seconds = results.reduce((sum, { tookMs }) => sum + tookMs, 0) / 1_000
  return `tests="${results.length}" failures="${failures}" errors="0" time="${seconds.toFixed(3)}"`
}

function caseXml({ test, mismatches, tookMs }: TestResult): string {
  const { line } = test.problem([], '')
  const head = `    <testcase name="${escaped(test.name)}" classname="${escaped(test.file)}" file="${escaped(test.file)}" line="${line}" time="${(tookMs / 1_000).toFixed(3)}"`
  const failures = mismatches.map((mismatch) => {
    const { key, expected, got, why } = mismatch
    const text = [
      `${placeOf(mismatch, test)}: ${key}`,
      `expected  ${expected}`,
      `got       ${got}`,
      ...why,
    ].join('\n')
    return `      <failure message="${escaped(`${key}: expected ${expected}, got ${got}`)}">${escaped(text)}</failure>\n`
  })
  return failures.length === 0 ? `${head}/>\n` : `${head}>\n${failures.join('')}    </testcase>\n`
}

const MARKUP: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Without what XML cannot hold at all. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ' ')
    .replace(/[&<>"]/g, (it) => MARKUP[it] as string)
}
