import { readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Problem } from '../../config/problem.ts'
import { reasonOf, textOf } from '../../config/read-text.ts'
import { type TestCase, testsIn } from '../../dry-run/test-case.ts'
import { readTestFile, unknownNames } from '../../dry-run/test-file.ts'
import type { DryConfiguration } from '../reading/dry-configuration.ts'
import { MAX_FILE_BYTES, readPlainFile } from '../reading/plain-file.ts'
import { UsageError } from '../usage-error.ts'

export interface FoundTests {
  cases: readonly TestCase[]
  problems: readonly Problem[]
  /** Of all files, by the names that problems have. */
  texts: ReadonlyMap<string, string>
}

/** The tests of the files; without any, those of the configuration and of the `*_test.yaml` beside its files. */
export function findTests(files: readonly string[], configuration: DryConfiguration): FoundTests {
  const texts = new Map(configuration.texts)
  const own = files.length > 0 ? { cases: [], problems: [] } : testsIn(configuration.document)
  const read = (files.length > 0 ? files.flatMap(testFilesOf) : besides([...texts.keys()])).map((file) => {
    const text = textIn(file)
    texts.set(file, text)
    return readTestFile(file, text)
  })
  const cases = [...own.cases, ...read.flatMap((it) => it.cases)]
  const problems = [...own.problems, ...read.flatMap((it) => it.problems)]
  return { cases, problems: [...problems, ...unknownNames(cases, configuration.config)], texts }
}

/**
 * Files of tests beside those of the configuration that are no part of it. `x_test.yaml` goes with `x.yaml` where there is
 * one: then it is of no other configuration.
 */
function besides(files: readonly string[]): string[] {
  const known = new Set(files.map((file) => resolve(file)))
  const folders = [...new Set(files.map(dirname))]
  return folders.flatMap((folder) => {
    const names = namesIn(folder)
    const isOfAnother = (test: string) => {
      const stem = test.replace(/_test\.ya?ml$/, '')
      const own = [`${stem}.yaml`, `${stem}.yml`].filter((name) => names.includes(name))
      return own.length > 0 && !own.some((name) => known.has(resolve(folder, name)))
    }
    return names
      .filter((name) => /_test\.ya?ml$/.test(name) && !isOfAnother(name))
      .toSorted()
      .map((name) => join(folder, name))
      .filter((file) => !known.has(resolve(file)))
  })
}

/** Of a folder all that it has. */
function testFilesOf(file: string): string[] {
  if (!statSync(file, { throwIfNoEntry: false })?.isDirectory()) return [file]
  const names = namesIn(file).filter((name) => /_test\.ya?ml$/.test(name))
  if (names.length === 0) throw new UsageError(`there is no file *_test.yaml in ${file}`)
  return names.toSorted().map((name) => join(file, name))
}

/** A set that comes with the program has no folder. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function textIn(file: string): string {
  try {
    const result = textOf(readPlainFile(file, MAX_FILE_BYTES))
    if ('text' in result) return result.text
    throw new UsageError(`cannot read the tests ${file}: ${result.fault}`)
  } catch (error) {
    throw error instanceof UsageError
      ? error
      : new UsageError(`cannot read the tests ${file}: ${reasonOf(error)}`)
  }
}
