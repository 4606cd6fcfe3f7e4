import type { Delivery, Digest, Resolved } from '../delivery.ts'
import type { EventHeader, FieldChange } from '../event.ts'
import type { TraceContext } from '../trace-context.ts'

/** What templates, lanes and messages are about: one change, or a notice of a rule's limits, for one sink, by one rule. */
export interface Subject {
  /** Stays the same over all attempts: for idempotency keys. */
  readonly id: string
  readonly rule: string
  /** What the rule says it is; absent where the words decide. */
  readonly severity?: RuleSeverity
  /** What the rule adds to all that it sends. */
  readonly labels: Readonly<Record<string, string>>
  /**
   * Told by the rule's limits, and not by `event` alone: several changes at once, `event` and `object` being those of the first;
   * or that something is over, `event` being what ended it, or the last one where only time did.
   */
  readonly notice?: Digest | Resolved
  /** How many the rule's limits held back before this one, and since when (RFC 3339). */
  readonly heldBack?: Delivery['heldBack']
  readonly event: EventHeader
  /** The object (trimmed, Secret values hashed), parsed on first use. */
  readonly object: Readonly<Record<string, unknown>>
  /** What there is to tell people; plain text. Made on first use. */
  readonly words: Words
}

/** A subject with the options that its rule has for the sink, as the sink type's `route` schema made them. */
export interface Routed<R = unknown> extends Subject {
  readonly route: R
}

/** A rendered delivery. Everything that a sink may send lies in here. */
export interface Message<R = unknown> extends Routed<R> {
  /** How many times it was tried before; 0 on the first try. */
  readonly attempt: number
  /** Kept in order with all that have the same, instead of with those of its object: what was told of one group. */
  readonly order?: string
  /** The CloudEvents 1.0 envelope in structured JSON: UTF-8 bytes, one line, made on first use. */
  readonly cloudEvent: Buffer
  /** The object as JSON bytes, as the API server sent it (trimmed, Secret values hashed). */
  readonly objectJson: Buffer
  /**
   * What people shall read, by the rule's `message`, else the sink's `messages`, else the words. Made on first use; throws a
   * TemplateFault when a template fails, which is a `rejected` with reason `render`: `deliverInOrder` sees to that.
   */
  readonly content: Content
  /**
   * The headers of W3C Trace Context for what a peer does with this message: of this attempt, so others the next time. Only
   * where traces are on and the change is sampled.
   */
  readonly trace?: TraceContext
}

/** `resolved` ends what an earlier `error` or `warning` of the same object began. */
export type Severity = 'error' | 'warning' | 'info' | 'resolved'

/** What a rule may say. */
export type RuleSeverity = Exclude<Severity, 'resolved'>

/** What happened, told for people. Plain text throughout: values of objects are in it as they are, and may be hostile. */
export interface Words {
  readonly severity: Severity
  /** One line: `Deployment shop/web rolled out nginx:1 → nginx:2`. */
  readonly title: string
  /** What follows from it or why, in a few words, of a digest a line for each object; '' when there is nothing to add. */
  readonly text: string
  /** What it is about: the object itself, or the one that an Event regards. */
  readonly about: { readonly kind: string; readonly namespace?: string; readonly name: string }
  /** At most 8, the most important first: owner, reason, since, node, count … */
  readonly fields: readonly Field[]
  /** What another program said, word for word (the message of an Event, of a condition); '' when there is none. */
  readonly quote: string
  /** What changed, as far as old values are known. */
  readonly changes: readonly FieldChange[]
  /** The command to go on with: `kubectl -n shop describe deployment web`. Quoted for a shell. */
  readonly command: string
}

export interface Field {
  readonly title: string
  readonly value: string
}

export interface Link {
  readonly title: string
  /** http or https, parsed and written anew. */
  readonly url: string
}

/**
 * A message for people. `title`, `text`, `fields` and the links' titles are in the sink's own markup, with every value that
 * came from an object escaped by the sink type's `escape`: they can be embedded as they are. The others are plain text.
 */
export interface Content {
  readonly severity: Severity
  readonly title: string
  readonly text: string
  readonly fields: readonly Field[]
  readonly links: readonly Link[]
  /** Plain text. */
  readonly quote: string
  /** Plain text. */
  readonly changes: readonly FieldChange[]
  /** Plain text. */
  readonly command: string
}
