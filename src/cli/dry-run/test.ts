import { writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createDryRun } from '../../app/dry-run/dry-run.ts'
import type { Problem } from '../../config/problem.ts'
import { reasonOf, textOf } from '../../config/read-text.ts'
import { printable } from '../../text/printable.ts'
import { clusterName } from '../environment.ts'
import {
  badConfiguration,
  type DryConfiguration,
  type PluginOptions,
  readDryConfiguration,
} from '../load-config/configuration.ts'
import { fileFault, readPlainFile } from '../load-config/file-reads.ts'
import { outputPaint, type Paint } from '../output/colour.ts'
import { dataText, type OutputOptions } from '../output/format.ts'
import { UsageError } from '../usage-error.ts'
import type { Mismatch } from './expectations.ts'
import { readObjects } from './read-objects.ts'
import { type RunTestOptions, runTest, type TestResult } from './run-test.ts'
import { findTests, type TestCase } from './test-files.ts'

interface TestOptions extends PluginOptions, OutputOptions {
  config?: string
  filter?: string
  junit?: string
  coverage?: boolean
}

/** Runs the tests of a configuration: 0 when all pass, 1 when one fails, 2 when they cannot be run. */
export async function test(files: readonly string[], options: TestOptions): Promise<number> {
  const begunMs = performance.now()
  const configuration = await readDryConfiguration(options.config, options)
  const print = (text: string) => void process.stdout.write(configuration.hide(text))
  const { cases, problems, texts } = findTests(files, configuration)
  if (problems.length > 0) throw badTests(problems, texts)
  const chosen = cases.filter(({ name }) => matches(name, options.filter))
  requireSome(cases, chosen, configuration, options)
  const paint = outputPaint()
  const { output } = options
  const results: TestResult[] = []
  for (const it of chosen) {
    const result = await runTest(it, runOptions(configuration))
    if (result.problems.length > 0) throw badTests(result.problems, texts)
    if (output === 'table') print(heading(it, results.at(-1)?.test, paint) + resultText(result, paint))
    results.push(result)
  }
  if (options.junit !== undefined) writeJunit(options.junit, results, configuration.hide)
  const rules = rulesOf(configuration)
  const uncovered = options.coverage ? uncoveredOf(rules, results) : undefined
  if (output !== 'table') print(dataText({ ...resultJson(results), ...(uncovered && { uncovered }) }, output))
  else {
    print(summaryText(results, performance.now() - begunMs, paint))
    if (uncovered) print(coverageText(uncovered, rules.length, paint))
  }
  return results.some(({ mismatches }) => mismatches.length > 0) ? 1 : 0
}

function heading({ file }: TestCase, before: TestCase | undefined, paint: Paint): string {
  if (file === before?.file) return ''
  return `${before ? '\n' : ''}${paint('bold', printable(file))}\n`
}

function matches(name: string, filter: string | undefined): boolean {
  return filter === undefined || name.toLowerCase().includes(filter.toLowerCase())
}

function badTests(problems: readonly Problem[], texts: ReadonlyMap<string, string>): UsageError {
  const files = [...new Set(problems.map(({ file }) => file))]
  return badConfiguration(files.length === 1 ? (files[0] as string) : 'the tests', problems, texts)
}

function requireSome(
  cases: readonly TestCase[],
  chosen: readonly TestCase[],
  { file }: DryConfiguration,
  { filter }: TestOptions,
): void {
  if (chosen.length > 0) return
  if (cases.length > 0) throw new UsageError(`no test has "${filter}" in its name; there are ${cases.length}`)
  throw new UsageError(
    `${file} has no tests: write them under "tests", or into a file such as rules_test.yaml next to it; "test --help" shows one`,
  )
}

function runOptions(configuration: DryConfiguration): RunTestOptions {
  return {
    createRun: () => createDryRun(configuration),
    cluster: clusterName(configuration.config, () => undefined),
    readFile(name, { file }) {
      const path = resolve(dirname(file), name)
      try {
        const decoded = textOf(readPlainFile(path))
        if ('fault' in decoded) return { fault: `${name} cannot be read: ${decoded.fault}` }
        const read = readObjects(name, decoded.text)
        if (read.ok) return { values: read.values }
        const [first] = read.problems
        return { fault: `${name} cannot be read: line ${first?.line}: ${first?.message}` }
      } catch (error) {
        return { fault: `${name} cannot be read: ${reasonOf(error)}` }
      }
    },
  }
}

function writeJunit(file: string, results: readonly TestResult[], hide: (text: string) => string): void {
  try {
    writeFileSync(file, hide(junitXml(results)))
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${fileFault(error)}`)
  }
}

interface PlacedRule {
  rule: string
  /** `kubeherald.yaml:24:5` */
  place: string | undefined
}

function rulesOf({ config }: DryConfiguration): PlacedRule[] {
  return config.rules.map(({ name }, index) => ({
    rule: name,
    place: config.placeOf?.(['rules', index, 'name']),
  }))
}

/** Rules that no test saw matching. */
function uncoveredOf(rules: readonly PlacedRule[], results: readonly TestResult[]): PlacedRule[] {
  const seen = new Set(results.flatMap(({ matched }) => [...matched]))
  return rules.filter(({ rule }) => !seen.has(rule))
}

/** A test's lines: its name, and for each expectation that is not met what was expected and what came instead. */
function resultText({ test, mismatches, tookMs }: TestResult, paint: Paint): string {
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
function placeOf({ path }: Mismatch, { problem }: TestResult['test']): string {
  const { file, line, column } = problem(path, '')
  return `${file}:${line}:${column}`
}

/** `3 passed, 1 failed  (12 ms)` */
function summaryText(results: readonly TestResult[], tookMs: number, paint: Paint): string {
  const failed = results.filter(({ mismatches }) => mismatches.length > 0).length
  const passed = results.length - failed
  const counts = [
    passed > 0 || failed === 0 ? paint('good', `${passed} passed`) : '',
    failed > 0 ? paint('deciding', `${failed} failed`) : '',
  ].filter(Boolean)
  return `\n${counts.join(', ')}  ${paint('dim', `(${Math.round(tookMs)} ms)`)}\n`
}

function coverageText(uncovered: readonly PlacedRule[], total: number, paint: Paint): string {
  if (uncovered.length === 0) {
    const all = total === 1 ? 'the rule' : `each of the ${total} rules`
    return `${paint('good', `${all} matches in a test`)}\n`
  }
  const lines = uncovered.map(({ rule, place }) => `  ${rule}${place ? `  ${paint('dim', place)}` : ''}\n`)
  const of = `${uncovered.length} of ${total} ${total === 1 ? 'rule' : 'rules'}`
  return `${paint('warn', `no test shows what these do (${of}):`)}\n${lines.join('')}`
}

function resultJson(results: readonly TestResult[]): object {
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

/** The results as JUnit's XML, as CI systems read it: a suite for each file. */
function junitXml(results: readonly TestResult[]): string {
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
