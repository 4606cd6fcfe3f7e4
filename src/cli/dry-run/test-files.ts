import * as z from 'zod'
import type { ConfigDocument, Path } from '../config/document.ts'
import { problemsOf } from '../config/issues.ts'
import type { Problem } from '../config/problem.ts'
import {
  Expectation,
  GivenChange,
  GivenObject,
  GivenPause,
  type Moment,
  Test,
} from '../config/test-schema.ts'
import { isPlainMap } from './plain.ts'

/** Something that is given, with where it stands. */
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

/** A test as it stands in a file, its form checked. */
export interface TestCase {
  name: string
  /** The file that it stands in: what it names is relative to its folder. */
  file: string
  /** `kubeherald.yaml:30:5` */
  place: string
  given: readonly GivenStep[]
  surroundings: readonly { object: unknown; path: Path }[]
  expect: readonly ExpectedStep[]
  /** `expect` is one map: it is about all that is given. */
  isWhole: boolean
  problem(path: Path, message: string, hint?: string): Problem
}

const Outline = z.strictObject({
  ...Test.shape,
  given: z.unknown(),
  expect: z.unknown(),
  surroundings: z.unknown().optional(),
})
const AtOnly = z.looseObject({ at: GivenChange.shape.at })
const Around = z.array(z.unknown(), 'must be a list of objects')

/** Reads the tests of a document, and says everything that is wrong with their form. */
export function testsIn(document: ConfigDocument): { cases: TestCase[]; problems: Problem[] } {
  const problems: Problem[] = []
  const root = document.at(['tests'])
  if (!root) return { cases: [], problems }
  if (!root.items) return { cases: [], problems: [document.problem(['tests'], '"tests" must be a list')] }
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
      problems.push(document.problem([...path, key], `"${key}" is missing`, { hint: HINTS[key] }))
  if (problems.length > before) return undefined
  const given = listAt(document, [...path, 'given']).map((at) => givenAt(document, at, parse, problems))
  const isWhole = !document.at([...path, 'expect'])?.items
  const expect = listAt(document, [...path, 'expect']).map((at) => {
    const expected = parse(Expectation, at)
    return expected && { ...expected, path: at.slice(path.length) }
  })
  const around = outline.surroundings === undefined ? [] : parse(Around, [...path, 'surroundings'])
  if (problems.length > before || !around) return undefined
  const place = document.problem(path, '')
  return {
    name: outline.name,
    file: place.file,
    place: `${place.file}:${place.line}:${place.column}`,
    given: given.filter((it) => it !== undefined).map((it) => relative(it, path.length)),
    surroundings: around.map((object, index) => ({ object, path: ['surroundings', index] })),
    expect: expect.filter((it) => it !== undefined),
    isWhole,
    problem: (inner, message, hint) => document.problem([...path, ...inner], message, { hint }),
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
  if (!isPlainMap(value)) {
    const hint = 'the name of a file, an object with a kind, or { object, old, type, at }'
    problems.push(document.problem(path, '"given" must be an object, or name a file with one', { hint }))
    return undefined
  }
  if (value['kind'] !== undefined) {
    // Among others an object may say when it happens.
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
    problems.push(document.problem(path, 'this object has no kind', { hint }))
    return undefined
  }
  const change = parse(GivenChange, path)
  return change && { ...change, path, objectPath: [...path, 'object'], oldPath: [...path, 'old'] }
}

function relative(step: GivenStep, depth: number): GivenStep {
  const cut = (path: Path) => path.slice(depth)
  return { ...step, path: cut(step.path), objectPath: cut(step.objectPath), oldPath: cut(step.oldPath) }
}
