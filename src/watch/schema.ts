import { z } from 'zod'

const Pattern = z.string().min(1)

/** One entry of `watch:`. */
export const WatchEntry = z.strictObject({
  kind: z.string().min(1),
  namespaces: z.union([Pattern.transform((it) => [it]), z.array(Pattern).min(1)]).optional(),
  labels: z.string().min(1).optional(),
  fields: z.string().min(1).optional(),
  initial: z.enum(['now', 'emit']).optional(),
})
export type WatchEntry = z.infer<typeof WatchEntry>
