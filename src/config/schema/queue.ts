import { isAbsolute } from 'node:path'
import * as z from 'zod'
import { durationText } from '../../sink/duration.ts'
import { sizeText } from '../../store/commit/journal-schema.ts'

const maxBytes = sizeText({
  least: 1e6,
  most: 1024 * 2 ** 30,
  rule: 'must be a size from 1MB to 1024GiB, such as 256MB',
})

/**
 * Bounds of what waits for one sink: milliseconds, and bytes in Redis. The least age is several intervals of the probes that ask
 * whether a sink is back: otherwise all would expire before a probe.
 */
export const QueueSettings = z.strictObject({
  maxAge: durationText({ least: '1m', most: '365d', example: '24h' })
    .optional()
    .meta({ description: 'What waits for longer becomes a dead letter; default: 24h.', examples: ['24h'] }),
  maxBytes: maxBytes.optional().meta({
    description: 'Beyond it the oldest become dead letters; default: a fair share of 40 % of maxmemory.',
    examples: ['256MB'],
  }),
})

const NEEDS_FILE = 'needs "file" in the same map'

/** Where dead letters beyond their bounds go before they are deleted. */
const Archive = z
  .strictObject({
    file: z
      .string()
      .refine(isAbsolute, 'must be absolute, such as /var/log/kubeherald/dead-letters.ndjson')
      .refine((path) => !path.endsWith('/'), 'must name a file, not a folder')
      .refine((path) => !path.includes('\0'), 'must not have a zero character in it')
      .optional()
      .meta({
        description: 'A file, absolute: a JSON object a line.',
        examples: ['/var/log/kubeherald/dead-letters.ndjson'],
      }),
    sink: z
      .string()
      .min(1, 'is empty: name a sink')
      .optional()
      .meta({ description: 'A sink that no rule sends to.', examples: ['archive'] }),
    /** Bytes of one file. */
    maxSize: sizeText({
      least: 1e6,
      most: 1024 * 2 ** 30,
      rule: 'must be a size from 1MB to 1024GiB, such as 100MB',
    })
      .optional()
      .meta({ description: 'A new file is begun at this size; default: 100MB.', examples: ['100MB'] }),
    maxFiles: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .meta({ description: 'How many full files are kept; default: 10.' }),
  })
  .superRefine(({ file, sink, maxSize, maxFiles }, context) => {
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
    if (file === undefined && sink === undefined) refuse([], 'needs "file" or "sink": where dead letters go')
    if (file !== undefined && sink !== undefined)
      refuse(['sink'], 'does not go with "file": there is one archive')
    if (file === undefined && maxSize !== undefined) refuse(['maxSize'], NEEDS_FILE)
    if (file === undefined && maxFiles !== undefined) refuse(['maxFiles'], NEEDS_FILE)
  })

/** Bounds of the dead letters of all sinks together. */
export const DeadLetters = z.strictObject({
  maxAge: durationText({ least: '1m', most: '3650d', example: '7d' })
    .optional()
    .meta({ description: 'How long; default: 7d.', examples: ['7d'] }),
  maxBytes: maxBytes
    .optional()
    .meta({ description: 'How much of Redis; default: 10 % of maxmemory.', examples: ['128MB'] }),
  archive: Archive.optional().meta({
    description: 'Where they go before they are deleted; without it they are only counted.',
  }),
})
/** What is kept of what became of deliveries: milliseconds, and bytes in Redis. */
export const History = z.union(
  [
    z.literal(false),
    z.strictObject({
      keep: durationText({ least: '1m', most: '365d', example: '7d' })
        .optional()
        .meta({ description: 'How long; default: 7d.', examples: ['7d'] }),
      maxBytes: maxBytes.optional().meta({
        description: 'How much of Redis; default: 16MB, at most 4 % of maxmemory.',
        examples: ['256MB'],
      }),
    }),
  ],
  'must be a map such as { keep: 7d, maxBytes: 256MB }, or false',
)

export type DeadLetters = z.output<typeof DeadLetters>

export type QueueSettings = z.output<typeof QueueSettings>
