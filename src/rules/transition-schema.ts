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
const States = z.record(z.string(), Status).refine(hasAtMost(MOST_PATHS), tooMany(MOST_PATHS, 'paths'))

/** What a rule may ask of an object's change. */
export const TransitionKeysShape = {
  /** CEL. */
  if: z.string().optional(),
  /** One of these is not as it was. */
  changed: Paths.optional(),
  /** All of these are as they were. */
  unchanged: Paths.optional(),
  /** What was at a path: patterns. */
  from: States.optional(),
  /** What is at a path now, and was not before: patterns. */
  'to-state': States.optional(),
  /** Shorthand for `status.conditions[type=…]`. */
  condition: z
    .strictObject({
      type: z.string().min(1, 'is empty: name a condition, such as Ready'),
      becomes: ConditionStatus(),
      from: ConditionStatus().optional(),
      reason: Texts.optional(),
      for: durationText({ least: '1s', most: '7d', example: '2m' }).optional(),
    })
    .optional(),
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
