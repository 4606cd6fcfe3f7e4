import { DAY_MINUTES, DAYS, type DateRange, type MuteWindow, type RecurringWindow } from './mute-window.ts'

const MINUTE_MS = 60_000
/** Longer than any window: a rule that is muted for longer is muted for ever. */
const MAX_MINUTES = 400 * DAY_MINUTES

/** Whether a rule is muted. Follows the local clocks, also when they change for daylight saving time. */
export interface Muted {
  at(ms: number): boolean
  /** Returns the first minute from `ms` that is not muted; undefined when there is none for more than a year. */
  endsAt(ms: number): number | undefined
}

export function createMuted(windows: readonly MuteWindow[]): Muted {
  const tests = windows.map(windowTest)
  const leftAt = (minute: number) => Math.max(...tests.map((left) => left(minute * MINUTE_MS)))
  const isMuted = (minute: number) => leftAt(minute) > 0
  let last = { minute: Number.NaN, muted: false }
  let found: { from: number; to: number; ends?: number } = { from: 0, to: 0 }

  function at(ms: number): boolean {
    const minute = Math.floor(ms / MINUTE_MS)
    if (minute !== last.minute) last = { minute, muted: isMuted(minute) }
    return last.muted
  }

  function search(from: number): typeof found {
    let to = from
    for (let left = leftAt(to); left > 0; left = leftAt(to)) {
      // The last three hours minute by minute, because clocks may change until then, in Antarctica/Troll by two hours.
      to += Math.max(1, left - 181)
      if (to > from + MAX_MINUTES) return { from, to: from + DAY_MINUTES }
    }
    return { from, to, ends: to }
  }

  return {
    at,
    endsAt(ms) {
      if (!at(ms)) return ms
      const from = Math.floor(ms / MINUTE_MS)
      if (from < found.from || from >= found.to) found = search(from)
      return found.ends === undefined ? undefined : found.ends * MINUTE_MS
    },
  }
}

/** Returns true if the windows cover every minute of the week. Windows of different timezones are not compared, dates are left aside. */
export function mutesAlways(windows: readonly MuteWindow[]): boolean {
  if (new Set(windows.map(({ timezone }) => timezone)).size > 1) return false
  const tests = windows
    .filter((window) => !('begin' in window) && window.dates === undefined)
    .map((window) => windowTest({ ...window, timezone: 'UTC' }))
  for (let minute = 0; minute < 7 * DAY_MINUTES; minute++)
    if (!tests.some((left) => left(minute * MINUTE_MS) > 0)) return false
  return true
}

/** Returns a function of a time in milliseconds: for how many minutes by the local clock the window still lasts; 0 outside of it. */
function windowTest(window: MuteWindow): (ms: number) => number {
  const localTime = clockOf(window.timezone)
  if ('begin' in window) {
    const { begin, end } = window
    const endMs = wallMs(end)
    const nowAt = (ms: number) => {
      const { date, minute } = localTime(ms)
      return `${date} ${clockText(minute)}`
    }
    // Where the clocks go back, they show a time twice: the first one counts.
    const [beginsMs = Infinity, endsMs = Infinity] = [begin, end].map((time) => firstShown(time, nowAt))
    return (ms) => {
      const now = nowAt(ms)
      const isIn = (now >= begin || ms >= beginsMs) && now < end && ms < endsMs
      return isIn ? (endMs - wallMs(now)) / MINUTE_MS : 0
    }
  }
  const { from, to } = window
  return (ms) => {
    const { date, minute } = localTime(ms)
    const begins = beginsOn(window, date)
    if (from < to) return begins && minute >= from && minute < to ? to - minute : 0
    if (begins && minute >= from) return DAY_MINUTES - minute + to
    return minute < to && beginsOn(window, dayBefore(date)) ? to - minute : 0
  }
}

/** Returns when a clock first shows a time, in milliseconds; undefined if it leaves it out. Its offset before and after are tried. */
function firstShown(time: string, nowAt: (ms: number) => string): number | undefined {
  const localMs = wallMs(time)
  const days = [localMs - DAY_MINUTES * MINUTE_MS, localMs + DAY_MINUTES * MINUTE_MS]
  const candidates = days.map((ms) => localMs - (wallMs(nowAt(ms)) - ms)).toSorted((a, b) => a - b)
  return candidates.find((ms) => nowAt(ms) === time)
}

function beginsOn({ days, dates }: RecurringWindow, date: string): boolean {
  const isDay = days.length === DAYS.length || days.includes(new Date(wallMs(date)).getUTCDay())
  return isDay && (dates?.some((range) => isIn(range, date)) ?? true)
}

/** Ranges of days of any year, such as 12-24..01-06, may span the new year. */
function isIn({ first, last }: DateRange, date: string): boolean {
  const it = date.slice(-first.length)
  return first <= last ? it >= first && it <= last : it >= first || it <= last
}

function dayBefore(date: string): string {
  return new Date(wallMs(date) - DAY_MINUTES * MINUTE_MS).toISOString().slice(0, 10)
}

/** The time that a local clock shows, as if it were UTC: only differences count. */
function wallMs(text: string): number {
  return Date.parse(text.length > 10 ? `${text.replace(' ', 'T')}Z` : text)
}

function clockText(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}

interface LocalTime {
  /** YYYY-MM-DD */
  date: string
  /** Since midnight. */
  minute: number
}

const clocks = new Map<string, (ms: number) => LocalTime>()

function clockOf(timezone: string): (ms: number) => LocalTime {
  const known = clocks.get(timezone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  const clock = (ms: number) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
    return {
      date: `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`,
      minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
    }
  }
  clocks.set(timezone, clock)
  return clock
}
