import * as z from 'zod'
import { Count, listOf, Ms, StoppedAt } from './basics.ts'
import { Attempt, ChangeType, EventSummary, Notice, Until } from './history.ts'

export const ObjectsQuery = z.strictObject({
  q: z
    .string()
    .max(600)
    .default('')
    .meta({ description: 'Parts of kind, namespace and name: `deploy/shop/web`, `shop/web`, `web`.' }),
})

export const FoundObject = z
  .strictObject({
    kind: z.string(),
    apiVersion: z.string().optional(),
    namespace: z.string().optional(),
    name: z.string(),
    lastMs: Ms,
    events: Count.meta({ description: 'Events of it among what was read.' }),
  })
  .meta({ id: 'FoundObject' })
export type FoundObject = z.output<typeof FoundObject>

export const FoundObjects = z
  .strictObject({
    items: z.array(FoundObject).meta({ description: 'At most 100, the newest first.' }),
    isComplete: z.boolean().meta({ description: 'False: only the newest records were read.' }),
    historyFromMs: Ms.optional(),
    watched: z.array(z.string()).meta({ description: 'Titles of the watches.' }),
  })
  .meta({ id: 'FoundObjects' })
export type FoundObjects = z.output<typeof FoundObjects>

/** Where a delivery is, or how it ended. */
export const Outcome = z.enum(['delivered', 'dead', 'failed', 'suppressed', 'waiting'])
export type Outcome = z.output<typeof Outcome>

export const StoryOutcome = z.strictObject({
  sink: z.string(),
  rule: z.string(),
  outcome: Outcome,
  atMs: Ms,
  attempts: Count,
  limit: z.string().optional(),
  untilMs: Until,
  silence: z.string().optional(),
  reason: z.string().optional(),
  detail: z.string().optional(),
  deadLetterId: z.string().optional(),
  isReplay: z.literal(true).optional(),
})
export type StoryOutcome = z.output<typeof StoryOutcome>

export const StoryItem = z
  .strictObject({
    id: z.string(),
    type: ChangeType,
    atMs: Ms.meta({ description: 'When it was observed, as far as that is known: of its first outcome.' }),
    reason: z.string().optional(),
    title: z.string().optional(),
    kind: z.string(),
    namespace: z.string().optional(),
    name: z.string(),
    notice: Notice.optional(),
    outcomes: z.array(StoryOutcome).meta({ description: 'The newest first.' }),
  })
  .meta({ id: 'StoryItem', description: 'An event of an object, and what became of it at each sink.' })
export type StoryItem = z.output<typeof StoryItem>
export const Story = listOf(StoryItem)
  .extend({
    isComplete: z.boolean().meta({
      description: 'False: more deliveries wait, or there are more dead letters, than this page has.',
    }),
    historyFromMs: Ms.optional(),
    stoppedAtMs: StoppedAt,
  })
  .meta({ id: 'Story' })
export type Story = z.output<typeof Story>

const FieldChange = z.strictObject({
  path: z.string(),
  old: z.unknown().optional(),
  new: z.unknown().optional(),
})

const Condition = z.strictObject({
  name: z.string().meta({ description: 'Its path in the rule: `regarding.kind`.' }),
  expected: z.unknown().optional().meta({
    description: 'The value in the rule. Absent for tokens with namespaces where it may name others.',
  }),
  seen: z.string().nullable().meta({ description: 'null: absent, or not known.' }),
  holds: z.boolean(),
  error: z.string().optional(),
})

export const ExplainedRule = z
  .strictObject({
    rule: z.string(),
    place: z.string().optional().meta({ description: '`kubeherald.yaml:24:5`' }),
    verdict: z.enum(['matches', 'no', 'other-kind', 'not-asked']).meta({
      description: '`not-asked`: a rule above has ended the evaluation.',
    }),
    conditions: z.array(Condition),
    limits: z.array(z.strictObject({ name: z.string(), text: z.string() })),
    result: z
      .strictObject({
        outcome: z.enum(['sent', 'suppressed', 'waiting', 'digested', 'dropped', 'taken', 'failed']),
        sinks: z.array(z.string()),
        limit: z.string().optional(),
        error: z.string().optional(),
      })
      .optional(),
  })
  .meta({ id: 'ExplainedRule' })
export type ExplainedRule = z.output<typeof ExplainedRule>

/** A message as its sink would get it now. Its texts are plain: what the reader sees of the sink's markup. `body` has it. */
export const Notification = z
  .strictObject({
    target: z.string().optional().meta({ description: '`#oncall`, `POST https://hooks.example.com`' }),
    severity: z.enum(['error', 'warning', 'info', 'resolved']),
    title: z.string(),
    text: z.string(),
    fields: z.array(z.strictObject({ title: z.string(), value: z.string() })),
    links: z.array(z.strictObject({ title: z.string(), url: z.string() })),
    quote: z.string(),
    command: z.string(),
    changes: z.array(FieldChange),
    body: z
      .string()
      .optional()
      .meta({ description: 'What is sent, where it differs from the content; at most 20,000 characters.' }),
  })
  .meta({ id: 'Notification' })
export type Notification = z.output<typeof Notification>

export const SinkLine = z
  .strictObject({
    sink: z.string(),
    rule: z.string(),
    outcome: Outcome,
    atMs: Ms,
    attempts: z.array(Attempt),
    attemptCount: Count,
    enqueuedMs: Ms.optional().meta({
      description: 'When the event was observed, so about when its delivery was enqueued.',
    }),
    title: z.string().optional(),
    note: z.string().optional(),
    reason: z.string().optional(),
    detail: z.string().optional(),
    limit: z.string().optional(),
    untilMs: Until,
    silence: z.string().optional().meta({ description: 'The id of the silence that suppressed it.' }),
    notice: Notice.optional(),
    isReplay: z.literal(true).optional(),
    deadLetterId: z.string().optional(),
    waiting: z.strictObject({ lane: z.string(), quarantine: z.boolean() }).optional(),
    notification: Notification.optional().meta({
      description: 'Rendered again with the configuration in force; absent where the event is not stored.',
    }),
  })
  .meta({ id: 'SinkLine', description: 'What became of an event at one sink, by one rule.' })
export type SinkLine = z.output<typeof SinkLine>

export const EventStory = z
  .strictObject({
    id: z.string(),
    event: EventSummary.optional().meta({ description: 'Absent: only the id is known.' }),
    observedMs: Ms.optional(),
    message: z.string().optional().meta({ description: 'Of an Event.' }),
    changes: z.array(FieldChange).optional().meta({ description: 'Absent: not known.' }),
    rules: z.array(ExplainedRule).optional(),
    rulesMissing: z.string().optional().meta({ description: 'Why there are no rules.' }),
    sinks: z.array(SinkLine),
    isComplete: z
      .boolean()
      .meta({ description: 'False: more deliveries wait, or the history has more, than was read.' }),
  })
  .meta({ id: 'EventStory', description: 'What became of an event, and why.' })
export type EventStory = z.output<typeof EventStory>
