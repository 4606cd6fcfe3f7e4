import { isAbsolute } from 'node:path'
import * as z from 'zod'

const UNITS: Readonly<Record<string, number>> = {
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}
const INTERVALS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

const SIZE_RULE = 'must be a size such as 100MB or 1GiB'
const INTERVAL_RULE = 'must be minutes, hours or days, such as 15m, 1h or 1d'

const Size = z
  .string(SIZE_RULE)
  .regex(/^\d{1,6}([KMG]B|[KMG]iB)$/, SIZE_RULE)
  .transform((text) => Number.parseInt(text, 10) * (UNITS[text.replace(/^\d+/, '')] ?? 0))
  .refine((bytes) => bytes > 0, 'must be more than 0')

const Interval = z
  .string(INTERVAL_RULE)
  .regex(/^\d{1,4}[mhd]$/, INTERVAL_RULE)
  .transform((text) => Number.parseInt(text, 10) * (INTERVALS_MS[text.slice(-1)] ?? 0))
  .refine((ms) => ms > 0, 'must be longer than 0')

export const FileConfig = z.strictObject({
  path: z
    .string()
    .refine(isAbsolute, 'must be absolute, such as /var/log/kubeherald/events.ndjson')
    .refine((path) => !path.endsWith('/'), 'must name a file, not a folder')
    .refine((path) => !path.includes('\0'), 'must not have a zero character in it')
    .meta({
      description: 'The file, absolute; folders are made.',
      examples: ['/var/log/kubeherald/audit.ndjson'],
    }),
  /** Bytes that a file does not exceed, unless one line alone does. */
  maxSize: Size.prefault('100MB').meta({
    description: 'A new file is begun at this size; default: 100MB.',
    examples: ['1GiB'],
  }),
  /** Milliseconds; a file holds what was delivered in one such period, counted from midnight UTC. */
  interval: Interval.optional().meta({ description: 'A new file is begun so often.', examples: ['1d'] }),
  maxFiles: z
    .int()
    .min(1)
    .max(10_000)
    .default(10)
    .meta({ description: 'How many full files are kept; default: 10.' }),
  compress: z.boolean().default(false).meta({ description: 'Full files are packed with gzip.' }),
  fsync: z
    .boolean()
    .default(true)
    .meta({ description: 'Delivered only when the disk has it; default: true.' }),
})
export type FileConfig = z.output<typeof FileConfig>
