import type { SinkContext } from './context.ts'
import type { Message, Routed } from './message.ts'
import type { Outcome, Reason } from './outcome.ts'
import type { Markup } from './template/markup.ts'

/**
 * An opened sink. When a `${file:…}` or the options of its section change, a new one is opened with them and the old one
 * closed after its last batch: a sink need not watch its own secrets.
 */
export interface Sink<R = unknown> {
  /**
   * Answers with one outcome for each message, in the same order. Messages of one object (`orderOf`: `order`, else
   * kind, namespace and name) must reach the target in the order of the batch: after a `retry` or `later`, later ones of that object are not sent but answered with the same
   * (`deliverInOrder` does all that). Must end soon after `signal` aborts; what was not sent then is a `retry`. What it throws
   * counts as `retry`. Several batches, of different lanes, may be under way at once.
   */
  deliver(batch: readonly Message<R>[], signal: AbortSignal): Promise<Outcome[]>
  /**
   * Asks the peer whether deliveries could succeed (address, credentials, rights, targets) without delivering anything. Called
   * after the start, by `kubeherald check`, and now and then while nothing is delivered. What it throws counts as a failure.
   */
  health?(signal: AbortSignal): Promise<Health>
  /** Ends what is in flight, frees everything; may be called twice. */
  close(): Promise<void>
}

export type Health =
  | { ok: true /** What deserves attention all the same. */; warnings?: readonly string[] }
  | { ok: false; reason: Reason /** What is wrong and what to do about it; no secrets. */; detail: string }

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
}

/** What a message is at its target, for whoever tries a configuration out. No secrets. */
export interface Preview {
  /** Where it goes: `#oncall`, `POST https://hooks.example.com`. */
  target?: string
  /** What is sent, where that is not what people read anyway. */
  body?: string
}

/** What of a rule matters to what it says for a sink. */
export interface RuleFacts {
  /** It sends digests: it has `group`. */
  readonly digests: boolean
}

/** A kind of sink: its markup, what its configuration may say, and how to open one. */
export interface SinkType<C = unknown, R = unknown> extends Markup {
  /** Of this contract. */
  apiVersion: 1
  /** The word behind `type:`. */
  type: string
  /** The sink's section of the configuration, without `type`, `messages` and `queue`. */
  config: ConfigSchema<C>
  /** What a rule may say for this sink (`to: [{ oncall: { channel: "#shop" } }]`); it must accept `{}`. Default: nothing. */
  route?: ConfigSchema<R>
  /** What a rule's options lack beside this section, such as a topic that neither names; told when the file is checked. */
  checkRoute?(route: R, config: C, rule?: RuleFacts): readonly SchemaIssue[]
  /** Where it depends on the section: what a sink with this configuration has in place of `escape` and `code`. */
  markup?(config: C): Markup
  /**
   * It shows messages to people, who like to read old → new: old values are kept for what goes there. Where it is `false`,
   * `check` warns of a `message` that nobody would read.
   */
  tellsChanges?(config: C): boolean
  /**
   * It sends several messages in one request: those of different objects come in one batch. Default: no; then a batch is of one
   * object, and a slow one holds up no other. A type that names lanes gets those of a lane together in any case.
   */
  batches?(config: C): boolean
  /** At most so many messages a batch. Default 128; the core takes fewer from a slow sink. */
  maxBatch?: number
  /**
   * Names the lane of a delivery: an ordered log, and what a failure of scope `target` delays. All deliveries of one object
   * to one target must get the same lane. Letters, digits and `._#@-`, at most 100; of others a hash is taken. Default: one
   * of 16 by the object's name.
   */
  lane?(subject: Routed<R>, config: C): string
  /** What would be sent where, told without opening anything: for `kubeherald explain`. May throw a TemplateFault. */
  preview?(message: Message<R>, config: C): Preview
  /** Must not fail because the peer is unreachable: that is a `retry` of the first delivery. */
  open(config: C, context: SinkContext): Promise<Sink<R>> | Sink<R>
}

/** Gives a sink type its types; use it as the default export of a sink package. */
export function defineSink<C, R = unknown>(type: SinkType<C, R>): SinkType<C, R> {
  return type
}
