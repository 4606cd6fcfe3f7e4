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
  kind: Patterns.optional().meta({ description: 'Its kind.', examples: ['Pod'] }),
  namespace: Patterns.optional().meta({ description: 'Its namespace.' }),
  name: Patterns.optional().meta({ description: 'Its name.', examples: ['web-*'] }),
  labels: KeyValues.optional().meta({
    description: 'Its labels: a Kubernetes selector, or a map of patterns.',
    examples: ['team in (shop, pay)'],
  }),
  owner: Patterns.optional().meta({
    description: 'A controller of it, any in the chain.',
    examples: ['Deployment/web'],
  }),
})
export type Regarding = z.infer<typeof Regarding>

/** The conditions of a rule: all that are given must hold. */
export const When = z.strictObject({
  kind: Patterns.optional().meta({
    description: 'The kind of the object, in any spelling: Deployment, deployments.apps, apps/v1/Deployment.',
    examples: ['Event'],
  }),
  namespace: Patterns.optional().meta({
    description: 'The namespace of the object.',
    examples: [['shop', 'pay-*'], '!kube-*'],
  }),
  namespaceLabels: KeyValues.optional().meta({
    description: 'The labels of its namespace: a Kubernetes selector, or a map of patterns.',
    examples: ['env=prod'],
  }),
  name: Patterns.optional().meta({
    description: 'The name of the object; of an Event that of the Event itself: see regarding.',
    examples: ['web-*'],
  }),
  labels: KeyValues.optional().meta({
    description: 'The labels of the object: a Kubernetes selector, or a map of patterns.',
    examples: ['team in (shop, pay)'],
  }),
  annotations: KeyValues.optional().meta({
    description: 'The annotations of the object: a Kubernetes selector, or a map of patterns.',
  }),
  type: Patterns.optional().meta({
    description: 'What happened: ADDED, MODIFIED, DELETED; and of an Event Normal or Warning.',
    examples: ['Warning', ['ADDED', 'DELETED']],
  }),
  reason: Patterns.optional().meta({
    description: 'The reason of an Event.',
    examples: [['BackOff', 'OOMKilling']],
  }),
  message: Patterns.optional().meta({ description: 'The text of an Event.', examples: ['*node*'] }),
  owner: Patterns.optional().meta({
    description: 'A controller of the object, any in the chain: Kind/name, Kind, or */name.',
    examples: ['Deployment/web', 'CronJob'],
  }),
  regarding: Regarding.optional().meta({
    description: 'The object that an Event is about.',
    examples: [{ kind: 'Pod' }],
  }),
  synthesized: z.boolean().optional().meta({
    description:
      'true: what was noticed only later, by comparing lists; false: what was seen as it happened.',
  }),
  age: Ages.optional().meta({
    description: 'How long ago the object was created.',
    examples: ['<5m', '>1h'],
  }),
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
      })
      .meta({ description: 'A text.' }),
  )
  .refine(hasAtMost(MOST_KEYS), tooMany(MOST_KEYS, 'labels'))

/** One entry of `rules:`. */
export const Rule = z.strictObject({
  name: Name.meta({
    description: 'What messages, metrics and dead letters call the rule: lower-case letters, digits and "-".',
    examples: ['crash-loops'],
  }),
  when: When.optional().meta({
    description:
      'What the rule is for: all conditions must hold; without any, every event matches. A value is exact, a glob (pay-*), an expression (/^web-\\d+$/), a list of those; "!" in front means not.',
    examples: [{ kind: 'Event', type: 'Warning' }],
  }),
  ...TransitionKeysShape,
  drop: z
    .boolean()
    .optional()
    .meta({ description: 'true: what matches goes nowhere, and no rule below sees it.' }),
  to: To.optional().meta({
    description: 'The sinks it goes to, with options of this rule.',
    examples: [['oncall'], [{ oncall: { channel: '#shop' } }, 'bus']],
  }),
  continue: z.boolean().optional().meta({ description: 'false: no rule below sees what this one matches.' }),
  severity: Severity.optional().meta({
    description: 'How bad it is: error, warning or info. A template of message goes before it.',
  }),
  labels: StaticLabels.optional().meta({
    description: 'Texts that go with the notification.',
    examples: [{ team: 'shop' }],
  }),
  onError: z
    .enum(['skip', 'deliver'])
    .optional()
    .meta({ description: 'When "if" fails on an event: skip (default) is no match, deliver is a match.' }),
})
export type Rule = z.infer<typeof Rule>

export function listOf(patterns: Patterns): readonly string[] {
  return typeof patterns === 'string' ? [patterns] : patterns
}
