import * as z from 'zod'
import { LIMIT_KEYS } from '../../rules/limits/schema.ts'
import { compilePatterns } from '../../rules/pattern.ts'
import { durationText } from '../../sink/duration.ts'

/** A moment of a test: a time after its beginning, or a time of its own. */
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
const surroundings = (kindIs: string) =>
  z.array(z.looseObject({ kind: z.string().meta({ description: kindIs, examples: ['Namespace'] }) }))

const CHANGE_TYPES = ['ADDED', 'MODIFIED', 'DELETED'] as const

/** A file with an object, or the object itself; what an API server fills in may be left out. */
const ObjectOrFile = z.union([z.string().min(1, 'is empty: name a file'), z.looseObject({})])

const GivenMoment = Moment.meta({
  description: 'When: so long after the beginning, or a time with its zone.',
  examples: ['5m', '2026-11-21T22:30:00Z'],
})

/** A change of an object, said in full. */
export const GivenChange = z.strictObject({
  object: ObjectOrFile.meta({
    description: 'A file with an object, or the object; what an API server fills in may be left out.',
  }),
  old: ObjectOrFile.optional().meta({
    description: 'The object before the change; default: what was given before of the same one.',
  }),
  type: z
    .enum(CHANGE_TYPES)
    .optional()
    .meta({ description: 'Default: MODIFIED when it was given before or has old, else ADDED.' }),
  synthesized: z
    .boolean()
    .optional()
    .meta({ description: 'It was not seen as it happened, but found by comparing.' }),
  /** Default: an Event's own time, else that of the one before. */
  at: GivenMoment.optional(),
  times: z.int().min(1).max(10_000).optional().meta({ description: 'It happens so often.' }),
  every: durationText({ least: '1ms', most: '7d', example: '10s' })
    .optional()
    .meta({ description: 'With so much time in between.', examples: ['10s'] }),
  /** Short for a Namespace among `surroundings`. */
  namespaceLabels: z
    .record(z.string(), z.string().meta({ description: 'A text.' }))
    .optional()
    .meta({ description: "Labels of the object's namespace.", examples: [{ env: 'prod' }] }),
  surroundings: surroundings('A kind.')
    .optional()
    .meta({
      description: 'What is known besides from then on: namespaces, owners, objects that Events are about.',
      examples: [[{ kind: 'Namespace', name: 'shop', labels: { env: 'prod' } }]],
    }),
})
export type GivenChange = z.output<typeof GivenChange>

/** Nothing happens: time passes up to then. */
export const GivenPause = z.strictObject({ at: GivenMoment })

/** An object in a list may have the time of its event. */
export const GivenObject = z.looseObject({
  kind: z.string().meta({ description: 'Of the object.', examples: ['Event'] }),
})

const Given = z.union([z.string().min(1), GivenPause, GivenChange, GivenObject])

const RuleName = z.string().min(1, 'is empty: name a rule')
const RuleNames = z.union([
  RuleName.transform((it) => [it]),
  z.array(RuleName).min(1, 'is an empty list: name a rule'),
])

const Text = z.union([z.string(), z.array(z.string()).min(1)]).superRefine((patterns, context) => {
  const compiled = compilePatterns(patterns)
  for (const { message, hint, offset, length, path } of compiled.ok ? [] : compiled.faults)
    context.addIssue({ code: 'custom', message, path: [...path], params: { hint, offset, length } })
})

/** A sink that gets a delivery. */
export interface ExpectedTarget {
  sink: string
  /** Patterns by option, for the options of the delivery after templates. */
  options: Readonly<Record<string, string | string[]>>
  /** From `to` to where the sink is named. */
  path: readonly (string | number)[]
}

const SinkName = z.string().min(1, 'is empty: name a sink')
const OptionsBySink = z.record(
  SinkName,
  z
    .record(z.string(), Text.meta({ description: 'A pattern.' }))
    .nullable()
    .meta({ description: 'Patterns for options of the delivery, with templates filled in.' }),
)

