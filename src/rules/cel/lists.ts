import { equals } from './equality.ts'
import { type CelFunction, CelValueError } from './function.ts'
import { charge, chargeValue } from './meter.ts'
import { regexFor } from './regex.ts'

/** Kubernetes' methods of lists. */
export const listFunctions: readonly CelFunction[] = [
  { signature: 'list<T>.isSorted(): bool', call: (list: Iterable<unknown>) => isSorted(itemsOf(list)) },
  { signature: 'list<T>.sum(): dyn', call: (list: Iterable<unknown>) => sum(itemsOf(list)) },
  {
    signature: 'list<T>.min(): dyn',
    call: (list: Iterable<unknown>) => most(itemsOf(list), 'min', (order) => order < 0),
  },
  {
    signature: 'list<T>.max(): dyn',
    call: (list: Iterable<unknown>) => most(itemsOf(list), 'max', (order) => order > 0),
  },
  {
    signature: 'list<T>.indexOf(T): int',
    call: (list: Iterable<unknown>, item: unknown) =>
      BigInt(itemsOf(list).findIndex((it) => equals(it, item))),
  },
  {
    signature: 'list<T>.lastIndexOf(T): int',
    call: (list: Iterable<unknown>, item: unknown) =>
      BigInt(itemsOf(list).findLastIndex((it) => equals(it, item))),
  },
]

/** Regular expressions are RE2's. */
export const regexFunctions: readonly CelFunction[] = [
  { signature: 'string.matches(string): bool', call: matches, replaces: true },
  { signature: 'matches(string, string): bool', call: matches },
  {
    signature: 'string.find(string): string',
    call: (text: string, source: string) => findAll(text, source, 1)[0] ?? '',
  },
  {
    signature: 'string.findAll(string): list<string>',
    call: (text: string, source: string) => findAll(text, source, -1),
  },
  {
    signature: 'string.findAll(string, int): list<string>',
    call: (text: string, source: string, most: bigint) => findAll(text, source, Number(most)),
  },
]

function matches(text: string, source: string): boolean {
  return regexFor(source, text.length).test(text)
}

function findAll(text: string, source: string, most: number): string[] {
  const matcher = regexFor(source, text.length).matcher(text)
  const found: string[] = []
  while (found.length !== most && matcher.find()) {
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

/** Texts, numbers, times, durations and truth values have an order. */
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
