import * as z from 'zod'

/** The core gives a batch up after 60 s: a request must have ended by then. */
const MAX_TIMEOUT_MS = 50_000
const MAX_PAUSE_MS = 30 * 86_400_000

/** `500ms`, `20s`. */
export const Timeout = z
  .string({ error: ({ input }) => durationRule(input) })
  .regex(/^\d{1,9}(ms|s|m)$/, { error: ({ input }) => durationRule(input) })
  .transform(milliseconds)
  .refine((ms) => ms > 0, 'must be longer than 0')
  .refine((ms) => ms <= MAX_TIMEOUT_MS, 'must be at most 50s: a batch of deliveries as a whole gets 60 s')

const LONG_RULE = 'must be a duration from 1m to 30d, such as 30m, 24h or 7d'

/** `30m`, `24h`, `7d`. */
export const LongDuration = z
  .string({ error: LONG_RULE })
  .regex(/^\d{1,6}(m|h|d)$/, LONG_RULE)
  .transform(milliseconds)
  .refine((ms) => ms >= 60_000 && ms <= MAX_PAUSE_MS, LONG_RULE)

function durationRule(input: unknown): string {
  const bare = /^\d{1,9}$/.exec(String(input))?.[0]
  const fitting = ['s', 'ms']
    .map((unit) => `${bare}${unit}`)
    .filter((it) => milliseconds(it) > 0 && milliseconds(it) <= MAX_TIMEOUT_MS)
  return fitting.length > 0
    ? `needs a unit: ${fitting.join(' or ')}`
    : 'must be a duration of at most 50s, such as 500ms or 20s'
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

function milliseconds(text: string): number {
  return Number.parseInt(text, 10) * (UNITS[text.replace(/^\d+/, '')] ?? 0)
}