/** Sinks in the forms of a rule's `to`. */
const To = z
  .union([
    SinkName,
    z.array(z.union([SinkName, OptionsBySink])).min(1, 'is an empty list: name a sink'),
    OptionsBySink,
  ])
  .transform((to): ExpectedTarget[] =>
    Array.isArray(to) ? to.flatMap((it, index) => targetsIn(it, [index])) : targetsIn(to, []),
  )

function targetsIn(to: string | z.output<typeof OptionsBySink>, path: readonly number[]): ExpectedTarget[] {
  if (typeof to === 'string') return [{ sink: to, options: {}, path }]
  return Object.entries(to).map(([sink, options]) => ({
    sink,
    options: options ?? {},
    path: [...path, sink],
  }))
}

/** The expected result of what is given. All keys must hold. */
export const Expectation = z
  .strictObject({
    /** In a list: what has come since the one before, up to then. */
    at: Moment.optional().meta({
      description: 'Up to when; default: up to what is given at this place of the list.',
      examples: ['10m'],
    }),
    rule: RuleNames.optional().meta({ description: 'These rules match.', examples: ['crash-loops'] }),
    to: To.optional().meta({
      description:
        'It is sent to these sinks, and to no others; with rule, by it. Options of a sink are patterns for those of each delivery.',
      examples: [['oncall'], { oncall: { channel: '#shop' } }],
    }),
    /** On the title, the text, or all of it. */
    text: Text.optional().meta({
      description: 'A pattern for the rendered message.',
      examples: ['*crash-looping*'],
    }),
    severity: z
      .enum(['error', 'warning', 'info', 'resolved'])
      .optional()
      .meta({ description: 'Of every message.' }),
    suppressed: z
      .enum(LIMIT_KEYS)
      .optional()
      .meta({ description: 'The limit that suppresses or delays it.' }),
    dropped: z.boolean().optional().meta({ description: 'Whether a rule drops it.' }),
    none: z
      .literal(true, 'must be true, or be left out')
      .optional()
      .meta({ description: 'Nothing is sent.' }),
    notices: z
      .enum(['digest', 'resolved'])
      .optional()
      .meta({ description: 'A digest, or that something is over.' }),
    messages: z.int().min(0).optional().meta({ description: 'How many are sent, over all sinks.' }),
  })
  .superRefine((it, context) => {
    const { at: _, ...expected } = it
    const keys = Object.keys(expected).filter((key) => it[key as keyof typeof it] !== undefined)
    if (keys.length === 0)
      context.addIssue({ code: 'custom', message: 'expects nothing: write rule, to, or none: true' })
    const against = ['to', 'text', 'severity', 'notices', 'messages'].find((key) => keys.includes(key))
    if (it.none && against)
      context.addIssue({
        code: 'custom',
        message: `cannot be combined with "${against}": remove one of them`,
        path: ['none'],
      })
  })
export type Expectation = z.output<typeof Expectation>

/** One entry of `tests:`. */
export const Test = z.strictObject({
  name: z
    .string()
    .min(1, 'is empty: describe what the test shows')
    .meta({ description: 'What it shows.', examples: ['a third back-off reaches on-call'] }),
  given: z
    .union([Given, z.array(Given).min(1, 'is an empty list: give an object')])
    .meta({ description: 'A file, an object, a change, or a list of them, one after the other.' }),
  surroundings: surroundings('Of the object.')
    .optional()
    .meta({ description: 'Objects known besides: Namespaces with their labels, owners.' }),
  expect: z.union([Expectation, z.array(Expectation).min(1, 'is an empty list')]).meta({
    description: 'What must come of it; in a list, each is about what came since the one before.',
    examples: [{ rule: 'crash-loops', to: ['oncall'] }],
  }),
})

export const Tests = z.array(Test)

/** A file of tests. */
export const TestFile = z.strictObject({ tests: Tests.min(1, 'is an empty list') })
