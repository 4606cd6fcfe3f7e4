import * as z from 'zod'
import { LIMIT_KEYS } from '../limits/schema.ts'
import { compilePatterns } from '../rules/pattern.ts'
import { durationText } from '../sink/duration.ts'

/** A moment of a test: so long after its beginning, or a time of its own. */
export type Moment = { afterMs: number } | { atMs: number }

const MOMENT_RULE =
  'must be a time after the beginning, such as 5m, or one with its zone, such as 2026-11-21T22:30:00Z'
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/
const Span = durationText({ least: '0s', most: '365d', example: '5m' })

const Moment = z.string(MOMENT_RULE).transform((text, context): Moment => {
  const atMs = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(atMs)) return { atMs }
  const span = Span.safeParse(text)
  if (span.success) return { afterMs: span.data }
  context.addIssue({ code: 'custom', message: MOMENT_RULE })
  return z.NEVER
})

/** What is known of the cluster besides: Namespaces with their labels, owners, objects that Events are about. */
const Surroundings = z.array(z.looseObject({ kind: z.string() }))

const CHANGE_TYPES = ['ADDED', 'MODIFIED', 'DELETED'] as const

/** A file with an object, or the object itself; what an API server fills in may be left out. */
const ObjectOrFile = z.union([z.string().min(1, 'is empty: name a file'), z.looseObject({})])

/** A change of an object, said in full. */
export const GivenChange = z.strictObject({
  object: ObjectOrFile,
  /** What it was before; default: what was given before of the same object. */
  old: ObjectOrFile.optional(),
  /** Default: MODIFIED when it was given before or has `old`, else ADDED. */
  type: z.enum(CHANGE_TYPES).optional(),
  synthesized: z.boolean().optional(),
  /** Default: an Event's own time, else that of the one before. */
  at: Moment.optional(),
  /** It happens so often … */
  times: z.int().min(1).max(10_000).optional(),
  /** … with so much time in between. */
  every: durationText({ least: '1ms', most: '7d', example: '10s' }).optional(),
  /** Of the object's namespace: short for a Namespace among `surroundings`. */
  namespaceLabels: z.record(z.string(), z.string()).optional(),
  /** What is known besides from then on. */
  surroundings: Surroundings.optional(),
})
export type GivenChange = z.output<typeof GivenChange>

/** Nothing happens: time passes up to then. */
export const GivenPause = z.strictObject({ at: Moment })

/** An object among others may say when it happens. */
export const GivenObject = z.looseObject({ kind: z.string() })

const Given = z.union([z.string().min(1), GivenPause, GivenChange, GivenObject])

const names = (what: string) => {
  const Name = z.string().min(1, `is empty: name a ${what}`)
  return z.union([Name.transform((it) => [it]), z.array(Name).min(1, `is an empty list: name a ${what}`)])
}

const Text = z.union([z.string(), z.array(z.string()).min(1)]).superRefine((patterns, context) => {
  const compiled = compilePatterns(patterns)
  for (const { message, hint, offset, length, path } of compiled.ok ? [] : compiled.faults)
    context.addIssue({ code: 'custom', message, path: [...path], params: { hint, offset, length } })
})

/** What must come of what is given. All that is said must be so. */
export const Expectation = z
  .strictObject({
    /** In a list: what has come since the one before, up to then. Default: up to what was given at this place. */
    at: Moment.optional(),
    /** These match. */
    rule: names('rule').optional(),
    /** It is sent to these, and to no others; with `rule`, by it. */
    to: names('sink').optional(),
    /** What people read, as a pattern on the title, the text, or all of it. */
    text: Text.optional(),
    severity: z.enum(['error', 'warning', 'info', 'resolved']).optional(),
    /** A limit holds it back, for now or for good. */
    suppressed: z.enum(LIMIT_KEYS).optional(),
    dropped: z.boolean().optional(),
    /** Nothing is sent. */
    none: z.literal(true, 'must be true, or be left out').optional(),
    notices: z.enum(['digest', 'resolved']).optional(),
    /** So many messages are sent. */
    messages: z.int().min(0).optional(),
  })
  .superRefine((it, context) => {
    const { at: _, ...said } = it
    const keys = Object.keys(said).filter((key) => it[key as keyof typeof it] !== undefined)
    if (keys.length === 0)
      context.addIssue({ code: 'custom', message: 'expects nothing: say rule, to, or none: true' })
    const against = ['to', 'text', 'severity', 'notices', 'messages'].find((key) => keys.includes(key))
    if (it.none && against)
      context.addIssue({
        code: 'custom',
        message: `cannot stand beside "${against}": leave one out`,
        path: ['none'],
      })
  })
export type Expectation = z.output<typeof Expectation>

/** One entry of `tests:`. */
export const Test = z.strictObject({
  name: z.string().min(1, 'is empty: say what the test shows'),
  /** A file, an object, a change, or a list of them, one after the other. */
  given: z.union([Given, z.array(Given).min(1, 'is an empty list: give an object')]),
  surroundings: Surroundings.optional(),
  expect: z.union([Expectation, z.array(Expectation).min(1, 'is an empty list')]),
})

export const Tests = z.array(Test)

/** A file of tests. */
export const TestFile = z.strictObject({ tests: Tests.min(1, 'is an empty list') })
