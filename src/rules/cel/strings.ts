import { formatText } from './format.ts'
import { type CelFunction, CelValueError } from './function.ts'
import { charge, chargeText } from './meter.ts'

/** Methods of texts, as cel-go's string extensions have them: positions count characters, not UTF-16 units. */
export const stringFunctions: readonly CelFunction[] = [
  { signature: 'string.charAt(int): string', call: charAt },
  {
    signature: 'string.indexOf(string): int',
    call: (text: string, part: string) => indexOf(text, part),
    replaces: true,
  },
  { signature: 'string.indexOf(string, int): int', call: indexOf, replaces: true },
  {
    signature: 'string.lastIndexOf(string): int',
    call: (text: string, part: string) => lastIndexOf(text, part),
    replaces: true,
  },
  { signature: 'string.lastIndexOf(string, int): int', call: lastIndexOf, replaces: true },
  {
    signature: 'string.substring(int): string',
    call: (text: string, start: bigint) => substring(text, start),
    replaces: true,
  },
  { signature: 'string.substring(int, int): string', call: substring, replaces: true },
  { signature: 'string.contains(string): bool', call: contains, replaces: true },
  {
    signature: 'string.lowerAscii(): string',
    call: (text: string) => ascii(text, /[A-Z]+/g, (it) => it.toLowerCase()),
    replaces: true,
  },
  {
    signature: 'string.upperAscii(): string',
    call: (text: string) => ascii(text, /[a-z]+/g, (it) => it.toUpperCase()),
    replaces: true,
  },
  { signature: 'string.trim(): string', call: trim, replaces: true },
  {
    signature: 'string.replace(string, string): string',
    call: (text: string, old: string, by: string) => replace(text, old, by),
  },
  { signature: 'string.replace(string, string, int): string', call: replace },
  {
    signature: 'string.split(string): list<string>',
    call: (text: string, by: string) => split(text, by),
    replaces: true,
  },
  { signature: 'string.split(string, int): list<string>', call: split, replaces: true },
  {
    signature: 'list<string>.join(): string',
    call: (list: Iterable<unknown>) => join(list, ''),
    replaces: true,
  },
  { signature: 'list<string>.join(string): string', call: join, replaces: true },
  { signature: 'string.reverse(): string', call: (text: string) => charactersOf(text).reverse().join('') },
  { signature: 'string.format(list): string', call: formatText },
]

const SURROGATE = /[\ud800-\udfff]/

function charactersOf(text: string): string[] {
  charge(text.length / 4)
  return SURROGATE.test(text) ? [...text] : text.split('')
}

/** What it costs to look for a part, at worst. */
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
