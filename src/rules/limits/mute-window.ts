import * as z from 'zod'
import { MOST_ENTRIES, MOST_WINDOWS, tooMany } from '../../text/bounds.ts'
import { nearest } from '../../text/closest-match.ts'

export const DAY_MINUTES = 24 * 60

/** When a rule is muted, by the local time of a timezone. */
export type MuteWindow = RecurringWindow | OneOffWindow

export interface RecurringWindow {
  /** Minutes since midnight; from 0 to 1440 is a whole day. A window with `from` after `to` spans midnight. */
  from: number
  to: number
  /** Days of the week on which it begins; 0 is Sunday. */
  days: readonly number[]
  /** Dates on which it begins; absent: all. */
  dates?: readonly DateRange[]
  timezone: string
}

/** Both included, as YYYY-MM-DD, or as MM-DD of any year. */
export interface DateRange {
  first: string
  last: string
}

/** From `begin` until before `end`, as YYYY-MM-DD HH:MM. */
interface OneOffWindow {
  begin: string
  end: string
  timezone: string
}

export const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const TIME_RULE =
  'must be a time of day in quotes, such as "22:00", or a date and a time, such as "2026-12-24 18:00"'
const TIME_OF_DAY = /^(([01]?\d|2[0-3]):[0-5]\d|24:00)$/
const DATE_AND_TIME = /^(\d{4}-\d\d-\d\d)[ T](([01]?\d|2[0-3]):[0-5]\d)$/

/** A time of day becomes the minutes since midnight, a date and a time YYYY-MM-DD HH:MM. */
const Time = z
  .string(TIME_RULE)
  .superRefine((text, context) => {
    const [, date] = DATE_AND_TIME.exec(text) ?? []
    if (date === undefined ? TIME_OF_DAY.test(text) : isDate(date)) return
    const isDateAlone = /^\d{4}-\d\d-\d\d$/.test(text)
    const message = date === undefined ? TIME_RULE : `${date} is not a date`
    const params = isDateAlone ? { hint: `add the time, or for whole days write dates: ["${text}"]` } : {}
    context.addIssue({ code: 'custom', message, params })
  })
  .transform((text): number | string => {
    const [, date, time = ''] = DATE_AND_TIME.exec(text) ?? []
    if (date !== undefined) return `${date} ${time.padStart(5, '0')}`
    const [hours = 0, minutes = 0] = text.split(':').map(Number)
    return hours * 60 + minutes
  })

/** 29 February is a date of any year. */
function isDate(text: string): boolean {
  const date = text.length === 5 ? `2024-${text}` : text
  const ms = Date.parse(date)
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(date)
}

const DATE_RANGE = /^((?:\d{4}-)?\d\d-\d\d)(?:\.\.((?:\d{4}-)?\d\d-\d\d))?$/
const DATES_HINT = 'such as 2026-12-24, 12-24 for every year, or 12-24..12-26'

const Dates = z
  .union([
    z.string(),
    z
      .array(z.string())
      .min(1, 'is an empty list: leave it out for every date')
      .max(MOST_ENTRIES, tooMany(MOST_ENTRIES, 'dates')),
  ])
  .transform((dates, context): readonly DateRange[] =>
    [dates].flat().flatMap((text, at) => {
      const range = dateRangeOf(text)
      if (typeof range !== 'string') return range
      const path = typeof dates === 'string' ? [] : [at]
      context.addIssue({ code: 'custom', message: range, path, params: { hint: DATES_HINT } })
      return []
    }),
  )

/** Returns the range, or what is wrong with it. */
function dateRangeOf(text: string): DateRange | string {
  const [, first = '', last = first] = DATE_RANGE.exec(text) ?? []
  const wrong = [first, last].find((date) => !isDate(date))
  if (wrong !== undefined) return `"${text.slice(0, 40)}" is not a date`
  if (first.length !== last.length) return `"${text}" has a year on one side only`
  if (first.length > 5 && first > last) return `"${text}" ends before it begins`
  return { first, last }
}

const Days = z
  .union([
    z.string(),
    z
      .array(z.string())
      .min(1, 'is an empty list: leave it out for every day')
      .max(MOST_ENTRIES, `has more than ${MOST_ENTRIES} entries: a week has seven days`),
  ])
  .transform((days, context): readonly number[] => {
    const found = new Set<number>()
    for (const [at, text] of [days].flat().entries()) {
      const range = daysOf(text)
      for (const day of range ?? []) found.add(day)
      if (range) continue
      const near = nearest(text, [...DAYS, ...DAYS.map((day) => day.slice(0, 3))], 2)
      const hint = near === undefined ? 'such as mon, [sat, sun] or mon-fri' : `did you mean "${near}"?`
      const path = typeof days === 'string' ? [] : [at]
      context.addIssue({
        code: 'custom',
        message: `"${text.slice(0, 40)}" is not a day`,
        path,
        params: { hint },
      })
    }
    return [...found].toSorted()
  })

