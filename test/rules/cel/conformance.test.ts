import { readFileSync } from 'node:fs'
import type { SimpleTest } from '@bufbuild/cel-spec/cel/expr/conformance/test/simple_pb.js'
import { getConformanceSuite, type IncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js'
import { describe, expect, it } from 'vitest'
import { createEngine } from '../../../src/rules/cel/engine.ts'
import { bound, canonical, expected } from './canonical.ts'

/** They are about messages of Protocol Buffers, of which objects have none, or about extensions that Kubernetes has not. */
const LEFT_OUT = new Set([
  'block_ext',
  'dynamic',
  'encoders_ext',
  'enums',
  'macros2',
  'math_ext',
  'proto2',
  'proto2_ext',
  'proto3',
  'type_deductions',
  'unknowns',
  'wrappers',
])

const pinned = readFileSync(new URL('./conformance-misses.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'))

describe('the official conformance suite', () => {
  const results = getConformanceSuite()
    .suites.filter(({ name }) => !LEFT_OUT.has(name))
    .flatMap((suite) => resultsOf(suite, suite.name))

  it('is passed but for the misses that are listed', () => {
    const missed = results.filter(({ passed }) => !passed).map(({ name }) => name)
    expect(missed.filter((name) => !pinned.includes(name))).toEqual([])
    expect(pinned.filter((name) => !missed.includes(name))).toEqual([])
  })

  it('is large', () => {
    expect(results.length).toBeGreaterThan(1_400)
    expect(new Set(pinned).size).toBe(pinned.length)
  })
})

interface Result {
  name: string
  passed: boolean
}

function resultsOf({ suites, tests }: IncrementalTestSuite, path: string): Result[] {
  const own = tests
    .filter(({ original }) => !original.checkOnly)
    .map(({ original, name }) => ({ name: `${path}/${name}: ${shown(original.expr)}`, passed: passes(original) }))
  return [...own, ...suites.flatMap((suite) => resultsOf(suite, `${path}/${suite.name}`))]
}

/** Names stand several times. */
function shown(expression: string): string {
  return expression.slice(0, 60).replaceAll(/[^!-~]+/g, ' ').trim()
}

const engine = createEngine({ variables: {}, open: true, mixed: true })

function passes({ expr, bindings, resultMatcher }: SimpleTest): boolean {
  const variables: Record<string, unknown> = {}
  for (const [name, { kind }] of Object.entries(bindings))
    if (kind.case === 'value') variables[name] = bound(kind.value)
  const result = engine.compile(expr)
  try {
    if (!result.ok) return resultMatcher.case === 'evalError'
    const value = canonical(result.program.run(variables))
    if (resultMatcher.case === 'value') return value === expected(resultMatcher.value)
    if (resultMatcher.case === 'typedResult' && resultMatcher.value.result)
      return value === expected(resultMatcher.value.result)
    return resultMatcher.case === undefined && value === 'true'
  } catch {
    return resultMatcher.case === 'evalError'
  }
}
