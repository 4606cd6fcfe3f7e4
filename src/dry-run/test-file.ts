import { problemsOf } from '../config/issues.ts'
import type { Problem } from '../config/problem.ts'
import type { Config } from '../config/schema.ts'
import { suggester } from '../config/suggest.ts'
import { TestFile } from '../config/test-schema.ts'
import { isPlainMap } from './plain.ts'
import { readRawDocument } from './raw-document.ts'
import { type TestCase, testsIn } from './test-case.ts'

export interface ReadTests {
  cases: readonly TestCase[]
  problems: readonly Problem[]
}

/** Reads a file that has nothing but tests (and keys such as `x-pods`, for anchors). */
export function readTestFile(name: string, text: string): ReadTests {
  const document = readRawDocument(name, text)
  const value = document.at([])?.value
  if (!document.readable || document.problems.length > 0) return { cases: [], problems: document.problems }
  if (!isPlainMap(value))
    return { cases: [], problems: [document.problem([], 'a file of tests is a map with the key "tests"')] }
  const own = Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith('x-')))
  const { tests: _, ...rest } = own
  const parsed = TestFile.omit({ tests: true }).safeParse(rest)
  const issues = parsed.success
    ? []
    : problemsOf({ document, schema: TestFile, prefix: [] }, parsed.error.issues)
  if (own['tests'] == null)
    issues.push(
      document.problem(['tests'], '"tests" is missing', { hint: 'tests: [{ name, given, expect }]' }),
    )
  const { cases, problems } = testsIn(document)
  return { cases, problems: [...issues, ...problems] }
}

/** What tests name and the configuration does not have. */
export function unknownNames(cases: readonly TestCase[], { rules, sinks, written }: Config): Problem[] {
  // Also sinks that need secrets which are not here.
  const sinkNames = Object.keys((written?.['sinks'] as object | undefined) ?? {})
  const known = {
    rule: rules.map(({ name }) => name),
    to: sinkNames.length > 0 ? sinkNames : sinks.map(({ name }) => name),
  }
  const sets = { rule: new Set(known.rule), to: new Set(known.to) }
  const suggest = suggester()
  return cases.flatMap((test) =>
    test.expect.flatMap((expect) =>
      (['rule', 'to'] as const).flatMap((key) =>
        (expect[key] ?? []).flatMap((name, index) => {
          if (sets[key].has(name)) return []
          const word = key === 'rule' ? 'rule' : 'sink'
          const names = expect[key] ?? []
          const path = [...expect.path, key, ...(names.length > 1 ? [index] : [])]
          return test.problem(path, `there is no ${word} "${name}"`, suggest(name, known[key], 'there are'))
        }),
      ),
    ),
  )
}
