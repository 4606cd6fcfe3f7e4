import type { CelFunctions } from './function.ts'
import { CelValueError, charge, chargeText, chargeValue } from './meter.ts'

/** The string extensions of cel-go: positions count characters, not UTF-16 units. */
export const stringFunctions: CelFunctions = {
  'string.charAt(int): string': charAt,
  'string.indexOf(string): int': indexOf,
  'string.indexOf(string, int): int': indexOf,
  'string.lastIndexOf(string): int': lastIndexOf,
  'string.lastIndexOf(string, int): int': lastIndexOf,
  'string.substring(int): string': substring,
  'string.substring(int, int): string': substring,
  'string.contains(string): bool': contains,
  'string.lowerAscii(): string': (text: string) => ascii(text, /[A-Z]+/g, (it) => it.toLowerCase()),
  'string.upperAscii(): string': (text: string) => ascii(text, /[a-z]+/g, (it) => it.toUpperCase()),
  'string.trim(): string': trim,
  'string.replace(string, string): string': replace,
  'string.replace(string, string, int): string': replace,
  'string.split(string): list<string>': split,
  'string.split(string, int): list<string>': split,
  'list<string>.join(): string': join,
  'list<string>.join(string): string': join,
  'string.reverse(): string': (text: string) => charactersOf(text).reverse().join(''),
  'string.format(list): string': formatText,
}

const SURROGATE = /[\ud800-\udfff]/

function charactersOf(text: string): string[] {
  charge(text.length / 4)
  return SURROGATE.test(text) ? [...text] : text.split('')
}

/** Charges the worst case of a search. */
function chargeSearch(text: string, part: string): void {
  charge((text.length * (1 + part.length)) / 100)
}

function contains(text: string, part: string): boolean {
  chargeSearch(text, part)
  return text.includes(part)
}

function charAt(text: string, index: bigint): string {
  const characters = charactersOf(text)
  const at = inRange(index, characters.length)
  return characters[at] ?? ''
}

function indexOf(text: string, part: string, from = 0n): bigint {
  chargeSearch(text, part)
  const { toUnits, toCharacters, length } = positionsOf(text)
  return toCharacters(text.indexOf(part, toUnits(inRange(from, length))))
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  chargeSearch(text, part)
  const { toUnits, toCharacters, length } = positionsOf(text)
  const start = from === undefined ? text.length : toUnits(inRange(from, length))
  return toCharacters(text.lastIndexOf(part, start))
}

function substring(text: string, start: bigint, end?: bigint): string {
  const { toUnits, length } = positionsOf(text)
  const last = end === undefined ? length : inRange(end, length)
  const first = inRange(start, length)
  if (first > last) throw new CelValueError(`there is no text from ${first} to ${last}`)
  return text.slice(toUnits(first), toUnits(last))
}

interface Positions {
  length: number
  toUnits(character: number): number
  toCharacters(unit: number): bigint
}

function positionsOf(text: string): Positions {
  charge(text.length / 16)
  if (!SURROGATE.test(text))
    return { length: text.length, toUnits: (at) => at, toCharacters: (at) => BigInt(at) }
  const characters = charactersOf(text)
  return {
    length: characters.length,
    toUnits: (at) => characters.slice(0, at).join('').length,
    toCharacters: (at) => BigInt(at < 0 ? at : [...text.slice(0, at)].length),
  }
}

function inRange(index: bigint, length: number): number {
  if (index >= 0n && index <= BigInt(length)) return Number(index)
  throw new CelValueError(`${index} is not within the text, which has ${length} characters`)
}

function ascii(text: string, what: RegExp, change: (part: string) => string): string {
  charge(text.length / 16)
  return text.replace(what, change)
}

const EDGES = /^[\s\u0085]+|[\s\u0085]+$/gu

function trim(text: string): string {
  charge(text.length / 16)
  const plain = text.trim()
  return plain.includes('\u0085') ? plain.replace(EDGES, '') : plain
}

function split(text: string, by: string, most = -1n): string[] {
  chargeSearch(text, by)
  charge(text.length / 4)
  if (most === 0n) return []
  const parts = by === '' ? charactersOf(text) : text.split(by)
  const count = Number(most)
  return count < 0 || parts.length <= count
    ? parts
    : [...parts.slice(0, count - 1), parts.slice(count - 1).join(by)]
}

function join(list: Iterable<unknown>, by = ''): string {
  const texts = [...list]
  let length = by.length * texts.length
  for (const text of texts) {
    if (typeof text !== 'string') throw new CelValueError('join() takes a list of texts')
    length += text.length
  }
  charge(texts.length)
  chargeText(length)
  return texts.join(by)
}

