import { LIMIT_KEYS, type RuleLimits } from '../limits/schema.ts'
import { writtenDuration } from '../sink/duration.ts'
import { isPlainMap } from './plain.ts'

const SPANS = new Set(['every', 'wait', 'interval', 'within', 'after', 'for'])

/** The limits of a rule in the order in which they apply: `throttle: per regarding, every 10m`. */
export function limitWords(
  rule: Readonly<Record<string, unknown>> | RuleLimits,
): { name: string; words: string }[] {
  const limits: Readonly<Record<string, unknown>> = { ...rule, for: lastingMs(rule) }
  return LIMIT_KEYS.flatMap((name) => {
    const value = limits[name]
    return value === undefined || value === false ? [] : [{ name, words: wordsOf(name, value) }]
  })
}

/** How long something must have lasted before it is told, in milliseconds. */
export function lastingMs(rule: Readonly<Record<string, unknown>> | RuleLimits): number | undefined {
  const { for: own, condition } = rule as Readonly<Record<string, unknown>>
  const lasting = own ?? (isPlainMap(condition) ? condition['for'] : undefined)
  return typeof lasting === 'number' ? lasting : undefined
}

function wordsOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((it) => wordsOf(name, it)).join(', ')
  if (!isPlainMap(value)) return textOf(name, value)
  return Object.entries(value)
    .filter(([, it]) => it !== undefined)
    .map(([key, it]) => `${key} ${Array.isArray(it) ? it.join('+') : textOf(key, it, name)}`)
    .join(', ')
}

/** `every` of `count` is a number of times. */
function textOf(key: string, value: unknown, limit = key): string {
  const isSpan = typeof value === 'number' && SPANS.has(key) && limit !== 'count'
  return isSpan ? writtenDuration(value) : String(value)
}
