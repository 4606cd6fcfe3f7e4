import * as z from 'zod'
import { durationText } from '../sink/duration.ts'
import { hasAtMost, MOST_KEYS, MOST_PATHS, MOST_PATTERNS, MOST_SINKS, tooMany } from '../text/bounds.ts'
import { Patterns } from './pattern.ts'
import { When } from './when.ts'

/** A name in the configuration: a DNS label, so that it is valid in metrics, keys and URLs. */
export const Name = z
  .string()
  .max(63, 'is longer than 63 characters')
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    'is not a name: use lower-case letters, digits and "-", beginning and ending with a letter or digit, such as team-a',
  )

/** Sinks by name, each with the rule's options, which the sink type checks. */
const SinkOptions = z
  .record(z.string(), z.unknown())
  .refine(hasAtMost(MOST_SINKS), tooMany(MOST_SINKS, 'sinks'))

/** One or several sinks, by name or as a map from names to options. The output has only the names. */
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

const Severity = z.enum(['error', 'warning', 'info'])
export type Severity = z.infer<typeof Severity>

/** Fixed labels of a rule's notifications: `{ team: shop }`. */
const StaticLabels = z
  .record(
    z
      .string()
      .regex(
        /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
        'is not a label: use up to 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit',
      ),
    z
      .string()
      .max(200, 'is longer than 200 characters')
      .refine((text) => !/\{[{%]/.test(text), {
        message: 'is a fixed text: a template would be sent unchanged',
        params: { code: 'template-in-label', hint: 'write templates into message: { fields: { … } }' },
      })
      .meta({ description: 'A text.' }),
  )
  .refine(hasAtMost(MOST_KEYS), tooMany(MOST_KEYS, 'labels'))

const NOTHING = 'is an empty list, which matches nothing'
const TOO_MANY = tooMany(MOST_PATTERNS, 'patterns')

/** Paths into the object. */
const Paths = z.union([
  z.string(),
  z.array(z.string()).min(1, 'is an empty list: name a path').max(MOST_PATHS, tooMany(MOST_PATHS, 'paths')),
])

/** YAML reads some texts as numbers or booleans. */
const Scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String)
const Status = z.union([Scalar, z.array(Scalar).min(1, NOTHING).max(MOST_PATTERNS, TOO_MANY)])
const states = (description: string) =>
  z
    .record(z.string(), Status.meta({ description }))
    .refine(hasAtMost(MOST_PATHS), tooMany(MOST_PATHS, 'paths'))

/** The keys that compare an object with its previous state. */
const TransitionKeysShape = {
  if: z
    .string()
    .optional()
    .meta({
      description: 'A CEL expression that must be true: object, oldObject, event, cluster, now.',
      examples: ['event.count >= 3', 'object.spec.replicas > 10'],
    }),
  changed: Paths.optional().meta({
    description: 'One of these paths changed.',
    examples: [['spec.template.spec.containers.*.image']],
  }),
  unchanged: Paths.optional().meta({ description: 'None of these paths changed.', examples: [['spec']] }),
  from: states('Patterns for the old value.')
    .optional()
    .meta({
      description: 'Patterns by path that the old values match.',
      examples: [{ 'status.phase': 'Running' }],
    }),
  'to-state': states('Patterns for the new value.')
    .optional()
    .meta({
      description:
        'Patterns by path that the new values match and the old values did not: the object entered this state.',
      examples: [{ 'status.phase': 'Failed' }],
    }),
  /** Shorthand for `status.conditions[type=…]`. */
  condition: z
    .strictObject({
      type: z
        .string()
        .min(1, 'is empty: name a condition, such as Ready')
        .meta({ description: 'Its type.', examples: ['Ready'] }),
      becomes: ConditionStatus().meta({ description: 'Its status now.', examples: ['False'] }),
      from: ConditionStatus()
        .optional()
        .meta({ description: 'Its status before.', examples: ['True'] }),
      reason: Patterns.optional().meta({ description: 'Its reason now.' }),
      for: durationText({ least: '1s', most: '7d', example: '2m' })
        .optional()
        .meta({ description: 'Notify only after it has been so for this long.', examples: ['2m'] }),
    })
    .optional()
    .meta({
      description: 'A condition of the status changed.',
      examples: [{ type: 'Ready', becomes: 'False', for: '2m' }],
    }),
} satisfies Record<string, z.ZodType>

/** YAML reads `becomes: False` as a boolean; the API has "False". */
function ConditionStatus() {
  return Status.transform((status) => (Array.isArray(status) ? status.map(capitalised) : capitalised(status)))
}

function capitalised(text: string): string {
  return text.replace(
    /^(!?)(true|false|unknown)$/,
    (_, not: string, word: string) => not + word.charAt(0).toUpperCase() + word.slice(1),
  )
}

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