function replace(text: string, old: string, by: string, most = -1n): string {
  const limit = Number(most)
  if (limit === 0) return text
  const parts = split(text, old)
  const count = old === '' ? parts.length + 1 : parts.length - 1
  const times = limit < 0 ? count : Math.min(limit, count)
  chargeText(text.length + times * by.length)
  if (old !== '')
    return (
      parts
        .slice(0, times)
        .map((part) => part + by)
        .join('') + parts.slice(times).join(old)
    )
  return parts.map((part, i) => (i < times ? by + part : part)).join('') + (times > parts.length ? by : '')
}

/** `"%s has %d".format([name, 3])` */
function formatText(template: string, values: Iterable<unknown>): string {
  const list = [...values]
  charge(template.length / 8 + list.length)
  let next = 0
  let length = 0
  const parts: string[] = []
  const add = (text: string) => {
    length += text.length
    parts.push(text)
  }
  for (let at = 0; at < template.length; ) {
    const percent = template.indexOf('%', at)
    add(template.slice(at, percent === -1 ? undefined : percent))
    if (percent === -1) break
    const verb = /^%(?:%|(?:\.(\d{1,3}))?([sdfebxXo]))/.exec(template.slice(percent, percent + 8))
    if (!verb) throw new CelValueError(`format() cannot read "${template.slice(percent, percent + 3)}"`)
    at = percent + verb[0].length
    if (verb[0] === '%%') add('%')
    else if (next >= list.length) throw new CelValueError(`format() has no value for "${verb[0]}"`)
    else add(verbText(verb[2] as string, verb[1], list[next++]))
  }
  chargeText(length)
  return parts.join('')
}

function verbText(verb: string, precision: string | undefined, value: unknown): string {
  const digits = precision === undefined ? 6 : Number(precision)
  if (verb === 's') return plain(value)
  if (verb === 'd') return special(value) ?? text(verb, integerOf(value), (it) => it.toString())
  if (verb === 'f' || verb === 'e') return special(value) ?? floating(verb, value, digits)
  if (verb === 'b')
    return text(verb, typeof value === 'boolean' ? BigInt(value) : integerOf(value), (it) => it.toString(2))
  if (verb === 'o') return text(verb, integerOf(value), (it) => it.toString(8))
  return hexadecimal(verb, value)
}

function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value
  const inner = value instanceof Object ? (value.valueOf() as unknown) : undefined
  return typeof inner === 'bigint' ? inner : undefined
}

function text(verb: string, value: bigint | undefined, write: (value: bigint) => string): string {
  if (value === undefined) throw new CelValueError(`format() cannot write this value with %${verb}`)
  return write(value)
}

function special(value: unknown): string | undefined {
  if (typeof value !== 'number' || Number.isFinite(value)) return undefined
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity'
}

function floating(verb: string, value: unknown, digits: number): string {
  const number = typeof value === 'number' ? value : Number(integerOf(value) ?? Number.NaN)
  if (Number.isNaN(number)) throw new CelValueError(`format() cannot write this value with %${verb}`)
  if (verb === 'f') return number.toFixed(Math.min(digits, 100))
  return number.toExponential(Math.min(digits, 100)).replace(/e([+-])(\d)$/, 'e$10$2')
}

function hexadecimal(verb: string, value: unknown): string {
  const cased = (hex: string) => (verb === 'X' ? hex.toUpperCase() : hex)
  if (typeof value === 'string') return cased(Buffer.from(value).toString('hex'))
  if (value instanceof Uint8Array) return cased(Buffer.from(value).toString('hex'))
  return cased(text(verb, integerOf(value), (it) => it.toString(16)))
}

/** Returns a value as `%s` writes it. */
function plain(value: unknown): string {
  chargeValue(value)
  if (typeof value === 'string') return value
  if (value === null) return 'null'
  if (typeof value === 'number') return special(value) ?? String(value)
  if (value instanceof Date) return value.toISOString().replace(/\.?(?<!0)0*Z$/, 'Z')
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (value instanceof Map) return mapText([...value.entries()])
  if (Array.isArray(value) || value instanceof Set) return `[${[...value].map(plain).join(', ')}]`
  const prototype = typeof value === 'object' ? (Object.getPrototypeOf(value) as unknown) : undefined
  if (prototype === Object.prototype) return mapText(Object.entries(value as object))
  return String(value).replace(/^Type<(.*)>$/, '$1')
}

function mapText(entries: readonly (readonly [unknown, unknown])[]): string {
  const parts = entries.map(([key, value]) => [plain(key), plain(value)] as const)
  parts.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${parts.map((part) => part.join(': ')).join(', ')}}`
}
