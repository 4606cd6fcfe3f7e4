import * as z from 'zod'
import { hasAtMost, LONGEST_SELECTOR, MOST_KEYS, MOST_PATTERNS, MOST_SINKS, tooMany } from '../bounds.ts'
import { TransitionKeysShape } from './transition-schema.ts'

/** A name of the configuration: a DNS label, so that it fits into metrics, keys and URLs. */
export const Name = z
  .string()
  .max(63, 'is longer than 63 characters')
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    'is no name: use lower-case letters, digits and "-", beginning and ending with a letter or digit',
  )

/** Exact text, a glob, `/RE2/`, each with `!` for not; or a list of them. */
export const Patterns = z.union([
  z.string(),
  z
    .array(z.string())
    .min(1, 'is an empty list, which matches nothing')
    .max(MOST_PATTERNS, tooMany(MOST_PATTERNS, 'patterns')),
])
export type Patterns = z.infer<typeof Patterns>

/** A Kubernetes selector, or keys with patterns for their values. */
export const KeyValues = z.union([
  z.string().max(LONGEST_SELECTOR, `is longer than ${LONGEST_SELECTOR.toLocaleString('en')} characters`),
  z.record(z.string(), Patterns).refine(hasAtMost(MOST_KEYS), tooMany(MOST_KEYS, 'keys')),
])
export type KeyValues = z.infer<typeof KeyValues>

const Ages = z.union([
  z.string(),
  z
    .array(z.string())
    .min(1, 'is an empty list: write "<5m" or ">=1h"')
    .max(MOST_KEYS, tooMany(MOST_KEYS, 'ages')),
])

export const Regarding = z.strictObject({
  kind: Patterns.optional(),
  namespace: Patterns.optional(),
  name: Patterns.optional(),
  labels: KeyValues.optional(),
  owner: Patterns.optional(),
})
export type Regarding = z.infer<typeof Regarding>

/** The conditions of a rule: all that are given must hold. */
export const When = z.strictObject({
  kind: Patterns.optional(),
  namespace: Patterns.optional(),
  /** Labels of the object's namespace. */
  namespaceLabels: KeyValues.optional(),
  name: Patterns.optional(),
  labels: KeyValues.optional(),
  annotations: KeyValues.optional(),
  type: Patterns.optional(),
  reason: Patterns.optional(),
  message: Patterns.optional(),
  /** `Kind/name` of any of its controllers. */
  owner: Patterns.optional(),
  regarding: Regarding.optional(),
  synthesized: z.boolean().optional(),
  /** `<5m`, `>=1h`, or several of them. */
  age: Ages.optional(),
})
export type When = z.infer<typeof When>

/** Sinks by name, each with what the rule says for it; its type checks that. */
const SinkOptions = z
  .record(z.string(), z.unknown())
  .refine(hasAtMost(MOST_SINKS), tooMany(MOST_SINKS, 'sinks'))

/** One sink, or several: by name, or as a map from names to options. The names remain. */
const To = z
  .union([
    z.string(),
    z
      .array(z.union([z.string(), SinkOptions]))
      .min(1, 'is an empty list: name a sink')
      .max(MOST_SINKS, tooMany(MOST_SINKS, 'sinks')),
    SinkOptions,
  ])
  .transform((to) => [to].flat().flatMap((it) => (typeof it === 'string' ? [it] : Object.keys(it))))

export const Severity = z.enum(['error', 'warning', 'info'])
export type Severity = z.infer<typeof Severity>

/** Texts that go with what a rule sends: `{ team: shop }`. */
export const StaticLabels = z
  .record(
    z
      .string()
      .regex(
        /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
        'is no label: use up to 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit',
      ),
    z
      .string()
      .max(200, 'is longer than 200 characters')
      .refine((text) => !/\{[{%]/.test(text), {
        message: 'is a fixed text: a template would be sent as it stands',
        params: { hint: 'templates stand in message: { fields: { … } }' },
      }),
  )
  .refine(hasAtMost(MOST_KEYS), tooMany(MOST_KEYS, 'labels'))

/** One entry of `rules:`. */
export const Rule = z.strictObject({
  name: Name,
  /** Without it every event matches. */
  when: When.optional(),
  ...TransitionKeysShape,
  drop: z.boolean().optional(),
  to: To.optional(),
  /** False: no rule below sees an event that this one matches. */
  continue: z.boolean().optional(),
  /** Of the notification; a template of `message` goes before it. */
  severity: Severity.optional(),
  /** Stand in the notification. */
  labels: StaticLabels.optional(),
  /** What an error at run time counts as. */
  onError: z.enum(['skip', 'deliver']).optional(),
})
export type Rule = z.infer<typeof Rule>

export function listOf(patterns: Patterns): readonly string[] {
  return typeof patterns === 'string' ? [patterns] : patterns
}
