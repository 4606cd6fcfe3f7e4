import { RE2JS } from 're2js'
import { compileRegex } from '../regex.ts'
import { charge } from './meter.ts'

/** An expression that a rule or an object may give. */
const MAX_LENGTH = 1_000
const MAX_SIZE = 5_000
const MAX_KEPT = 200

interface Kept {
  regex: RE2JS
  size: number
}

/** Compiled ones, the newest last. */
const kept = new Map<string, Kept>()

/** What is wrong with an RE2 expression, with its place; undefined when it can be used. */
export function patternFault(
  source: string,
): { message: string; offset?: number; length?: number } | undefined {
  if (source.length > MAX_LENGTH)
    return { message: `has an expression of more than ${MAX_LENGTH} characters` }
  const result = compileRegex(source)
  if (!result.ok) return result.faults[0]
  return RE2JS.compile(source).programSize() > MAX_SIZE
    ? { message: 'has an expression that repeats too much to be tested quickly' }
    : undefined
}

/** The expression, ready for a text of this length: what it may cost is counted. Throws when it cannot be used. */
export function regexFor(source: string, textLength: number): RE2JS {
  const { regex, size } = kept.get(source) ?? keep(source)
  charge(1 + (textLength * size) / 50)
  return regex
}

function keep(source: string): Kept {
  charge(1_000 + source.length * 20)
  const fault = patternFault(source)
  if (fault) throw new Error(`the text ${fault.message}`)
  const regex = RE2JS.compile(source)
  const made = { regex, size: regex.programSize() }
  const [oldest] = kept.keys()
  if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
  kept.set(source, made)
  return made
}
