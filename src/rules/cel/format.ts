import { CelValueError } from './function.ts'
import { charge, chargeText, chargeValue } from './meter.ts'

/** `"%s has %d".format([name, 3])`, as cel-go has it. */
export function formatText(template: string, values: Iterable<unknown>): string {
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

/** A value as `%s` writes it. */
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
