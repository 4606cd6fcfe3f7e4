import * as z from 'zod'

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
type Unit = keyof typeof UNITS

/** `500ms`, `20s`, `5m`, `24h`, `7d`: a whole number and its unit. */
export type Duration = `${number}${Unit}`

export interface DurationTextOptions {
  least: Duration
  most: Duration
  /** An example in error messages. Default: `least`. */
  example?: Duration
  /** Why it must not be longer. */
  mostBecause?: string
}

/** A zod schema for an option that is a duration: text in the file, milliseconds in the options. */
export function durationText({ least, most, example = least, mostBecause }: DurationTextOptions) {
  const [leastMs, mostMs] = [milliseconds(least), milliseconds(most)]
  const rule = `must be a duration from ${least} to ${most}, such as ${example}`
  const error = ({ input }: { input?: unknown }) => {
    const parts = partsIn(input)
    if (parts !== undefined) {
      const text = writtenAs(parts, leastMs, mostMs)
      return text === undefined ? rule : `${rule}: write ${text}`
    }
    if (typeof input !== 'string' && typeof input !== 'number') return rule
    return unitMissing(String(input), leastMs, mostMs) ?? otherForm(String(input), leastMs, mostMs) ?? rule
  }
  return z
    .string({ error })
    .regex(/^\d{1,9}(ms|s|m|h|d)$/, { error })
    .transform((text) => milliseconds(text as Duration))
    .refine((ms) => ms >= leastMs, `must be at least ${least}`)
    .refine((ms) => ms <= mostMs, `must be at most ${most}${mostBecause ? `: ${mostBecause}` : ''}`)
}

const ASKED_FOR: readonly Unit[] = ['s', 'm', 'h', 'd', 'ms']

/** Suggests units for a bare number; undefined if it is not a number or no unit fits. */
function unitMissing(text: string, leastMs: number, mostMs: number): string | undefined {
  const bare = /^\d{1,9}$/.exec(text)?.[0]
  if (bare === undefined) return undefined
  const fitting = ASKED_FOR.map((unit): Duration => `${Number(bare)}${unit}`).filter((it) => {
    const ms = milliseconds(it)
    return ms >= leastMs && ms <= mostMs
  })
  return fitting.length === 0 ? undefined : `needs a unit: ${ALTERNATIVES.format(fitting)}`
}

const SPELLED: Readonly<Record<string, number>> = {
  ms: 1,
  millisecond: 1,
  s: 1_000,
  sec: 1_000,
  second: 1_000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  h: 3_600_000,
  hr: 3_600_000,
  hour: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  w: 604_800_000,
  week: 604_800_000,
}
const PART = /(\d{1,6}(?:\.\d{1,3})?)\s*([a-z]{1,12})\s*/gi

/** `{ hours: 1, minutes: 30 }` as `1hours 30minutes`; undefined if it is not a map of numbers. */
function partsIn(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
  const parts = Object.entries(input)
  return parts.length > 0 && parts.length < 6 && parts.every(([, value]) => typeof value === 'number')
    ? parts.map(([unit, value]) => `${value}${unit}`).join(' ')
    : undefined
}

/** Returns how to write `2 minutes`, `1h30m` or `1.5h` here; undefined if it is not a duration or out of range. */
function otherForm(text: string, leastMs: number, mostMs: number): string | undefined {
  const written = writtenAs(text, leastMs, mostMs)
  return written && `must be a whole number and one of the units s, m, h and d: write ${written}`
}

/** Returns `1h30m`, `1.5h` or `2 minutes` in the form of the configuration (`90m`); undefined if the text is not a duration or out of range. */
export function writtenAs(text: string, leastMs: number, mostMs: number): Duration | undefined {
  if (text.length > 60 || text.replace(PART, '').trim() !== '') return undefined
  let ms = 0
  for (const [, number, word = ''] of text.matchAll(PART)) {
    const unit = word.toLowerCase()
    const factor = Object.hasOwn(SPELLED, unit) ? SPELLED[unit] : SPELLED[unit.replace(/s$/, '')]
    ms += Number(number) * (factor ?? Number.NaN)
  }
  if (!(Number.isInteger(ms) && ms >= leastMs && ms <= mostMs)) return undefined
  const unit = LARGEST_FIRST.find((it) => ms % UNITS[it] === 0) ?? 'ms'
  return `${ms / UNITS[unit]}${unit}`
}

const LARGEST_FIRST: readonly Unit[] = ['d', 'h', 'm', 's', 'ms']

const ALTERNATIVES = new Intl.ListFormat('en-GB', { type: 'disjunction' })

function milliseconds(text: Duration): number {
  return Number.parseInt(text, 10) * UNITS[text.replace(/^\d+/, '') as Unit]
}

/** Milliseconds as the configuration writes them, in the largest unit that is exact: `90s`, `10m`. */
export function writtenDuration(ms: number): Duration {
  const unit = LARGEST_FIRST.find((it) => ms >= UNITS[it] && ms % UNITS[it] === 0) ?? 'ms'
  return `${ms / UNITS[unit]}${unit}`
}
