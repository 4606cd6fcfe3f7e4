import * as z from 'zod'
import { durationText } from '../../src/sink/index.ts'
import { compileEach } from './batch-each.ts'

const Each = z
  .unknown()
  .transform((value, context) => {
    if (value === undefined) return undefined
    const compiled = compileEach(value)
    if (compiled.ok) return compiled.each
    for (const { message, path, offset, length, hint } of compiled.problems)
      context.addIssue({ code: 'custom', message, path: [...path], params: { offset, length, hint } })
    return z.NEVER
  })
  .optional()

/** Many events in one request. */
export const Batch = z.strictObject({
  max: z.int().min(1).max(1_000).optional().meta({ description: 'Events in a request; default: 100.' }),
  maxBytes: z
    .int()
    .min(1_000)
    .max(100_000_000)
    .optional()
    .meta({ description: 'Bytes of a request before compression; default: 1000000.' }),
  /** A call of a second and more counts as slow, and the queue makes its batches smaller. */
  wait: durationText({ least: '1ms', most: '500ms', example: '100ms' })
    .optional()
    .meta({ description: 'How long a request that is not full waits for more events; default: not at all.' }),
  each: Each.meta({
    description:
      'What one event becomes: a tree (JSON), a list of trees (JSON lines) or a text, with templates.',
    examples: [{ message: '{{ message.title }}', time: '{{ time }}' }],
  }),
  separator: z.string().max(100).optional().meta({ description: 'Between events; default: a line break.' }),
  before: z
    .string()
    .max(10_000)
    .optional()
    .meta({ description: 'Before the first event; default: nothing.' }),
  after: z
    .string()
    .max(10_000)
    .optional()
    .meta({ description: 'After the last event; default: a line break.' }),
})

export type BatchOptions = z.output<typeof Batch>
