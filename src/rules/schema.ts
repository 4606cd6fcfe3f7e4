import { z } from 'zod'

/** A word, or a list of words; exact, glob, `/re2/`, `!` for not. */
export const Pattern = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)])
export type Pattern = z.infer<typeof Pattern>

/** A Kubernetes selector, or keys with patterns for their values. */
export const KeySelector = z.union([z.string().min(1), z.record(z.string(), Pattern)])
export type KeySelector = z.infer<typeof KeySelector>

/** The object that an Event is about. */
export const Regarding = z.strictObject({
  kind: Pattern.optional(),
  namespace: Pattern.optional(),
  name: Pattern.optional(),
})

/** When a rule matches: all of its conditions do. */
export const When = z.strictObject({
  kind: Pattern.optional(),
  namespace: Pattern.optional(),
  name: Pattern.optional(),
  labels: KeySelector.optional(),
  annotations: KeySelector.optional(),
  type: Pattern.optional(),
  reason: Pattern.optional(),
  message: Pattern.optional(),
  regarding: Regarding.optional(),
})
export type When = z.infer<typeof When>

/** One rule: when it matches, events go to its sinks, or no further. */
export const Rule = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'use lower-case letters, digits and "-"'),
  when: When.optional(),
  drop: z.boolean().optional(),
  to: z.union([z.string().transform((it) => [it]), z.array(z.string()).min(1)]).optional(),
})
export type Rule = z.infer<typeof Rule>
