import type { Message, Routed } from './message.ts'

/**
 * An opened sink. When a `${file:…}` or the options of its section change, a new one is opened with them and the old one
 * closed after its last batch: a sink need not watch its own secrets.
 */
export interface Sink<R = unknown> {
  /**
   * Returns one outcome for each message, in the same order. Messages of one object (`orderOf`: `order`, else kind,
   * namespace and name) must reach the target in the order of the batch: after a `retry` or `later`, later ones of
   * that object are not sent and get the same outcome (`deliverInOrder` does all that). Must end soon after
   * `signal` aborts; messages that were not sent are a `retry`. An exception counts as `retry`. Several batches, of
   * different lanes, may be under way concurrently.
   */
  deliver(batch: readonly Message<R>[], signal: AbortSignal): Promise<Outcome[]>
  /**
   * Checks whether deliveries could succeed (address, credentials, permissions, targets) without delivering anything.
   * Called after the start, by `kubeherald check`, and occasionally while nothing is delivered. An exception counts
   * as a failure.
   */
  health?(signal: AbortSignal): Promise<Health>
  /**
   * Returns what the operator should know of a sink that delivers all the same, such as a lost connection for buttons; [] if nothing. No
   * secrets. Called every few seconds: it asks nobody.
   */
  warnings?(): readonly string[]
  /** Ends pending work and frees all resources; may be called twice. */
  close(): Promise<void>
}

export type Health =
  | { ok: true /** Warnings for the operator. */; warnings?: readonly string[] }
  | { ok: false; reason: Reason /** The problem and its remedy; no secrets. */; detail: string }

/** Validates a part of the configuration; any Standard Schema (zod 4 is one) will do. */
export interface ConfigSchema<C> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (
      value: unknown,
    ) => { value: C; issues?: undefined } | { issues: readonly SchemaIssue[] } | Promise<unknown>
  }
}

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
  /** Only from `checkRoute`: the configuration is accepted all the same. */
  readonly severity?: 'warning'
}

/** A dry run of a delivery. No secrets. */
export interface Preview {
  /** The destination: `#oncall`, `POST https://hooks.example.com`. */
  target?: string
  /**
   * Path and query of a target's URL that the section fixes: `/hook`. It is shown behind `target` only where the configuration has the
   * URL as a literal text, and not as a reference. Leave it out where the service has a secret in it.
   */
  path?: string
  /** The body, where it differs from the content. */
  body?: string
  /** Options with their templates filled in, which tests of a configuration can expect: `{ channel: '#shop' }`. Lists as `a, b`. */
  options?: Readonly<Record<string, string>>
}

/** Properties of a rule that `checkRoute` needs. */
export interface RuleFacts {
  /** It sends digests: it has `group`. */
  readonly digests: boolean
  /** Its key that keeps some changes of an object back, such as `throttle`; absent if it sends every change and the deletion. */
  readonly incompleteBy?: string
}

