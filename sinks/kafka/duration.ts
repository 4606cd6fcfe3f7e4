import * as z from 'zod'

/** `500ms`, `20s`, `1m`: milliseconds in the options. */
export function duration(minMs: number, maxMs: number) {
  const rule = `must be a duration from ${shown(minMs)} to ${shown(maxMs)}, such as ${shown(minMs)}`
  return z
    .string({ error: rule })
    .regex(/^\d{1,9}(ms|s|m)$/, rule)
    .transform(milliseconds)
    .refine((ms) => ms >= minMs && ms <= maxMs, rule)
}

function milliseconds(text: string): number {
  const unit = text.endsWith('ms') ? 1 : text.endsWith('s') ? 1_000 : 60_000
  return Number.parseInt(text, 10) * unit
}

function shown(ms: number): string {
  if (ms % 60_000 === 0) return `${ms / 60_000}m`
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`
}
