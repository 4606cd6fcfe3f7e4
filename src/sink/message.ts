import type { ContainerLog, Delivery, Digest, Resolved, TraceContext } from '../model/delivery.ts'
import type { EventHeader, FieldChange } from '../model/event.ts'
import { objectKey } from './order.ts'

/**
 * The subject of templates, lanes and messages: one event, or a digest or resolve notification, for one sink, by
 * one rule.
 */
export interface Subject {
  /** Stays the same over all attempts: for idempotency keys. */
  readonly id: string
  readonly rule: string
  /** The rule's severity; absent if the summary decides. */
  readonly severity?: RuleSeverity
  /** Labels that the rule adds to all its notifications. */
  readonly labels: Readonly<Record<string, string>>
  /**
   * Emitted by the rule's limits: a digest of several events, where `event` and `object` are those of the first; or
   * a resolve notification, where `event` is the one that ended the incident, or the last one if only time did.
   */
  readonly notice?: Digest | Resolved
  /** Number of events that the rule's limits suppressed before this one, and since when (RFC 3339). */
  readonly suppressed?: Delivery['suppressed']
  /** The end of the container's log, or why it could not be had; where the rule has `logs`. */
  readonly logs?: ContainerLog
  /** Sent again by `kubeherald replay`, with the id of the first time; it may arrive after newer ones of its object. */
  readonly replayed?: true
  /** A dead letter that was retried by hand; it may arrive after newer ones of its object. */
  readonly retried?: true
  readonly event: EventHeader
  /** The object lacks parts: it was too large for the state of a limit, where it waited. Do not apply or store it as the object's state. */
  readonly truncated?: true
  /** The object (trimmed, Secret values hashed), parsed on first use. */
  readonly object: Readonly<Record<string, unknown>>
  /** A readable summary in plain text, computed on first use. */
  readonly summary: Summary
}

/** A subject with the options that its rule has for the sink, as the sink type's `route` schema made them. */
export interface Routed<R = unknown> extends Subject {
  readonly route: R
}

/** A rendered delivery. It contains everything that a sink may send. */
export interface Message<R = unknown> extends Routed<R> {
  /** How many times it was tried before; 0 on the first try. */
  readonly attempt: number
  /** The ordering key of a group, in place of the object's. */
  readonly order?: string
  /** Since when it waits for the sink (RFC 3339), where that is later than the event: a limit held it, or it is sent again. */
  readonly releasedAt?: string
  /** The CloudEvents 1.0 envelope in structured JSON: UTF-8 bytes, one line, made on first use. */
  readonly cloudEvent: Buffer
  /** The object as JSON bytes, as the API server sent it (trimmed, Secret values hashed) unless it is `truncated`. */
  readonly objectJson: Buffer
  /**
   * The content by the rule's `message`, else the sink's `messages`, else the summary. Computed on first use.
   * Throws a TemplateFault if a template fails, which `deliverInOrder` turns into a `rejected` with reason
   * `render`.
   */
  readonly content: Content
  /**
   * The headers of W3C Trace Context, different for each attempt. Present only if tracing is on and the change is
   * sampled.
   */
  readonly trace?: TraceContext
}

/** `resolved` ends an earlier `error` or `warning` of the same object. */
export type Severity = 'error' | 'warning' | 'info' | 'resolved'

/** The severities that a rule may set. */
export type RuleSeverity = Exclude<Severity, 'resolved'>

/** A readable summary of an event. Plain text: values of objects are unescaped and may be hostile. */
export interface Summary {
  readonly severity: Severity
  /** One line: `Deployment shop/web rolled out nginx:1 → nginx:2`. */
  readonly title: string
  /** Cause or consequence in short, of a digest a line for each object; '' if there is none. */
  readonly text: string
  /** The object itself, or the object that an Event regards. */
  readonly about: { readonly kind: string; readonly namespace?: string; readonly name: string }
  /** At most 8, the most important first: owner, reason, since, node, count … */
  readonly fields: readonly Field[]
  /** The literal message of another program, such as an Event or condition; '' if there is none. */
  readonly quote: string
  /** The changes, where previous values are known. */
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
  /** http or https, normalized. */
  readonly url: string
}

/**
 * The content of a notification. `title`, `text`, `fields` and the links' titles are in the sink's markup, with
 * every value of an object escaped by the sink type's `escape`: embed them as they are. The others are plain text.
 */
export interface Content {
  readonly severity: Severity
  readonly title: string
  readonly text: string
  readonly fields: readonly Field[]
  readonly links: readonly Link[]
  /** Plain text. */
  readonly quote: string
  /**
   * Plain text in lines, to be shown in a font of fixed width: first what it is, then the end of the container's log. Cut it by
   * `endOfLog`. Missing if the rule has no `logs`.
   */
  readonly logs?: string
  /** Plain text. */
  readonly changes: readonly FieldChange[]
  /** Plain text. */
  readonly command: string
}

/** The sign before a title in plain text, by severity. */
export const SEVERITY_SIGNS: Readonly<Record<Severity, string>> = {
  error: '🔴',
  warning: '🟠',
  info: '🔵',
  resolved: '✅',
}

