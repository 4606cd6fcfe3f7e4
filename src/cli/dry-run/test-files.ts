import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import * as z from 'zod'
import { type ConfigDocument, documentOf, type Path, problemAt } from '../../config/document.ts'
import { suggester } from '../../config/error-messages/suggest.ts'
import { problemsOf } from '../../config/error-messages/zod-issues.ts'
import type { Problem } from '../../config/problem.ts'
import { reasonOf, STANDARD_INPUT, textOf } from '../../config/read-text.ts'
import {
  Expectation,
  GivenChange,
  GivenObject,
  GivenPause,
  type Moment,
  Test,
  TestFile,
} from '../../config/schema/test-file.ts'
import type { Config } from '../../config/schema.ts'
import { sourceFile } from '../../config/source-node.ts'
import { NO_VARS } from '../../config/values/vars.ts'
import { parseYaml, tooMuch } from '../../config/yaml/parse.ts'
import { syntaxFaults } from '../../config/yaml/syntax.ts'
import { buildTree } from '../../config/yaml/tree.ts'
import { isMap } from '../../text/plain-data.ts'
import type { DryConfiguration } from '../load-config/configuration.ts'
import { readPlainFile } from '../load-config/file-reads.ts'
import { UsageError } from '../usage-error.ts'

interface FoundTests {
  cases: readonly TestCase[]
  problems: readonly Problem[]
  /** Texts of all files, by the names that problems have. */
  texts: ReadonlyMap<string, string>
}

/** Finds the tests of the files; without any, those of the configuration and of the `*_test.yaml` next to its files. */
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
 * Test files next to those of the configuration, without its own files. `x_test.yaml` goes with `x.yaml` where there is
 * one: then it is of no other configuration.
 */
function besides(files: readonly string[]): string[] {
  const known = new Set(files.map((file) => resolve(file)))
  // Sets that come with the program are in no folder.
  const inFolders = files.filter((file) => file === STANDARD_INPUT || existsSync(file))
  const folders = new Map(inFolders.map((file) => [resolve(dirname(file)), dirname(file)]))
  return [...folders.values()].flatMap((folder) => {
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

/** Returns the file itself, or all test files of a folder. */
function testFilesOf(file: string): string[] {
  if (!statSync(file, { throwIfNoEntry: false })?.isDirectory()) return [file]
  const names = namesIn(file).filter((name) => /_test\.ya?ml$/.test(name))
  if (names.length === 0) throw new UsageError(`there is no file *_test.yaml or *_test.yml in ${file}`)
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
    const result = textOf(readPlainFile(file))
    if ('text' in result) return result.text
    throw new UsageError(`cannot read the tests ${file}: ${result.fault}`)
  } catch (error) {
    throw error instanceof UsageError
      ? error
      : new UsageError(`cannot read the tests ${file}: ${reasonOf(error)}`)
  }
}

interface ReadTests {
  cases: readonly TestCase[]
  problems: readonly Problem[]
}

/** Reads a file that has nothing but tests (and keys such as `x-pods`, for anchors). */
function readTestFile(name: string, text: string): ReadTests {
  const document = readRawDocument(name, text)
  const value = document.at([])?.value
  if (!document.readable || document.problems.length > 0) return { cases: [], problems: document.problems }
  if (!isMap(value))
    return {
      cases: [],
      problems: [document.problem('invalid-test', [], 'a file of tests is a map with the key "tests"')],
    }
  const own = Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith('x-')))
  const { tests: _, ...rest } = own
  const parsed = TestFile.omit({ tests: true }).safeParse(rest)
  const issues = parsed.success
    ? []
    : problemsOf({ document, schema: TestFile, prefix: [] }, parsed.error.issues)
  if (own['tests'] == null)
    issues.push(
      document.problem('invalid-test', ['tests'], '"tests" is missing', {
        hint: 'tests: [{ name, given, expect }]',
      }),
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
    sink: sinkNames.length > 0 ? sinkNames : sinks.map(({ name }) => name),
  }
  const sets = { rule: new Set(known.rule), sink: new Set(known.sink) }
  const suggest = suggester()
  return cases.flatMap((test) =>
    test.expect.flatMap((expect) => {
      const { rule: ruleNames = [], to = [] } = expect
      const named = [
        ...ruleNames.map((name, index) => {
          const path = ['rule', ...(ruleNames.length > 1 ? [index] : [])]
          return { of: 'rule' as const, name, path }
        }),
        ...to.map(({ sink, path }) => ({ of: 'sink' as const, name: sink, path: ['to', ...path] })),
      ]
      return named
        .filter(({ of, name }) => !sets[of].has(name))
        .map(({ of, name, path }) => {
          const hint = suggest(name, known[of], 'there are')
          const atKey = path.length > 1 && typeof path.at(-1) === 'string'
          return test.problem([...expect.path, ...path], `there is no ${of} "${name}"`, hint, atKey)
        })
    }),
  )
}

