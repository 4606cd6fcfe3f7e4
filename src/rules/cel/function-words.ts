import { nearest } from '../../nearest.ts'
import type { CelEngine, CelFault, FaultWords } from './engine.ts'
import { literalAt, pathBefore } from './operands.ts'
import { optionalArgumentHint } from './optional-words.ts'
import { typeName } from './type-words.ts'

/** What other languages call it. */
export const SYNONYMS: Readonly<Record<string, string>> = {
  len: 'size(x)',
  length: 'x.size()',
  count: 'x.size()',
  includes: 'x.contains("…"), or "…" in list',
  has: 'has(object.field)',
  some: 'list.exists(it, …)',
  any: 'list.exists(it, …)',
  every: 'list.all(it, …)',
  forall: 'list.all(it, …)',
  toLowerCase: 'x.lowerAscii()',
  lower: 'x.lowerAscii()',
  toUpperCase: 'x.upperAscii()',
  upper: 'x.upperAscii()',
  test: 'x.matches("…")',
  match: 'x.matches("…")',
  regex: 'x.matches("…")',
  toString: 'string(x)',
  str: 'string(x)',
  parseInt: 'int(x)',
  Number: 'int(x), or double(x)',
  strip: 'x.trim()',
  exist: 'list.exists(it, …), or has(object.field)',
  date: 'timestamp("2026-01-01T00:00:00Z")',
}

/** Longer messages quote more of the expression than a hint needs. */
const MAX_MESSAGE = 500

/** A function or method that there is not, or not with such arguments. */
export function unknownFunction(
  fault: CelFault,
  text: string,
  functions: CelEngine['functions'],
): FaultWords {
  const [, receiver, name = '', args = ''] =
    /'(?:(.+)\.)?(\w+)\((.*)\)'/.exec(fault.message.slice(0, MAX_MESSAGE)) ?? []
  const isMethod = receiver !== undefined
  const at = nameAt(fault, text, name)
  const same = functions.filter((it) => it.name === name && it.isMethod === isMethod)
  if (same.length > 0) {
    const forms = [...new Set(same.map(({ signature }) => signature))]
    const given = isMethod
      ? `${name}(${plainTypes(args)}) of ${typeName(receiver)}`
      : `${name}(${plainTypes(args)})`
    const hint = optionalArgumentHint(receiver, args, writtenAt(fault, text)) ?? quantityHint(args, same)
    if (hint !== undefined) return { message: `there is no ${given}`, hint, ...at }
    return {
      message: `there is no ${given}`,
      hint: `there is ${forms.slice(0, 4).map(form).join(', ')}`,
      ...at,
    }
  }
  const message = `there is no ${isMethod ? 'method' : 'function'} "${name}"`
  const other = functions.find((it) => it.name === name)
  if (other) return { message, hint: `write it as ${form(other.signature)}`, ...at }
  const known = [...new Set(functions.filter((it) => it.isMethod === isMethod).map((it) => it.name))]
  const near = nearest(name, known)
  const synonym = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : undefined
  const all = nearest(name, new Set(functions.map((it) => it.name)))
  const hint = synonym
    ? `write ${withNames(synonym, text, fault)}`
    : near
      ? `did you mean "${near}"?`
      : all
        ? `there is ${form(functions.find((it) => it.name === all)?.signature ?? all)}`
        : undefined
  return { message, hint, ...at }
}

/** `x.contains("…")` with what stands before and in the call, where that is plain. */
function withNames(synonym: string, text: string, { start, end }: CelFault): string {
  const [, method] = /^x\.(\w+)\("…"\)/.exec(synonym) ?? []
  const written = text.slice(start, end)
  const call = /\.\s*\w+\s*\(/.exec(written)
  if (method === undefined || !call) return synonym
  const path = pathBefore(written.slice(0, call.index))
  const literal = literalAt(written.slice(call.index + call[0].length))
  return path === undefined || literal === undefined
    ? synonym
    : `${path.written}.${method}(${literal.written})`
}

/** A text where a quantity is taken. */
function quantityHint(args: string, forms: readonly { signature: string }[]): string | undefined {
  const takes = forms.some(({ signature }) => /\([^()]*Quantity/.test(signature))
  return takes && args === 'string' ? 'quantity("1Gi") makes a quantity of a text' : undefined
}

function nameAt(
  { start, end }: CelFault,
  text: string,
  name: string,
): { start: number; end: number } | object {
  const at = text.slice(start, end).search(new RegExp(`\\b${name}\\s*\\(`))
  return at === -1 ? {} : { start: start + at, end: start + at + name.length }
}

function plainTypes(types: string): string {
  return types.replaceAll(/\b(kubernetes|net|kubeherald|google\.protobuf)\./g, '')
}

/** `string.contains(string): bool` → `string.contains(string)`. */
function form(signature: string): string {
  return signature
    .replace(/\): .*$/, ')')
    .replaceAll('ast', '…')
    .replaceAll(/\b(kubernetes|net|kubeherald)\./g, '')
}

/** What stands at the fault. */
export function writtenAt({ start, end }: CelFault, text: string): string {
  return text.slice(start, end)
}
