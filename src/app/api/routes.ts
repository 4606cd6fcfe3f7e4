import * as z from 'zod'
import {
  Access,
  Acknowledgement,
  DeadLetterChoice,
  DeadLetterDetail,
  DeadLetters,
  DeadLettersDone,
  DeadLettersQuery,
  EventStory,
  FoundObjects,
  History,
  HistoryQuery,
  Incident,
  Incidents,
  Lanes,
  LedgerReport,
  NewSilence,
  ObjectsQuery,
  Overview,
  PageQuery,
  Rules,
  Silence,
  Silences,
  Sinks,
  Story,
  StreamQuery,
  Watches,
} from './contract.ts'

/** An operation of the API: how it is called, and what it answers. */
export interface Route {
  method: 'GET' | 'POST' | 'DELETE'
  /** `{name}` is one step of the path; `{name*}`, at the end, all that follow. */
  path: string
  summary: string
  tag: string
  /** `cluster`: it is about more than namespaces, and so not for tokens with `namespaces`. */
  scope: 'namespaced' | 'cluster'
  /** Needs the role `act`. */
  acts?: true
  /** Everybody who asks within a second gets the same answer. */
  isShared?: true
  /** It reads much: few run at the same time. */
  isHeavy?: true
  query?: z.ZodType
  body?: z.ZodType
  /** Undefined: a stream of events. */
  answer?: z.ZodType
}

const NOTHING = z.strictObject({})