/** A YAML file that knows where its values stand, and in which `${…}` is nothing but text. */
function readRawDocument(name: string, text: string): ConfigDocument {
  const file = sourceFile(name, text)
  const parsed = tooMuch(text) ?? parseYaml(text)
  if (!('contents' in parsed)) {
    const { message, hint, start } = parsed
    const problems = [problemAt('too-large', { file, start, end: start + 1 }, message, { hint })]
    return documentOf(undefined, file, { readable: false, problems, broken: [] })
  }
  const readable = parsed.errors.length === 0
  const fill = (value: string) => ({ text: value, secrets: [], faults: [] })
  const { root, faults, broken } = buildTree(parsed, file, { fill, outer: NO_VARS })
  const found = [
    ...syntaxFaults(parsed, text).map((fault) => ({ file, ...fault })),
    ...(readable ? faults : []),
  ]
  const problems = found.map((fault) => problemAt(fault.code, fault, fault.message, fault))
  return documentOf(root, file, { readable, problems, broken })
}

/** A given step, with its place. */
export interface GivenStep extends Omit<GivenChange, 'object' | 'old' | 'at' | 'surroundings'> {
  /** A file's name, or an object; undefined where only time passes. */
  object: unknown
  old?: unknown
  at?: Moment | undefined
  surroundings?: readonly unknown[] | undefined
  path: Path
  objectPath: Path
  oldPath: Path
}

export interface ExpectedStep extends Expectation {
  path: Path
}

/** A test of a file, its form checked. */
export interface TestCase {
  name: string
  /** Its file: file names in it are relative to the folder of this. */
  file: string
  /** `kubeherald.yaml:30:5` */
  place: string
  given: readonly GivenStep[]
  surroundings: readonly { object: unknown; path: Path }[]
  expect: readonly ExpectedStep[]
  /** `expect` is one map: it is about all that is given. */
  isWhole: boolean
  problem(path: Path, message: string, hint?: string, atKey?: boolean): Problem
}

const Outline = z.strictObject({
  ...Test.shape,
  given: z.unknown(),
  expect: z.unknown(),
  surroundings: z.unknown().optional(),
})
const AtOnly = z.looseObject({ at: GivenChange.shape.at })
const Around = z.array(z.unknown(), 'must be a list of objects')

/** Reads the tests of a document, with all problems of their form. */
export function testsIn(document: ConfigDocument): { cases: TestCase[]; problems: Problem[] } {
  const problems: Problem[] = []
  const root = document.at(['tests'])
  if (!root) return { cases: [], problems }
  if (!root.items)
    return { cases: [], problems: [document.problem('invalid-test', ['tests'], '"tests" must be a list')] }
  const cases = root.items.map((_, index) => caseAt(document, ['tests', index], problems))
  const known = new Map<string, TestCase>()
  for (const it of cases) {
    const same = it && known.get(it.name)
    if (it && same)
      problems.push(
        it.problem(['name'], `two tests are called "${it.name}"`, `the first one is at ${same.place}`),
      )
    if (it) known.set(it.name, it)
  }
  return { cases: cases.filter((it) => it !== undefined), problems }
}

