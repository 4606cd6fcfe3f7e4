import * as z from 'zod'
import { durationText } from '../sink/duration.ts'

const UNITS: Readonly<Record<string, number>> = {
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
}
const SIZE_RULE = 'must be a size from 1MB to 16GB, such as 64MB or 1GiB'

const Size = z
  .string(SIZE_RULE)
  .regex(/^\d{1,6}([KMG]B|[KMG]iB)$/, SIZE_RULE)
  .transform((text) => Number.parseInt(text, 10) * (UNITS[text.replace(/^\d+/, '')] ?? 0))
  .refine((bytes) => bytes >= 1e6 && bytes <= 16 * 2 ** 30, SIZE_RULE)

/** What happened is kept for a while, so that other rules can be tried on it. Without it nothing is. */
export const Journal = z.strictObject({
  keep: durationText({ least: '1m', most: '30d', example: '24h' }).default(86_400_000),
  max: Size.prefault('64MB'),
})
export type Journal = z.output<typeof Journal>