/** Returns the days of `Mon`, `monday`, `mon-fri` or `sat-mon`; undefined if the text is none of these. */
function daysOf(text: string): number[] | undefined {
  const ends = text.split('-', 3).map((part) => dayOf(part.trim()))
  const [first, last = first] = ends
  if (ends.length > 2 || first === undefined || last === undefined || first < 0 || last < 0) return undefined
  const days = [first]
  for (let day = first; day !== last; ) {
    day = (day + 1) % 7
    days.push(day)
  }
  return days
}

function dayOf(text: string): number {
  const name = text.toLowerCase()
  return name.length < 3 ? -1 : DAYS.findIndex((day) => day.startsWith(name))
}

const Timezone = z.string().superRefine((name, context) => {
  if (isTimezone(name)) return
  const near = nearest(name, Intl.supportedValuesOf('timeZone'))
  const hint = near === undefined ? 'such as Europe/Berlin or UTC' : `did you mean "${near}"?`
  context.addIssue({ code: 'custom', message: `"${name.slice(0, 60)}" is not a timezone`, params: { hint } })
})

/** Offsets such as +02:00 have no daylight saving time, so only names are accepted. */
function isTimezone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

const Window = z
  .strictObject({
    from: Time.optional().meta({
      description: 'When it begins: a time of day, or a date and a time.',
      examples: ['22:00', '2026-12-24 18:00'],
    }),
    to: Time.optional().meta({
      description: 'When it ends: a time of day, perhaps on the next day, or a date and a time.',
      examples: ['07:00', '2026-12-27 08:00'],
    }),
    days: Days.optional().meta({
      description: 'On which days it begins.',
      examples: [['Sat', 'Sun'], 'mon-fri'],
    }),
    dates: Dates.optional().meta({
      description: 'On which dates it begins: of one year, of every year, or from one to another.',
      examples: [['2026-12-31', '12-24..12-26']],
    }),
    timezone: Timezone.optional().meta({
      description: 'Of these times; default: UTC.',
      examples: ['Europe/Berlin'],
    }),
  })
  .superRefine(({ from, to, days, dates }, context) => {
    const refuse = (message: string, hint: string, path: string[] = []) =>
      context.addIssue({ code: 'custom', message, path, params: { hint } })
    if (from === undefined && to === undefined && days === undefined && dates === undefined)
      refuse('has no time in it', 'write a time, such as { from: "22:00", to: "07:00" }')
    if (from !== undefined && to === undefined)
      refuse('has "from", but no "to"', 'such as to: "07:00"; to: "24:00" is midnight')
    if (from === undefined && to !== undefined)
      refuse('has "to", but no "from"', 'such as from: "22:00"; from: "00:00" is midnight')
    if (from !== undefined && from === to)
      refuse('is the same as "from"', 'for whole days write days alone', ['to'])
    // A value that is neither is reported by its own schema.
    const isDated = [from, to].map((it) => typeof it === 'string' && DATE_AND_TIME.test(it))
    const isTime = [from, to].map((it) => typeof it === 'number')
    if ((isDated[0] && isTime[1]) || (isTime[0] && isDated[1]))
      refuse('has a date on one side only', 'write a date and a time in both, or in none', ['to'])
    if (isDated[0] && isDated[1] && String(to) < String(from))
      refuse('is before "from"', 'write a later time', ['to'])
    for (const [key, value] of Object.entries({ days, dates }))
      if (isDated[0] && value !== undefined)
        refuse('has no use in a window from one date to another', `leave "${key}" out`, [key])
    if (from === DAY_MINUTES) refuse('is the end of the day', 'write from: "00:00"', ['from'])
  })
  .transform(({ from = 0, to = DAY_MINUTES, days, dates, timezone = 'UTC' }): MuteWindow => {
    if (typeof from === 'string' || typeof to === 'string')
      return { begin: String(from), end: String(to), timezone }
    return { from, to, days: days ?? [0, 1, 2, 3, 4, 5, 6], ...(dates && { dates }), timezone }
  })

/** When a rule sends nothing: one window or several. */
export const Mute = z
  .union([
    Window,
    z
      .array(Window)
      .min(1, 'is an empty list: leave it out, or write a window')
      .max(MOST_WINDOWS, tooMany(MOST_WINDOWS, 'windows')),
  ])
  .transform((windows): readonly MuteWindow[] => [windows].flat())
