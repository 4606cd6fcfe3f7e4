import * as z from 'zod'
import { allOf, Count, listOf, Ms, PageQuery } from './basics.ts'
import { EventSummary, Notice } from './history.ts'

const Name = z.string().min(1).max(253)
const Id = z.string().regex(/^\d{1,16}-\d{1,16}$/, 'is not an id of a dead letter')
/** Two ids: of the last dead letter that was read, and of the newest one that belongs to the selection. */
const ChoiceCursor = z
  .string()
  .regex(/^\d{1,16}-\d{1,16}~\d{1,16}-\d{1,16}$/, 'is not the `next` of an answer')

const choice = {
  sink: Name.optional(),
  reason: Name.optional(),
  rule: Name.optional(),
}

export const DeadLettersQuery = PageQuery.extend(choice)
export type DeadLettersQuery = z.output<typeof DeadLettersQuery>

export const DeadLetter = z
  .strictObject({
    id: Id,
    sink: z.string(),
    rule: z.string(),
    reason: z.string(),
    detail: z.string(),
    atMs: Ms,
    count: Count.meta({
      description: 'How many deliveries it counts for: more than 1 where it cannot be read.',
    }),
    event: EventSummary.optional().meta({ description: 'Absent: it cannot be read.' }),
    notice: Notice.optional(),
  })
  .meta({ id: 'DeadLetter' })
export type DeadLetter = z.output<typeof DeadLetter>

const DeadLetterGroup = z.strictObject({
  sink: z.string(),
  reason: z.string(),
  count: Count,
  oldestMs: Ms,
  newestMs: Ms,
})

export const DeadLetters = listOf(DeadLetter)
  .extend({
    groups: z.array(DeadLetterGroup),
    total: Count,
    isComplete: z.boolean().meta({ description: 'False: the groups are of the newest dead letters only.' }),
    newest: Id.optional().meta({
      description:
        'As `until` of a retry or drop: what comes after this answer is left alone. Absent: there is none.',
    }),
  })
  .meta({ id: 'DeadLetters' })
export type DeadLetters = z.output<typeof DeadLetters>

export const DeadLetterDetail = DeadLetter.extend({
  object: z
    .string()
    .optional()
    .meta({ description: 'JSON of the object, Secret values hashed; at most 200,000 characters.' }),
  isCut: z.boolean().meta({ description: 'The object has more.' }),
}).meta({ id: 'DeadLetterDetail' })
export type DeadLetterDetail = z.output<typeof DeadLetterDetail>

export const DeadLetterChoice = z
  .union([
    z.strictObject({ ids: z.array(Id).min(1).max(500) }),
    z
      .strictObject({
        ...choice,
        all: z.literal(true).optional(),
        until: Id.optional().meta({
          description:
            'None newer than this one: `newest` of a list. Default: the newest one at the first request.',
        }),
        cursor: ChoiceCursor.optional().meta({ description: '`next` of the answer before.' }),
      })
      .refine(
        (it) => it.all === true || it.sink !== undefined || it.reason !== undefined || it.rule !== undefined,
        {
          error: 'name ids, or a sink, reason or rule, or all: true',
        },
      ),
  ])
  .meta({
    id: 'DeadLetterChoice',
    description: 'Which ones: by ids, or all that have this sink, reason and rule.',
  })
export type DeadLetterChoice = z.output<typeof DeadLetterChoice>

export const DeadLettersDone = z
  .strictObject({
    done: Count,
    failed: z.array(z.strictObject({ id: z.string(), detail: z.string() })),
    left: z.boolean().meta({
      description: 'True: there are more to look at; send the same request with `next` as `cursor`.',
    }),
    next: ChoiceCursor.optional().meta({
      description:
        'The `cursor` of the next request; absent if nothing is left. It keeps the newest one of the first request: what comes later is left alone.',
    }),
  })
  .meta({ id: 'DeadLettersDone' })
export type DeadLettersDone = z.output<typeof DeadLettersDone>

/** `namespace: shop`, `rule: [crash-*, oom]` */
const Match = z.record(Name, z.unknown())

export const Silence = z
  .strictObject({
    id: z.string(),
    match: Match,
    fromMs: Ms,
    untilMs: Ms,
    reason: z.string(),
    by: z.string(),
    suppressed: Count.optional(),
    untested: Count.optional().meta({
      description:
        'Events of a rule that it could not test, because a value is too long for its pattern: it does not suppress them.',
    }),
    state: z.enum(['pending', 'active', 'ended']),
  })
  .meta({ id: 'Silence' })
export type Silence = z.output<typeof Silence>
export const Silences = allOf(Silence).meta({ id: 'Silences' })
export type Silences = z.output<typeof Silences>

export const NewSilence = z
  .strictObject({
    match: Match.meta({ description: 'Conditions as those of rules, and `rule` and `sink`; all must hold.' }),
    fromMs: Ms.optional().meta({ description: 'Default: now.' }),
    untilMs: Ms,
    reason: z.string().min(1).max(500),
    all: z
      .literal(true)
      .optional()
      .meta({ description: 'Confirms a match without conditions: everything is silenced.' }),
  })
  .meta({ id: 'NewSilence' })
export type NewSilence = z.output<typeof NewSilence>

export const Incident = z
  .strictObject({
    rule: z.string(),
    key: z.string(),
    object: z.string().optional().meta({ description: '`Kind namespace/name`' }),
    sinceMs: Ms,
    notifications: Count.meta({ description: 'Events that were sent or added to a digest.' }),
    acknowledged: z.strictObject({ by: z.string(), atMs: Ms, reason: z.string().optional() }).optional(),
  })
  .meta({ id: 'Incident' })
export type Incident = z.output<typeof Incident>
export const Incidents = allOf(Incident).extend({ isComplete: z.boolean() }).meta({ id: 'Incidents' })
export type Incidents = z.output<typeof Incidents>

export const Acknowledgement = z
  .strictObject({ rule: Name, key: z.string().min(1).max(1_000), reason: z.string().max(500).optional() })
  .meta({ id: 'Acknowledgement' })
export type Acknowledgement = z.output<typeof Acknowledgement>