/** All operations, by their names in the OpenAPI document. */
export const ROUTES = {
  getAccess: {
    method: 'GET',
    path: '/access',
    summary: 'Who the request is from, and what it may read',
    tag: 'status',
    scope: 'namespaced',
    answer: Access,
  },
  getOverview: {
    method: 'GET',
    path: '/overview',
    summary: 'The state of all processes in short',
    tag: 'status',
    scope: 'cluster',
    isShared: true,
    answer: Overview,
  },
  listWatches: {
    method: 'GET',
    path: '/watches',
    summary: 'Watches with their phases and counters',
    tag: 'status',
    scope: 'cluster',
    isShared: true,
    answer: Watches,
  },
  listSinks: {
    method: 'GET',
    path: '/sinks',
    summary: 'Sinks with their health, queues and counters',
    tag: 'status',
    scope: 'cluster',
    isShared: true,
    answer: Sinks,
  },
  listLanes: {
    method: 'GET',
    path: '/sinks/{name}/lanes',
    summary: 'Lanes of a sink in which deliveries wait',
    tag: 'status',
    scope: 'cluster',
    isShared: true,
    isHeavy: true,
    answer: Lanes,
  },
  listRules: {
    method: 'GET',
    path: '/rules',
    summary: 'Rules with their YAML and counters',
    tag: 'status',
    scope: 'cluster',
    isShared: true,
    answer: Rules,
  },
  getLedger: {
    method: 'GET',
    path: '/ledger',
    summary: 'The equations of the ledger with their numbers',
    tag: 'status',
    scope: 'cluster',
    isShared: true,
    answer: LedgerReport,
  },
  findObjects: {
    method: 'GET',
    path: '/objects',
    summary: 'Objects that something is known of, by parts of their names',
    tag: 'history',
    scope: 'namespaced',
    isHeavy: true,
    query: ObjectsQuery,
    answer: FoundObjects,
  },
  getStory: {
    method: 'GET',
    path: '/objects/{kind}/{namespace}/{name}/events',
    summary: 'Events of an object, and what became of them; `_` is not a namespace',
    tag: 'history',
    scope: 'namespaced',
    isHeavy: true,
    query: PageQuery,
    answer: Story,
  },
  getEvent: {
    method: 'GET',
    path: '/events/{id*}',
    summary: 'What became of an event at each sink, and what each rule made of it',
    tag: 'history',
    scope: 'namespaced',
    isHeavy: true,
    answer: EventStory,
  },
  listHistory: {
    method: 'GET',
    path: '/history',
    summary: 'What became of deliveries and of suppressed events, the newest first',
    tag: 'history',
    scope: 'namespaced',
    isHeavy: true,
    query: HistoryQuery,
    answer: History,
  },
  streamHistory: {
    method: 'GET',
    path: '/stream',
    summary: 'The same as they happen: server-sent events',
    tag: 'history',
    scope: 'namespaced',
    query: StreamQuery,
  },
  listDeadLetters: {
    method: 'GET',
    path: '/dead-letters',
    summary: 'Dead letters, the newest first, and how many there are of each sink and reason',
    tag: 'dead letters',
    scope: 'namespaced',
    isHeavy: true,
    query: DeadLettersQuery,
    answer: DeadLetters,
  },
  getDeadLetter: {
    method: 'GET',
    path: '/dead-letters/{id}',
    summary: 'A dead letter with its object',
    tag: 'dead letters',
    scope: 'namespaced',
    answer: DeadLetterDetail,
  },
  retryDeadLetters: {
    method: 'POST',
    path: '/dead-letters/retry',
    summary: 'Put dead letters back into their lanes, the oldest first',
    tag: 'dead letters',
    scope: 'namespaced',
    acts: true,
    isHeavy: true,
    body: DeadLetterChoice,
    answer: DeadLettersDone,
  },
  dropDeadLetters: {
    method: 'POST',
    path: '/dead-letters/drop',
    summary: 'Delete dead letters for good',
    tag: 'dead letters',
    scope: 'namespaced',
    acts: true,
    isHeavy: true,
    body: DeadLetterChoice,
    answer: DeadLettersDone,
  },
  listSilences: {
    method: 'GET',
    path: '/silences',
    summary: 'Silences that are in force or to come',
    tag: 'control',
    scope: 'cluster',
    answer: Silences,
  },
  addSilence: {
    method: 'POST',
    path: '/silences',
    summary: 'Suppress matching events until a time',
    tag: 'control',
    scope: 'cluster',
    acts: true,
    body: NewSilence,
    answer: Silence,
  },
  expireSilence: {
    method: 'DELETE',
    path: '/silences/{id}',
    summary: 'End a silence',
    tag: 'control',
    scope: 'cluster',
    acts: true,
    answer: NOTHING,
  },
  listIncidents: {
    method: 'GET',
    path: '/incidents',
    summary: 'Open incidents',
    tag: 'control',
    scope: 'cluster',
    isHeavy: true,
    answer: Incidents,
  },
  acknowledgeIncident: {
    method: 'POST',
    path: '/incidents/acknowledge',
    summary: 'Send no repeats of an incident until it ends',
    tag: 'control',
    scope: 'cluster',
    acts: true,
    body: Acknowledgement,
    answer: Incident,
  },
} as const satisfies Record<string, Route>

export const BASE = '/api/v1'

type Routes = typeof ROUTES
export type Operation = keyof Routes

/** What an operation is asked for, its parts checked. */
export interface Asked<Name extends Operation> {
  params: Readonly<Record<string, string>>
  query: Routes[Name] extends { query: infer Q extends z.ZodType } ? z.output<Q> : undefined
  body: Routes[Name] extends { body: infer B extends z.ZodType } ? z.output<B> : undefined
  caller: { name: string; role: 'read' | 'act'; namespaces?: readonly string[] | undefined }
  signal: AbortSignal
}

/** The functions behind the operations that answer JSON. */
export type Handlers = {
  [Name in Operation as Routes[Name] extends { answer: z.ZodType } ? Name : never]: (
    asked: Asked<Name>,
  ) => Promise<Routes[Name] extends { answer: infer A extends z.ZodType } ? z.input<A> : never>
}

/** An operation cannot do what it was asked for. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: 400 | 403 | 404 | 409 | 429 | 503

  constructor(status: ApiError['status'], message: string) {
    super(message)
    this.status = status
  }
}
