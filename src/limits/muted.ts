import type { MuteWindow } from './mute-schema.ts'

const MINUTE_MS = 60_000
const DAY_MINUTES = 24 * 60
/** No window is longer; what is muted for longer is muted for ever. */
const MAX_MINUTES = 8 * DAY_MINUTES

/** When a rule says nothing, by the clocks of timezones: over both changes of summer time. */
export interface Muted {
  at(ms: number): boolean
  /** The first minute from then on in which it is not muted; undefined when it is for more than a week. */
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

/** Is there no minute of the week that is left? By the clocks on the wall, as if all were in one timezone. */
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

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const clocks = new Map<string, (ms: number) => { day: number; minute: number }>()

/** What a clock on the wall shows there. */
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
      day: WEEKDAYS.indexOf(parts.get('weekday') ?? ''),
      minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
    }
  }
  clocks.set(timezone, clock)
  return clock
}
