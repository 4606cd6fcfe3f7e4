import * as z from 'zod'

const LINES_RULE = 'must be a whole number from 1 to 200'
const BYTES_RULE = 'must be a whole number of bytes from 256 to 16384'
const MOST_LINES = 200
const LEAST_BYTES = 256
const MOST_BYTES = 16 * 1024

const Settings = z.strictObject({
  lines: z
    .int(LINES_RULE)
    .min(1, LINES_RULE)
    .max(MOST_LINES, LINES_RULE)
    .default(20)
    .meta({ description: 'At most so many lines, from the end; default: 20.', examples: [50] }),
  maxBytes: z
    .int(BYTES_RULE)
    .min(LEAST_BYTES, BYTES_RULE)
    .max(MOST_BYTES, BYTES_RULE)
    .default(4_096)
    .meta({ description: 'At most so many bytes, from the end; default: 4096.', examples: [8192] }),
  previous: z.boolean().optional().meta({
    description:
      'true: the log of the run before the last restart. Default: what the state of the container suggests.',
  }),
  container: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'is not a name of a container, such as app')
    .optional()
    .meta({ description: 'Default: the container that failed.', examples: ['app'] }),
})

/** A rule's `logs`: the end of a container's log in its notifications. */
export const LogsOption = z
  .union([z.literal(true).transform(() => Settings.parse({})), Settings])
  .optional()
  .meta({
    description: "The end of the container's log in notifications about Pods: true, or a map.",
    examples: [true, { lines: 50, container: 'app' }],
  })