/** A sink type: its markup, its options, and how to open a sink. */
export interface SinkType<C = unknown, R = unknown> extends Markup {
  /** Version of this contract. */
  apiVersion: 1
  /** The word behind `type:`. */
  type: string
  /** The sink's section of the configuration, without `type`, `messages` and `queue`. */
  config: ConfigSchema<C>
  /**
   * Options of a rule for this sink (`to: [{ oncall: { channel: "#shop" } }]`); it must accept `{}`. Default: none.
   */
  route?: ConfigSchema<R>
  /** Checks a rule's options against this section, such as a topic that neither names, when the file is checked. */
  checkRoute?(route: R, config: C, rule?: RuleFacts): readonly SchemaIssue[]
  /** Replaces `escape`, `code` and `plain` where they depend on the section. */
  markup?(config: C): Markup
  /**
   * The sink shows readable messages with old → new values: previous objects are stored for it. Where it is
   * `false`, `check` warns about a `message` without effect.
   */
  showsChanges?(config: C): boolean
  /**
   * It sends several messages in one request: those of different objects come in one batch. Default: no; then a batch is of one
   * object, and a slow one holds up no other. A type that names lanes gets those of a lane together in any case.
   */
  batches?(config: C): boolean
  /**
   * For a type that combines messages: the maximum number of messages in a batch, of different objects. A batch has all that wait, also
   * when the sink is slow. Default: at most 128, as many as the sink accepts in about a second.
   */
  maxBatch?: number
  /**
   * Names the lane of a delivery: an ordered log, and the unit that a failure of scope `target` delays. All
   * deliveries of one object to one target must get the same lane. Letters, digits and `._#@-`, at most 100; other
   * names are hashed. Default: one of 16 by the object's name.
   */
  lane?(subject: Routed<R>, config: C): string
  /** Returns destination and body without opening anything, for `kubeherald explain`. May throw a TemplateFault. */
  preview?(message: Message<R>, config: C): Preview
  /** The sink prints to standard output: a `run` with only such sinks ends when the reader closes the pipe. */
  printsToStdout?: boolean
  /** Only for built-in types: a section in one line of YAML, with `${env:…}` for secrets, for the file that `kubeherald init` writes. */
  example?: string
  /**
   * Only for built-in types: values by option that replace missing variables and files where the form matters, for dry runs such as
   * `kubeherald test`. They are printed, so they contain `kubeherald-placeholder` where their form allows it.
   */
  placeholders?: Readonly<Record<string, string>>
  /** Must not fail because the peer is unreachable: that is a `retry` of the first delivery. */
  open(config: C, context: SinkContext): Promise<Sink<R>> | Sink<R>
}

/** Types a sink type; use it as the default export of a sink package. */
export function defineSink<C, R = unknown>(type: SinkType<C, R>): SinkType<C, R> {
  return type
}

/** The services that the core passes to a sink when it is opened. */
export interface SinkContext {
  /** The sink's name in the configuration. */
  name: string
  /** The cluster's name in the configuration. */
  cluster: string
  log: Logger
  metrics: SinkMetrics
  store: KeyValueStore
  /** For requests to others, such as `kubeherald/0.1.0`. */
  userAgent: string
  clock: { now(): number }
  /**
   * For sinks with buttons and the like: what their users may ask for. Missing where nothing can be done, as in `check` and `send-test`.
   * The sink itself checks who may act, and logs who did.
   */
  actions?: SinkActions
}

/** The subject of an action: a rule, with an object. */
export interface ActionTarget {
  rule: string
  kind: string
  namespace?: string | undefined
  name: string
  /** The object that the rule's Events are about, not the object of the change itself. */
  isRegarded: boolean
}

export interface SinkActions {
  /** What can be done about notifications of a rule: `acknowledge` only if it keeps incidents; nothing if it is not a rule of the configuration. */
  of(rule: string): readonly ('silence' | 'acknowledge')[]
  /** Suppresses events of the target for `forMs`. `by` begins with the kind of the name: `slack:U0123456789`. Rejects while Redis is unavailable. */
  silence(target: ActionTarget, forMs: number, by: string): Promise<SilenceAnswer>
  /** Acknowledges the target's open incidents: until they end, only the resolve notification is sent. Rejects while Redis is unavailable. */
  acknowledge(target: ActionTarget, by: string): Promise<AcknowledgeAnswer>
}

export type SilenceAnswer =
  /** `already`: a silence of this target, made for at least as long, is in force; it stays as it is. */
  { kind: 'done' | 'already'; id: string; untilMs: number; by: string } | { kind: 'refused'; detail: string }

export type AcknowledgeAnswer =
  | { kind: 'done' | 'already'; by: string; atMs: number }
  /** There is no open incident (any more). */
  | { kind: 'none' }

export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/**
 * Metrics of the sink. Names are snake_case without prefix: `digests_total` of a type `pager` becomes
 * `kubeherald_pager_digests_total{sink="oncall"}`. The same name returns the same metric. A type has at most 50;
 * names must not depend on deliveries.
 */
