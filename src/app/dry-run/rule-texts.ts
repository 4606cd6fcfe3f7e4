import { DAY_MINUTES, DAYS, type MuteWindow } from '../../rules/limits/mute-window.ts'
import { LIMIT_KEYS, type RuleLimits } from '../../rules/limits/schema.ts'
import { writtenDuration } from '../../sink/duration.ts'
import { isMap } from '../../text/plain-data.ts'
import { printable } from '../../text/printable.ts'

const DURATIONS = new Set(['every', 'wait', 'interval', 'within', 'after', 'for', 'quiet', 'atMost'])

type Rule = Readonly<Record<string, unknown>> | RuleLimits

/** The limits of a rule in the order in which they apply: `throttle: per regarding, every 10m`. */
export function limitTexts(rule: Rule): { name: string; text: string }[] {
  const limits: Readonly<Record<string, unknown>> = { ...rule, for: minDurationOf(rule) }
  return LIMIT_KEYS.flatMap((name) => {
    const value = limits[name]
    return value === undefined || value === false ? [] : [{ name, text: limitText(name, value) }]
  })
}

/** Milliseconds that a state must last before it is sent (`for`). */
export function minDurationOf(rule: Rule): number | undefined {
  const { for: own, condition } = rule as Readonly<Record<string, unknown>>
  const duration = own ?? (isMap(condition) ? condition['for'] : undefined)
  return typeof duration === 'number' ? duration : undefined
}

function limitText(name: string, value: unknown): string {
  if (name === 'mute') return (value as readonly MuteWindow[]).map(windowText).join('; ')
  // `every` of `count` is a number of events.
  const textOf = (key: string, it: unknown) =>
    typeof it === 'number' && DURATIONS.has(key) && name !== 'count' ? writtenDuration(it) : String(it)
  if (Array.isArray(value)) return value.map((it) => limitText(name, it)).join(', ')
  if (!isMap(value)) return textOf(name, value)
  return Object.entries(value)
    .filter(([, it]) => it !== undefined)
    .map(([key, it]) => `${key} ${Array.isArray(it) ? it.join('+') : textOf(key, it)}`)
    .join(', ')
}

/** A window as the configuration writes it: `from 22:00, to 07:00, days mon+tue, timezone UTC`. */
function windowText(window: MuteWindow): string {
  const { timezone } = window
  if ('begin' in window) return `from ${window.begin}, to ${window.end}, timezone ${timezone}`
  const { from, to, days, dates } = window
  const isWholeDay = from === 0 && to === DAY_MINUTES
  const parts = [
    isWholeDay ? '' : `from ${timeOfDay(from)}, to ${timeOfDay(to)}`,
    days.length === DAYS.length ? '' : `days ${days.map((day) => DAYS[day]?.slice(0, 3)).join('+')}`,
    dates &&
      `dates ${dates.map(({ first, last }) => (first === last ? first : `${first}..${last}`)).join('+')}`,
    `timezone ${timezone}`,
  ]
  return parts.filter(Boolean).join(', ')
}

function timeOfDay(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((it) => String(it).padStart(2, '0')).join(':')
}

const MAX_LENGTH = 100

/** A value in one short line, safe on a terminal; lists and maps with commas. */
export function shownValue(value: unknown, maxLength = MAX_LENGTH): string {
  const text = printable(valueText(value, 0))
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
}

function valueText(value: unknown, depth: number): string {
  if (value === undefined || value === null) return '(none)'
  if (typeof value === 'string') return value === '' ? '""' : value.slice(0, 2 * MAX_LENGTH)
  if (typeof value !== 'object') return String(value)
  if (value instanceof Date) return value.toISOString()
  if (depth > 3) return '…'
  const isList = Array.isArray(value)
  const items = isList
    ? value.slice(0, MAX_LENGTH).map((it) => valueText(it, depth + 1))
    : Object.entries(value)
        .slice(0, MAX_LENGTH)
        .map(([key, it]) => `${key}: ${valueText(it, depth + 1)}`)
  const text = items.join(', ')
  if (depth === 0) return text || '(none)'
  return isList ? `[${text}]` : `{ ${text} }`
}
