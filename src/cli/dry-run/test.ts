import { writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Problem } from '../../config/problem.ts'
import { reasonOf, textOf } from '../../config/read-text.ts'
import { createDryRun } from '../../dry-run/dry-run.ts'
import { junitXml } from '../../dry-run/junit.ts'
import { createPaint, type Paint, wantsColour } from '../../dry-run/paint.ts'
import { readObjects } from '../../dry-run/read-objects.ts'
import { type RunTestOptions, runTest, type TestResult } from '../../dry-run/run-test.ts'
import type { TestCase } from '../../dry-run/test-case.ts'
import { coverageText, resultJson, resultText, summaryText } from '../../dry-run/test-report.ts'
import { printable, printableJson } from '../../printable.ts'
import { clusterName } from '../cluster-name.ts'
import { badConfiguration, type PluginOptions } from '../reading/configuration.ts'
import { type DryConfiguration, readDryConfiguration } from '../reading/dry-configuration.ts'
import { fileFault } from '../reading/file-fault.ts'
import { MAX_FILE_BYTES, readPlainFile } from '../reading/plain-file.ts'
import { UsageError } from '../usage-error.ts'
import { findTests } from './find-tests.ts'

export interface TestOptions extends PluginOptions {
  config?: string
  filter?: string
  junit?: string
  json?: boolean
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
  const paint = createPaint(!options.json && wantsColour(process.stdout, process.env))
  const results: TestResult[] = []
  for (const it of chosen) {
    const result = await runTest(it, runOptions(configuration))
    if (result.problems.length > 0) throw badTests(result.problems, texts)
    if (!options.json) print(heading(it, results.at(-1)?.test, paint) + resultText(result, paint))
    results.push(result)
  }
  if (options.junit !== undefined) writeJunit(options.junit, results, configuration.hide)
  if (options.json) print(`${printableJson(resultJson(results), 2)}\n`)
  else print(summaryText(results, performance.now() - begunMs, paint))
  if (options.coverage && !options.json) print(coverageText(rulesOf(configuration), results, paint))
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
    `${file} has no tests: write them under "tests", or into a file such as rules_test.yaml beside it; "test --help" shows one`,
  )
}

function runOptions(configuration: DryConfiguration): RunTestOptions {
  return {
    createRun: () => createDryRun(configuration),
    cluster: clusterName(configuration.config, () => undefined),
    readFile(name, { file }) {
      const path = resolve(dirname(file), name)
      try {
        const decoded = textOf(readPlainFile(path, MAX_FILE_BYTES))
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

function rulesOf({ config }: DryConfiguration) {
  return config.rules.map(({ name }, index) => ({ name, place: config.placeOf?.(['rules', index, 'name']) }))
}
