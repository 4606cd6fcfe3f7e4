import * as z from 'zod'
import { MOST_ENTRIES, MOST_WINDOWS, tooMany } from '../../text/bounds.ts'
import { nearest } from '../../text/closest-match.ts'

const MINUTE_MS = 60_000
const DAY_MINUTES = 24 * 60
/** Longer than any window: a rule that is muted for longer is muted for ever. */
const MAX_MINUTES = 8 * DAY_MINUTES

/** Part of the week, by the local time of a timezone. */
interface MuteWindow {
  /** Minutes since midnight; from 0 to 1440 is a whole day. A window with `from` after `to` spans midnight. */
  from: number
  to: number
  /** Days on which it begins; 0 is Sunday. */
  days: readonly number[]
  timezone: string
}

/** Whether a rule is muted. Follows the local clocks, also when they change for daylight saving time. */
export interface Muted {
  at(ms: number): boolean
  /** Returns the first minute from `ms` that is not muted; undefined when there is none for more than a week. */
  endsAt(ms: number): number | undefined
}

export function createMuted(windows: readonly MuteWindow[]): Muted {
  const tests = windows.map(windowTest)
  const isMuted = (minute: number) => tests.some((test) => test(minute * MINUTE_MS))
  let last = { minute: Number.NaN, muted: false }
  let found = { from: 0, to: 0 }

  function at(ms: number): boolean {
    const minute = Math.floor(ms / MINUTE_MS)
    if (minute !== last.minute) last = { minute, muted: isMuted(minute) }
    return last.muted
  }

  return {
    at,
    endsAt(ms) {
      if (!at(ms)) return ms
      const from = Math.floor(ms / MINUTE_MS)
      if (from >= found.from && from < found.to) return found.to * MINUTE_MS
      for (let to = from + 1; to < from + MAX_MINUTES; to++) {
        if (isMuted(to)) continue
        found = { from, to }
        return to * MINUTE_MS
      }
      return undefined
    },
  }
}

/** Returns true if the windows cover every minute of the week. Windows of different timezones are not compared. */
export function mutesAlways(windows: readonly MuteWindow[]): boolean {
  if (new Set(windows.map(({ timezone }) => timezone)).size > 1) return false
  const tests = windows.map((window) => windowTest({ ...window, timezone: 'UTC' }))
  for (let minute = 0; minute < 7 * DAY_MINUTES; minute++)
    if (!tests.some((test) => test(minute * MINUTE_MS))) return false
  return true
}

function windowTest({ from, to, days, timezone }: MuteWindow): (ms: number) => boolean {
  const localTime = clockOf(timezone)
  return (ms) => {
    const { day, minute } = localTime(ms)
    if (from < to) return days.includes(day) && minute >= from && minute < to
    const yesterday = (day + 6) % 7
    return (days.includes(day) && minute >= from) || (days.includes(yesterday) && minute < to)
  }
}

const clocks = new Map<string, (ms: number) => { day: number; minute: number }>()

function clockOf(timezone: string): (ms: number) => { day: number; minute: number } {
  const known = clocks.get(timezone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  const clock = (ms: number) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
    return {
      day: dayOf(parts.get('weekday') ?? ''),
      minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
    }
  }
  clocks.set(timezone, clock)
  return clock
}

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const TIME_RULE = 'must be a time of day in quotes, such as "22:00"'

const Time = z
  .string(TIME_RULE)
  .regex(/^(([01]?\d|2[0-3]):[0-5]\d|24:00)$/, TIME_RULE)
  .transform((text) => {
    const [hours = 0, minutes = 0] = text.split(':').map(Number)
    return hours * 60 + minutes
  })

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
        message: `"${text.slice(0, 40)}" is no day`,
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
  context.addIssue({ code: 'custom', message: `"${name.slice(0, 60)}" is no timezone`, params: { hint } })
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
    from: Time.optional().meta({ description: 'When it begins.', examples: ['22:00'] }),
    to: Time.optional().meta({ description: 'When it ends, perhaps on the next day.', examples: ['07:00'] }),
    days: Days.optional().meta({
      description: 'On which days it begins.',
      examples: [['Sat', 'Sun'], 'mon-fri'],
    }),
    timezone: Timezone.optional().meta({
      description: 'Of these times; default: UTC.',
      examples: ['Europe/Berlin'],
    }),
  })
  .superRefine(({ from, to, days }, context) => {
    const refuse = (message: string, hint: string, path: string[] = []) =>
      context.addIssue({ code: 'custom', message, path, params: { hint } })
    if (from === undefined && to === undefined && days === undefined)
      refuse('has no time in it', 'write a time, such as { from: "22:00", to: "07:00" }')
    if (from !== undefined && to === undefined)
      refuse('has "from", but no "to"', 'such as to: "07:00"; to: "24:00" is midnight')
    if (from === undefined && to !== undefined)
      refuse('has "to", but no "from"', 'such as from: "22:00"; from: "00:00" is midnight')
    if (from !== undefined && from === to)
      refuse('is the same as "from"', 'for whole days write days alone', ['to'])
    if (from === DAY_MINUTES) refuse('is the end of the day', 'write from: "00:00"', ['from'])
  })
  .transform(
    ({ from = 0, to = DAY_MINUTES, days = [0, 1, 2, 3, 4, 5, 6], timezone = 'UTC' }): MuteWindow => ({
      from,
      to,
      days,
      timezone,
    }),
  )

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
