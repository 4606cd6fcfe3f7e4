import { RE2JS } from 're2js'
import { compileRegex } from '../pattern.ts'
import { CelValueError, charge, chargeValue } from './meter.ts'
import { equals } from './values.ts'

/** Functions and methods that expressions may call, by signatures such as `list<T>.sum(): T`. */
export type CelFunctions = Readonly<Record<string, (...args: never[]) => unknown>>

/** A type of values in addition to JSON, with its declared fields. */
export interface CelType {
  name: string
  ctor: new (...args: never[]) => object
  fields?: Readonly<Record<string, string>>
  /** `==` compares its results. */
  equalBy?(value: never): unknown
}

/** Limits of a regular expression, which a rule or an object may contain. */
const MAX_LENGTH = 1_000
const MAX_SIZE = 5_000
const MAX_KEPT = 200

interface Kept {
  regex: RE2JS
  size: number
}

/** Compiled regular expressions, the newest last. */
const kept = new Map<string, Kept>()

/** Returns what is wrong with an RE2 expression; undefined if it can be used. */
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

/** Returns the compiled expression, and charges a search in a text of this length. Throws if it cannot be used. */
function regexFor(source: string, textLength: number): RE2JS {
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

export const listFunctions: CelFunctions = {
  'list<T>.isSorted(): bool': (list: Iterable<unknown>) => isSorted(itemsOf(list)),
  'list<T>.sum(): dyn': (list: Iterable<unknown>) => sum(itemsOf(list)),
  'list<T>.min(): dyn': (list: Iterable<unknown>) => most(itemsOf(list), 'min', (order) => order < 0),
  'list<T>.max(): dyn': (list: Iterable<unknown>) => most(itemsOf(list), 'max', (order) => order > 0),
  'list<T>.indexOf(T): int': (list: Iterable<unknown>, item: unknown) =>
    BigInt(itemsOf(list).findIndex((it) => equals(it, item))),
  'list<T>.lastIndexOf(T): int': (list: Iterable<unknown>, item: unknown) =>
    BigInt(itemsOf(list).findLastIndex((it) => equals(it, item))),
}

export const regexFunctions: CelFunctions = {
  'string.matches(string): bool': matches,
  'matches(string, string): bool': matches,
  'string.find(string): string': (text: string, source: string) => findAll(text, source, 1n)[0] ?? '',
  'string.findAll(string): list<string>': findAll,
  'string.findAll(string, int): list<string>': findAll,
}

function matches(text: string, source: string): boolean {
  return regexFor(source, text.length).test(text)
}

function findAll(text: string, source: string, most = -1n): string[] {
  const matcher = regexFor(source, text.length).matcher(text)
  const found: string[] = []
  while (found.length !== Number(most) && matcher.find()) {
    charge(20)
    found.push(matcher.group() ?? '')
  }
  return found
}

function itemsOf(list: Iterable<unknown>): unknown[] {
  chargeValue(list)
  return Array.isArray(list) ? list : [...list]
}

function isSorted(items: readonly unknown[]): boolean {
  return items.every((item, i) => i === 0 || compare(items[i - 1], item) <= 0)
}

/** Texts, numbers, timestamps, durations and booleans have an order. */
function compare(a: unknown, b: unknown): number {
  const left = scalarOf(a)
  const right = scalarOf(b)
  const isComparable = typeof left === typeof right || (isNumeric(left) && isNumeric(right))
  if (!isComparable || typeof left === 'object') throw new CelValueError('these values have no order')
  return (left as number) < (right as number) ? -1 : (left as number) > (right as number) ? 1 : 0
}

function scalarOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? value.valueOf() : value
}

function most(items: readonly unknown[], name: string, isBetter: (order: number) => boolean): unknown {
  const [first, ...rest] = items
  if (first === undefined) throw new CelValueError(`${name}() of an empty list`)
  return rest.reduce((best, item) => (isBetter(compare(item, best)) ? item : best), first)
}

function sum(items: readonly unknown[]): unknown {
  const [first = 0n, ...rest] = items
  return rest.reduce(add, first)
}

function add(a: unknown, b: unknown): unknown {
  if (typeof a === 'bigint' && typeof b === 'bigint') return a + b
  if (isNumeric(a) && isNumeric(b)) return Number(a) + Number(b)
  const duration = a as { addDuration?(other: unknown): unknown }
  if (typeof duration.addDuration === 'function') return duration.addDuration(b)
  throw new CelValueError('sum() takes numbers or durations')
}

function isNumeric(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint'
}

const TIME = 'google.protobuf.Timestamp'
const SPAN = 'google.protobuf.Duration'

/** Conversions that the library lacks. */
export const conversionFunctions: CelFunctions = {
  'int(uint): int': (value: { value: bigint }) => value.value,
  [`int(${TIME}): int`]: (time: Date) => BigInt(Math.floor(time.getTime() / 1_000)),
  [`string(${TIME}): string`]: timeText,
  [`string(${SPAN}): string`]: (span: object) => String(span),
  [`timestamp(${TIME}): ${TIME}`]: (time: Date) => time,
  [`duration(${SPAN}): ${SPAN}`]: (span: object) => span,
}

/** RFC 3339, without a fraction that is zero. */
function timeText(time: Date): string {
  return time.toISOString().replace(/\.?(?<!0)0*Z$/, 'Z')
}