/** Returns at most `max` UTF-16 units of a content's `logs`: its first line, and as many of the last lines as fit. */
export function endOfLog(logs: string, max: number): string {
  if (logs.length <= max) return logs
  const [first = ''] = logs.split('\n', 1)
  const head = `${first.slice(0, Math.max(0, Math.floor(max / 2))).toWellFormed()}\n…\n`
  const end = logs.slice(first.length + 1).slice(-Math.max(1, Math.floor(max) - head.length))
  const nextLine = end.indexOf('\n')
  const shown = nextLine === -1 || nextLine === end.length - 1 ? end : end.slice(nextLine + 1)
  return `${head}${shown.replace(/^[\udc00-\udfff]/, '')}`.slice(0, Math.max(0, Math.floor(max)))
}

/** The beginning of the title of a resolve notification. */
export const RESOLVED = 'Resolved: '

/** How many changed fields a message shows. */
export const MAX_SHOWN_CHANGES = 8

/**
 * Returns the id of a message. Digests and resolve notifications have ids of their own: another rule may have sent
 * the same event.
 */
export function messageId({
  event,
  rule,
  notice,
}: Pick<Subject, 'rule' | 'notice'> & { readonly event: Pick<EventHeader, 'id'> }): string {
  const own = notice ? `/${notice.kind}/${rule}` : ''
  // Out of limits its event has it already.
  return event.id.endsWith(own) ? event.id : event.id + own
}

/** Returns the time of a message: of a digest the last event, of a resolve notification the end. RFC 3339. */
export function timeOf({
  event,
  notice,
}: Pick<Subject, 'notice'> & { readonly event: Pick<EventHeader, 'time'> }): string {
  if (!notice) return event.time
  return notice.kind === 'digest' ? notice.to : notice.at
}

/** Returns additional fields of any message: the suppressed events and the labels of the rule. */
export function additionalFields({ suppressed, labels }: Pick<Subject, 'suppressed' | 'labels'>): Field[] {
  const before = suppressed && {
    title: 'Suppressed',
    value: `${suppressed.count} more since ${clock(suppressed.since)}`,
  }
  const ours = Object.entries(labels).map(([title, value]) => ({ title, value }))
  return before ? [before, ...ours] : ours
}

const MOST = 8

/** Limits the fields so that the additional ones fit. */
export function limitFields(fields: readonly Field[], additional: readonly Field[]): Field[] {
  return [...fields.slice(0, Math.max(0, MOST - additional.length)), ...additional.slice(0, MOST)]
}

/** `2026-11-21 10:02:07 UTC` of an RFC 3339 time; other text stays as it is. */
export function clock(time: string): string {
  const ms = Date.parse(time)
  return Number.isFinite(ms) ? `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC` : time
}

/** The parts of a message that its CloudEvent contains. */
type CloudEventSubject = Pick<
  Subject,
  'rule' | 'severity' | 'notice' | 'suppressed' | 'logs' | 'replayed' | 'truncated'
> & {
  readonly event: EventHeader
  readonly labels?: Subject['labels']
}

const TYPES = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const

/** The context attributes of CloudEvents 1.0. Names of extensions are lower-case letters and digits. */
export type CloudEventAttributes = Readonly<Record<string, string | boolean>>

/** The attributes of a message's CloudEvent: the same ones whichever form it is sent in. */
export function cloudEventAttributes(
  subject: Omit<CloudEventSubject, 'rule'> & { readonly rule?: string },
): CloudEventAttributes {
  const { event, rule = '', notice } = subject
  const severity = notice?.kind === 'resolved' ? notice.kind : subject.severity
  return {
    specversion: '1.0',
    id: messageId({ event, rule, ...(notice && { notice }) }),
    source: `/clusters/${encodeURIComponent(event.cluster)}`,
    type: `dev.kubeherald.resource.${notice?.kind ?? TYPES[event.type]}`,
    subject: event.path,
    time: timeOf(subject),
    datacontenttype: 'application/json',
    cluster: event.cluster,
    kind: event.kind,
    apiversion: event.apiVersion,
    ...(event.namespace !== undefined && { namespace: event.namespace }),
    name: event.name,
    uid: event.uid,
    resourceversion: event.resourceVersion,
    partitionkey: objectKey(event),
    ...(event.synthesized && { synthesized: true }),
    ...(subject.replayed && { replayed: true }),
    ...(subject.truncated && { truncated: true }),
    ...(severity && { severity }),
  }
}

/** The data of a message's CloudEvent as JSON, the object in it as the bytes that the API server sent; between `before` and `after`. */
export function cloudEventData(
  message: CloudEventSubject & { readonly objectJson: Buffer },
  { before = '', after = '' } = {},
): Buffer {
  const { rule, event, notice, suppressed, logs, labels = {}, objectJson } = message
  const data = JSON.stringify({
    type: event.type,
    rule,
    ...(event.event && { event: event.event }),
    ...(event.changes && { changes: event.changes }),
    ...(event.manager && { manager: event.manager }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(suppressed && { suppressed }),
    ...(logs && { logs }),
    ...(notice && noticeData(notice)),
  })
  return Buffer.concat([
    Buffer.from(`${before}${data.slice(0, -1)},"object":`),
    objectJson,
    Buffer.from(`}${after}`),
  ])
}

function noticeData({ kind, ...rest }: NonNullable<Subject['notice']>): object {
  const data = 'by' in rest ? { ...rest, by: Object.fromEntries(rest.by) } : rest
  return { [kind]: data }
}

/** The CloudEvent of a message in structured JSON, one line. */
export function cloudEvent(message: Parameters<typeof cloudEventData>[0]): Buffer {
  const attributes = JSON.stringify(cloudEventAttributes(message))
  return cloudEventData(message, { before: `${attributes.slice(0, -1)},"data":`, after: '}' })
}
