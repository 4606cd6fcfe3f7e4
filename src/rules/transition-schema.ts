import * as z from 'zod'
import { hasAtMost, MOST_PATHS, MOST_PATTERNS, tooMany } from '../bounds.ts'
import { durationText } from '../sink/duration.ts'

const NOTHING = 'is an empty list, which matches nothing'
const TOO_MANY = tooMany(MOST_PATTERNS, 'patterns')

const Texts = z.union([z.string(), z.array(z.string()).min(1, NOTHING).max(MOST_PATTERNS, TOO_MANY)])

/** Paths into the object. */
const Paths = z.union([
  z.string(),
  z.array(z.string()).min(1, 'is an empty list: name a path').max(MOST_PATHS, tooMany(MOST_PATHS, 'paths')),
])

/** YAML reads some words and numbers as values of their own. */
const Scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String)
const Status = z.union([Scalar, z.array(Scalar).min(1, NOTHING).max(MOST_PATTERNS, TOO_MANY)])
const states = (description: string) =>
  z
    .record(z.string(), Status.meta({ description }))
    .refine(hasAtMost(MOST_PATHS), tooMany(MOST_PATHS, 'paths'))

/** What a rule may ask of an object's change. */
export const TransitionKeysShape = {
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
    .meta({ description: 'What the old values were, by paths.', examples: [{ 'status.phase': 'Running' }] }),
  'to-state': states('Patterns for the new value.')
    .optional()
    .meta({
      description: 'What the new values are and the old were not, by paths: the object entered this state.',
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
      reason: Texts.optional().meta({ description: 'Its reason now.' }),
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

/** `becomes: False` is meant as the word that the API has. */
function ConditionStatus() {
  return Status.transform((status) => (Array.isArray(status) ? status.map(capitalised) : capitalised(status)))
}

function capitalised(text: string): string {
  return text.replace(
    /^(!?)(true|false|unknown)$/,
    (_, not: string, word: string) => not + word.charAt(0).toUpperCase() + word.slice(1),
  )
}
