import * as z from 'zod'
import { MOST_WINDOWS, MOST_WORDS, tooMany } from '../bounds.ts'
import { nearest } from '../nearest.ts'

/** A stretch of the week, by the clock of a timezone. */
export interface MuteWindow {
  /** Minutes since midnight; from 0 to 1440 is a whole day. `from` after `to` goes over midnight. */
  from: number
  to: number
  /** Days on which it begins; 0 is Sunday. */
  days: readonly number[]
  timezone: string
}

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const DAY_MINUTES = 24 * 60
const TIME_RULE = 'must be a time of day, such as "22:00"'

const Time = z
  .string({ error: ({ input }) => timeRule(input) })
  .regex(/^(([01]?\d|2[0-3]):[0-5]\d|24:00)$/, { error: ({ input }) => timeRule(input) })
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
      .max(MOST_WORDS, `has more than ${MOST_WORDS} entries: a week has seven days`),
  ])
  .transform((days, context): readonly number[] => {
    const found = new Set<number>()
    for (const [at, text] of [days].flat().entries()) {
      const some = daysOf(text)
      if (Array.isArray(some)) for (const day of some) found.add(day)
      else
        context.addIssue({
          code: 'custom',
          message: some.message,
          path: typeof days === 'string' ? [] : [at],
          params: { hint: some.hint },
        })
    }
    return [...found].toSorted()
  })

const Timezone = z.string().superRefine((name, context) => {
  if (isTimezone(name)) return
  const near = timezoneLike(name)
  const hint = near === undefined ? 'such as Europe/Berlin or UTC' : `did you mean "${near}"?`
  context.addIssue({ code: 'custom', message: `"${name.slice(0, 60)}" is no timezone`, params: { hint } })
})

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
  .superRefine(({ from, to, days, timezone }, context) => {
    const refuse = (message: string, hint: string, path: string[] = []) =>
      context.addIssue({ code: 'custom', message, path, params: { hint } })
    if (from === undefined && to === undefined && days === undefined)
      refuse(
        'has no time in it',
        `write a time, such as { from: "22:00", to: "07:00"${timezone ? `, timezone: ${timezone}` : ''} }`,
      )
    if (from !== undefined && to === undefined)
      refuse('has "from", but no "to"', 'such as to: "07:00"; to: "24:00" is midnight')
    if (from === undefined && to !== undefined)
      refuse('has "to", but no "from"', 'such as from: "22:00"; from: "00:00" is midnight')
    if (from !== undefined && from === to)
      refuse('is the same as "from": no time at all', sameHint(from, days), ['to'])
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

/** When a rule says nothing: a window, or several. */
export const Mute = z
  .union([
    Window,
    z
      .array(Window)
      .min(1, 'is an empty list: leave it out, or write a window')
      .max(MOST_WINDOWS, tooMany(MOST_WINDOWS, 'windows')),
  ])
  .transform((windows): readonly MuteWindow[] => [windows].flat())

function sameHint(fromMinutes: number, days: readonly number[] | undefined): string {
  const ends = `write when it ends, such as "${fromMinutes === 360 ? '18:00' : '06:00'}"`
  return days
    ? `${ends}; for whole days leave "from" and "to" out`
    : `${ends}; for whole days write mute: { days: [sat, sun] }`
}

function timezoneLike(name: string): string | undefined {
  const names = Intl.supportedValuesOf('timeZone')
  const place = name.trim().replaceAll(' ', '_').toLowerCase()
  return nearest(name, names) ?? names.find((it) => it.toLowerCase().endsWith(`/${place}`))
}

/** `Mon`, `monday`, `mon-fri`, `sat-mon`. */
function daysOf(text: string): number[] | { message: string; hint: string } {
  const ends = text.split('-', 3).map((part) => dayOf(part.trim()))
  const [first, last = first] = ends
  if (ends.length > 2 || first === undefined || last === undefined || first < 0 || last < 0) {
    const meant = text.includes(',')
      ? `write a list: [${text
          .split(',')
          .map((it) => it.trim())
          .join(', ')}]`
      : undefined
    return { message: `"${text.slice(0, 40)}" is no day`, hint: meant ?? nearestDays(text) }
  }
  const days = [first]
  for (let day = first; day !== last; ) {
    day = (day + 1) % 7
    days.push(day)
  }
  return days
}

function nearestDays(text: string): string {
  if (/^weekends?$/i.test(text)) return 'write sat-sun'
  if (/^(weekdays?|work(ing)? ?days?)$/i.test(text)) return 'write mon-fri'
  if (/^(daily|every ?day|all|\*)$/i.test(text)) return 'leave "days" out for every day'
  const parts = text.split('-').map((part) => nearest(part.trim(), [...DAYS, ...DAYS.map(short)], 2))
  const isClear = parts.length <= 2 && parts.every((part) => part !== undefined)
  return isClear ? `did you mean "${parts.join('-')}"?` : 'such as mon, tuesday or mon-fri'
}

function dayOf(text: string): number {
  const word = text.toLowerCase()
  return word.length < 3 ? -1 : DAYS.findIndex((day) => day.startsWith(word))
}

function short(day: string): string {
  return day.slice(0, 3)
}

/** Also for `22`, `7am`, `10:30 pm`. */
function timeRule(input: unknown): string {
  const text = typeof input === 'string' || typeof input === 'number' ? String(input) : ''
  const [, hour, minutes = '00', half] =
    /^(\d{1,2})(?:[:.h](\d\d))?(?::\d\d)? ?([ap])?\.?(?:m\.?)?$/i.exec(text) ?? []
  if (hour === undefined) return TIME_RULE
  const isFit = half === undefined ? Number(hour) < 24 : Number(hour) >= 1 && Number(hour) <= 12
  if (!isFit || Number(minutes) > 59) return TIME_RULE
  const hours =
    half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  return `${TIME_RULE}: write "${String(hours).padStart(2, '0')}:${minutes}"`
}

/** Offsets such as +02:00 know no summer time: names only. */
function isTimezone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}
