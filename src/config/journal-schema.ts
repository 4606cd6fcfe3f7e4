import * as z from 'zod'
import { durationText } from '../sink/duration.ts'

const UNITS: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9, MiB: 1024 ** 2, GiB: 1024 ** 3 }

const SIZE_RULE = 'must be a size from 1MB to 16GiB, such as 64MB'

const Size = z
  .string(SIZE_RULE)
  .regex(/^\d{1,5}(MB|GB|MiB|GiB)$/, SIZE_RULE)
  .transform((text) => Number.parseInt(text, 10) * (UNITS[text.replace(/^\d+/, '')] ?? 0))
  .refine((bytes) => bytes >= 1e6 && bytes <= 16 * 1024 ** 3, SIZE_RULE)

/** What happened lately, kept in Redis: for how long (milliseconds), and in how many bytes at most. */
export const Journal = z.strictObject({
  keep: durationText({ least: '1m', most: '30d', example: '24h' }),
  max: Size.prefault('64MB'),
})
export type Journal = z.output<typeof Journal>
