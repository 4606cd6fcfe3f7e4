import { type Compiled, compiled, type Fault, under } from '../fault.ts'
import { compilePatterns, type Test } from '../pattern.ts'
import type { Patterns } from '../schema.ts'
import { withoutDoubleStar } from './double-star.ts'
import { parsePath, type ValuePath } from './path.ts'
import { textOf, valuesAt } from './read.ts'

/** A state that an object may be in: what is at its paths. */
export interface StateTest {
  holds(object: unknown): boolean
  /** Is it in the state, and at one of the paths, at least, only now? */
  entered(old: unknown, next: unknown): boolean
  /** What is at the paths: one value, or all of them. */
  seen(object: unknown): unknown
}

interface PathTest {
  path: ValuePath
  test: Test
}

/** Compiles paths with their patterns: all paths must pass, of one with `*` any value. */
export function compileStates(
  states: Readonly<Record<string, Patterns>>,
  kind?: Patterns,
): Compiled<StateTest> {
  const faults: Fault[] = []
  const tests: PathTest[] = []
  if (Object.keys(states).length === 0)
    faults.push({ path: [], message: 'is empty', hint: 'name a path: { status.phase: Failed }' })
  for (const [text, patterns] of Object.entries(states)) {
    const path = parsePath(text)
    const test = compilePatterns(patterns)
    if (!path.ok) faults.push(...path.faults.map((it) => keyFault(text, patterns, kind, it)))
    if (!test.ok) faults.push(...under([text], test.faults))
    if (path.ok && test.ok) tests.push({ path: path.value, test: test.value })
  }
  if (faults.length > 0) return { ok: false, faults }
  const holds = (object: unknown) => tests.every((it) => passing(it, object).length > 0)
  return compiled({
    holds,
    entered: (old, next) => holds(next) && tests.some((it) => isNew(it, old, next)),
    seen: (object) =>
      Object.fromEntries(tests.map(({ path }) => [path.text, shown([...valuesAt(path, object).values()])])),
  })
}

/** The ways to values that pass. What is not there passes as patterns let it. */
function passing({ path, test }: PathTest, object: unknown): string[] {
  const values = valuesAt(path, object)
  if (values.size === 0) return test(undefined) ? [''] : []
  return [...values].filter(([, value]) => test(textOf(value))).map(([way]) => way)
}

function isNew(test: PathTest, old: unknown, next: unknown): boolean {
  const before = new Set(passing(test, old))
  return passing(test, next).some((way) => !before.has(way))
}

function keyFault(
  key: string,
  patterns: Patterns,
  kind: Patterns | undefined,
  { message, hint }: Fault,
): Fault {
  const place = { path: [key], atKey: true }
  if (/^is one path/.test(message)) {
    const isWord = typeof patterns === 'string' && /^[\w.-]+$/.test(patterns)
    const each = key
      .split(',')
      .map((it) => it.trim())
      .map((path) => `${path}: ${isWord ? patterns : '…'}`)
    return { ...place, message: `"${key}" is one path here`, hint: `write { ${each.join(', ')} }` }
  }
  const full = withoutDoubleStar(key, kind)
  const offered = full === undefined ? hint : `write "${full}"`
  const sentence = /^(is|has|begins|ends)\b/.test(message) ? `the path "${key}" ${message}` : message
  return { ...place, message: sentence, ...(offered !== undefined && { hint: offered }) }
}

function shown(values: readonly unknown[]): unknown {
  if (values.length === 0) return null
  return values.length === 1 ? values[0] : values.slice(0, 8)
}
