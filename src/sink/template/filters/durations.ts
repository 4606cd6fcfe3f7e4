const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/** How long ago an RFC 3339 time is, as kubectl tells it: `45s`, `5m30s`, `3h`, `2d4h`. Other text stays as it is. */
export function ageOf(time: string, nowMs: number): string {
  const ms = /^\d{4}-\d\d-\d\dT/.test(time) ? Date.parse(time) : Number.NaN
  return Number.isNaN(ms) ? time : inWords((nowMs - ms) / 1_000)
}

/** A number of seconds in the same form. */
export function durationOf(value: unknown): unknown {
  const seconds = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value
  return typeof seconds === 'number' ? inWords(seconds) : value
}

/** The longer it is, the less its smallest part matters. */
function inWords(exact: number): string {
  const seconds = Math.max(0, Math.floor(exact))
  if (seconds < 2 * MINUTE) return `${seconds}s`
  if (seconds < 10 * MINUTE) return twoParts(seconds, MINUTE, 'm', 1, 's')
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`
  if (seconds < 8 * HOUR) return twoParts(seconds, HOUR, 'h', MINUTE, 'm')
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`
  if (seconds < 8 * DAY) return twoParts(seconds, DAY, 'd', HOUR, 'h')
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`
  if (seconds < 8 * YEAR) return twoParts(seconds, YEAR, 'y', DAY, 'd')
  return `${Math.floor(seconds / YEAR)}y`
}

function twoParts(seconds: number, large: number, a: string, small: number, b: string): string {
  const rest = Math.floor((seconds % large) / small)
  return `${Math.floor(seconds / large)}${a}${rest === 0 ? '' : `${rest}${b}`}`
}