export interface SinkMetrics {
  counter(name: string, help: string): (n?: number) => void
  gauge(name: string, help: string): (value: number) => void
}

/**
 * Small state that all processes share and that survives restarts: threads, tokens, locks. Stored in Redis under
 * keys of this sink; every value expires. Calls reject while Redis is unavailable: answer with `retry`.
 */
export interface KeyValueStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, options: { ttlMs: number }): Promise<void>
  /** Sets it unless it is there; true when it was set. A lock, if the value is the holder's alone. */
  add(key: string, value: string, options: { ttlMs: number }): Promise<boolean>
  /**
   * Increments and returns the new value, 1 the first time; the expiry is set then and stays. For limits that
   * processes share.
   */
  increment(key: string, options: { ttlMs: number }): Promise<number>
  /** Deletes it; with `value` only while it has that value. True when it is gone by this call. */
  delete(key: string, value?: string): Promise<boolean>
}

/** Returns a time to live in whole milliseconds, at least 1: Redis takes no others. Throws a TypeError for what is no number. */
export function wholeMs(ttlMs: number): number {
  if (!Number.isFinite(ttlMs)) throw new TypeError(`ttlMs is ${ttlMs}: it must be a number of milliseconds`)
  return Math.max(1, Math.ceil(ttlMs))
}

/** Why a delivery did not succeed: a closed set, used as a metric label. */
export const REASONS = [
  'network',
  'timeout',
  'rate-limited',
  'server-error',
  'auth',
  'config',
  'gone',
  'rejected',
  'expired',
  'render',
  'unknown',
] as const
export type Reason = (typeof REASONS)[number]

/**
 * The extent of a failure: only this event, its target (channel, topic: the unit of its lane), or the whole sink. A
 * failure of a target or sink delays its lanes and counts no attempts.
 */
export const SCOPES = ['event', 'target', 'sink'] as const
export type Scope = (typeof SCOPES)[number]

export type Outcome =
  | { kind: 'delivered'; note?: Note }
  /** Not sent yet, because the sink limits its own rate: neither failure nor attempt. `afterMs` is the pause. */
  | { kind: 'later'; afterMs: number }
  /**
   * Try again, no earlier than `afterMs` if given. `ambiguous`: it may have arrived, so the next attempt may be a
   * repeat.
   */
  | { kind: 'retry'; reason: Reason; detail: string; scope: Scope; afterMs?: number; ambiguous?: true }
  /** Refused for good: becomes a dead letter with this detail (redacted, at most 2 KiB are kept). */
  | { kind: 'rejected'; reason: Reason; detail: string }

/** How it was delivered, where that is not as usual: as one of many in a digest, shortened, in a plainer form. */
export const NOTES = ['digest', 'truncated', 'fallback'] as const
export type Note = (typeof NOTES)[number]

/** Returns the health that the outcome of a request, such as a GET, implies. */
export function healthOf(outcome: Outcome): Health {
  if (outcome.kind === 'delivered' || outcome.kind === 'later') return { ok: true }
  return { ok: false, reason: outcome.reason, detail: outcome.detail }
}

/** The maximum of a detail in logs, status and dead letters. */
const MAX_DETAIL_BYTES = 2_048

/** As much of a text as a detail may have; no character is cut in half. */
export function detailOf(text: string): string {
  if (text.length * 3 <= MAX_DETAIL_BYTES) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_DETAIL_BYTES) return text
  let end = MAX_DETAIL_BYTES
  while (((bytes[end] as number) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/**
 * How plain text is written in the sink's format. Without them text stays as it is. The functions must not need
 * `this`.
 */
export interface Markup {
  /** Writes plain text so that nothing in it has a meaning. */
  escape?(text: string): string
  /** Writes plain text as code, so that nothing can break out of it; for the filter `code`. Default: as `escape` does. */
  code?(text: string): string
  /**
   * Returns what a reader sees of a text in the format: without marks and escapes, links by their titles. For the history and the page,
   * which show it as text. Default: the text as it is.
   */
  plain?(text: string): string
}
