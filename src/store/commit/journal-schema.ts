import * as z from 'zod'
import { durationText } from '../../sink/duration.ts'

const UNITS: Readonly<Record<string, number>> = {
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
}

/** A zod schema for a size: text in the file (`256MB`, `256MiB`, or `256Mi` as in Kubernetes), bytes in the settings. */
export function sizeText({ least, most, rule }: { least: number; most: number; rule: string }) {
  return z
    .string(rule)
    .regex(/^\d{1,6}([KMG]i?B|[KMG]i)$/, rule)
    .transform(
      (text) => Number.parseInt(text, 10) * (UNITS[text.replace(/^\d+/, '').replace(/i$/, 'iB')] ?? 0),
    )
    .refine((bytes) => bytes >= least && bytes <= most, rule)
}

const Size = sizeText({
  least: 1e6,
  most: 16 * 2 ** 30,
  rule: 'must be a size from 1MB to 16GiB, such as 64MB or 1GiB',
})

/** What happened is kept for a while, so that other rules can be tried on it. Without it nothing is. */
export const Journal = z.strictObject({
  keep: durationText({ least: '1m', most: '30d', example: '24h' })
    .default(86_400_000)
    .meta({ description: 'How long.', examples: ['24h'] }),
  max: Size.prefault('64MB').meta({
    description: 'How much: the oldest goes when there is more; default: 64MB.',
    examples: ['64MB'],
  }),
})
export type Journal = z.output<typeof Journal>
