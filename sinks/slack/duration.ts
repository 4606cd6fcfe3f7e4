import * as z from 'zod'

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** A duration such as `15s`, in milliseconds; `example` shows what one looks like here. */
export function duration(example: string, leastMs: number, mostMs: number) {
  const error = ({ input }: { input?: unknown }) => rule(input, example)
  return z
    .string({ error })
    .regex(/^\d{1,9}(ms|s|m|h)$/, { error })
    .transform(milliseconds)
    .refine((ms) => ms >= leastMs, `must be at least ${textOf(leastMs)}`)
    .refine((ms) => ms <= mostMs, `must be at most ${textOf(mostMs)}`)
}

function rule(input: unknown, example: string): string {
  const bare = /^\d{1,9}$/.exec(String(input))?.[0]
  return bare === undefined ? `must be a duration such as ${example}` : `needs a unit: ${bare}s or ${bare}m`
}

function milliseconds(text: string): number {
  const unit = /[a-z]+$/.exec(text)?.[0] ?? ''
  return Number.parseInt(text, 10) * (UNITS[unit] as number)
}

function textOf(ms: number): string {
  const unit = ['h', 'm', 's'].find((it) => ms % (UNITS[it] as number) === 0) ?? 'ms'
  return `${ms / (UNITS[unit] as number)}${unit}`
}