function caseAt(document: ConfigDocument, path: Path, problems: Problem[]): TestCase | undefined {
  const before = problems.length
  const parse = <T>(schema: z.ZodType<T>, prefix: Path): T | undefined => {
    const parsed = schema.safeParse(document.at(prefix)?.value)
    if (parsed.success) return parsed.data
    problems.push(...problemsOf({ document, schema, prefix }, parsed.error.issues))
    return undefined
  }
  const outline = parse(Outline, path)
  if (!outline) return undefined
  for (const key of ['given', 'expect'])
    if (document.at([...path, key])?.value == null)
      problems.push(
        document.problem('invalid-test', [...path, key], `"${key}" is missing`, { hint: HINTS[key] }),
      )
  if (problems.length > before) return undefined
  const given = listAt(document, [...path, 'given']).map((at) => givenAt(document, at, parse, problems))
  const isWhole = !document.at([...path, 'expect'])?.items
  const expect = listAt(document, [...path, 'expect']).map((at) => {
    const expected = parse(Expectation, at)
    return expected && { ...expected, path: at.slice(path.length) }
  })
  const around = outline.surroundings === undefined ? [] : parse(Around, [...path, 'surroundings'])
  if (problems.length > before || !around) return undefined
  const place = document.place(path)
  return {
    name: outline.name,
    file: place.file,
    place: `${place.file}:${place.line}:${place.column}`,
    given: given.filter((it) => it !== undefined).map((it) => relative(it, path.length)),
    surroundings: around.map((object, index) => ({ object, path: ['surroundings', index] })),
    expect: expect.filter((it) => it !== undefined),
    isWhole,
    problem: (inner, message, hint, atKey = false) =>
      document.problem('invalid-test', [...path, ...inner], message, { hint, atKey }),
  }
}

const CHANGE_KEYS = Object.keys(GivenChange.shape)

const HINTS: Readonly<Record<string, string>> = {
  given: 'a file with an object, or the object: given: { kind: Event, reason: BackOff }',
  expect: 'such as expect: { rule: crash-loops, to: [oncall] }',
}

function listAt(document: ConfigDocument, path: Path): Path[] {
  const { items } = document.at(path) ?? {}
  return items ? items.map((_, index) => [...path, index]) : [path]
}

function givenAt(
  document: ConfigDocument,
  path: Path,
  parse: <T>(schema: z.ZodType<T>, prefix: Path) => T | undefined,
  problems: Problem[],
): GivenStep | undefined {
  const value = document.at(path)?.value
  if (typeof value === 'string' && value !== '')
    return { object: value, path, objectPath: path, oldPath: path }
  if (!isMap(value)) {
    const hint = 'the name of a file, an object with a kind, or { object, old, type, at }'
    problems.push(
      document.problem('invalid-test', path, '"given" must be an object, or name a file with one', { hint }),
    )
    return undefined
  }
  if (value['kind'] !== undefined) {
    // In a list an object may have its own time.
    const { at, ...object } = value
    const time = at === undefined ? {} : parse(AtOnly, path)
    const whole = parse(GivenObject, path)
    return whole && time && { object, at: time.at, path, objectPath: path, oldPath: path }
  }
  if ('at' in value && Object.keys(value).length === 1) {
    const pause = parse(GivenPause, path)
    return pause && { ...pause, object: undefined, path, objectPath: path, oldPath: path }
  }
  const isObject =
    value['object'] === undefined && Object.keys(value).some((key) => !CHANGE_KEYS.includes(key))
  if (isObject) {
    const hint =
      'write { kind: Event, … }; with an old state or a time: { object: { kind: … }, old: …, at: … }'
    problems.push(document.problem('invalid-test', path, 'this object has no kind', { hint }))
    return undefined
  }
  const change = parse(GivenChange, path)
  return change && { ...change, path, objectPath: [...path, 'object'], oldPath: [...path, 'old'] }
}

function relative(step: GivenStep, depth: number): GivenStep {
  const cut = (path: Path) => path.slice(depth)
  return { ...step, path: cut(step.path), objectPath: cut(step.objectPath), oldPath: cut(step.oldPath) }
}
