import type { SilenceMatch } from '../../model/control.ts'
import { type Compiled, compiled, faulty } from '../fault.ts'
import { SILENCE_KEYS } from './silence-match.ts'

/** `key=` or `key!=` at the beginning. */
const CONDITION = /^\s*([A-Za-z][\w.-]*)\s*(!?=)/
/** Their values are selectors, which contain "=" and ",". */
const SELECTORS = ['labels', 'annotations']

/**
 * Reads `namespace=shop, rule=crash-*`: conditions with their patterns; `a|b` is a list, `key!=a` means `!a`, except for selectors. Several
 * texts add up: all conditions must hold. The values are as in `when`, so a comma in one is possible where no `key=` follows.
 */
export function parseMatch(texts: readonly string[]): Compiled<SilenceMatch> {
  const match: Record<string, unknown> = {}
  for (const text of texts)
    for (const part of partsOf(text)) {
      const [head, key = '', operator] = CONDITION.exec(part) ?? []
      if (head === undefined)
        return faulty(`"${cut(part.trim())}" is not a condition`, {
          hint: 'write key=value, such as namespace=shop',
        })
      const value = part.slice(head.length).trim()
      if (value === '') return faulty('has no value', { path: [key], hint: `write ${key}=value` })
      if (operator === '!=' && SELECTORS.includes(key))
        return faulty('takes a selector, which has its own negation', {
          path: [key],
          hint: `such as ${key}=team!=shop, or ${key}=!team`,
        })
      const fault = setAt(match, key, patternsOf(key, value, operator === '!='))
      if (fault) return fault
    }
  return compiled(match)
}

/** Splits at commas that a condition follows; within a selector, only one that silences have. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  for (const piece of text.split(',')) {
    const key = CONDITION.exec(piece)?.[1]
    const last = parts.at(-1)
    const isInSelector = last !== undefined && SELECTORS.includes(CONDITION.exec(last)?.[1] ?? '')
    const begins = key !== undefined && (!isInSelector || SILENCE_KEYS.includes(key))
    if (last === undefined || begins) parts.push(piece)
    else parts[parts.length - 1] = `${last},${piece}`
  }
  return parts.filter((it) => it.trim() !== '')
}

function patternsOf(key: string, text: string, isNegated: boolean): string | string[] {
  if (SELECTORS.includes(key)) return text
  const values = alternatives(text).map((it) => (isNegated ? `!${it}` : it))
  return values.length === 1 ? (values[0] as string) : values
}

/** Splits at "|", but not within a regular expression. */
function alternatives(text: string): string[] {
  return text.match(/!?\/(?:\\.|[^\\/])*\/(?=\s*(?:\||$))|[^|]+/g)?.map((it) => it.trim()) ?? [text]
}

function setAt(match: Record<string, unknown>, key: string, value: unknown) {
  const [first = '', ...rest] = key.split('.')
  if (first === 'regarding' && rest.length === 1) {
    match['regarding'] ??= {}
    return set(match['regarding'] as Record<string, unknown>, rest[0] as string, value, key)
  }
  return set(match, key, value, key)
}

function set(map: Record<string, unknown>, name: string, value: unknown, key: string) {
  if (Object.hasOwn(map, name))
    return faulty('is given twice', { path: [key], hint: `separate values by "|": ${key}=a|b` })
  Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true })
  return undefined
}

function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** Returns a match as `parseMatch` reads it, for lists and messages. */
export function matchText(match: SilenceMatch): string {
  const entries = Object.entries(match).flatMap(([key, value]): [string, unknown][] =>
    key === 'regarding' && typeof value === 'object' && value !== null
      ? Object.entries(value).map(([inner, it]) => [`regarding.${inner}`, it])
      : [[key, value]],
  )
  const textOf = (value: unknown) =>
    Array.isArray(value) ? value.join('|') : typeof value === 'string' ? value : JSON.stringify(value)
  return entries.length === 0
    ? 'everything'
    : entries.map(([key, value]) => `${key}=${textOf(value)}`).join(', ')
}
