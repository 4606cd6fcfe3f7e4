import type { ContainerLog, Digest, DigestItem, Resolved, TraceContext } from '../../model/delivery.ts'
import type { EventHeader, FieldChange, KubeEvent } from '../../model/event.ts'
import { objectTitle } from '../../text/object-title.ts'
import {
  additionalFields,
  type Content,
  cloudEvent,
  type Field,
  limitFields,
  type Message,
  messageId,
  type RuleSeverity,
  type Summary,
} from '../message.ts'
import type { SinkType } from '../sink.ts'

/** The parts of a message; the default is a changed ConfigMap. */
export interface MessageParts {
  name?: string
  /** Uid of the object; messages of one uid must keep their order. Default: made of the name. */
  uid?: string
  /** The resourceVersion: another one for each message of an object. */
  version?: string
  type?: EventHeader['type']
  rule?: string
  attempt?: number
  /** Parts of the event's header. */
  event?: Partial<EventHeader>
  /** Makes it a message about a Kubernetes Event. */
  kubeEvent?: Partial<KubeEvent>
  object?: object
  /** The options that the rule has for the sink, as they come out of the type's `route` schema. */
  route?: unknown
  summary?: Partial<Summary>
  /** The rule's severity and labels. */
  severity?: RuleSeverity
  labels?: Readonly<Record<string, string>>
  /** Makes it a digest or a resolve notification. */
  notice?: Digest | Resolved
  suppressed?: Message['suppressed']
  /** The end of a container's log; `content.logs` contains it. */
  logs?: ContainerLog
  /** As `kubeherald replay` sends it. */
  replayed?: true
  /** As where the object was too large to wait in the state of a limit. */
  truncated?: true
  /** As where traces are on. */
  trace?: TraceContext
  /** Replaces the summary in the sink's markup; may throw. */
  content?: () => Content
}

/** Returns a message as the core would pass it to a sink of this type. `content.text` contains its id, too. */
export function messageOf(parts: MessageParts = {}, type: Pick<SinkType, 'escape'> = {}): Message {
  const { name = 'web', version = '1', rule = 'all', attempt = 0, route = {} } = parts
  const event = headerOf(parts)
  const object = parts.object ?? {
    apiVersion: event.apiVersion,
    kind: event.kind,
    metadata: { name, namespace: event.namespace, uid: event.uid, resourceVersion: version },
    data: { greeting: 'hello' },
  }
  const summary: Summary = { ...summarize(event), ...parts.summary }
  const objectJson = Buffer.from(JSON.stringify(object))
  const { severity, labels = {}, notice, suppressed, logs, replayed, truncated } = parts
  const limited = {
    rule,
    labels,
    ...(severity && { severity }),
    ...(notice && { notice }),
    ...(suppressed && { suppressed }),
    ...(logs && { logs }),
    ...(replayed && { replayed }),
    ...(truncated && { truncated }),
  }
  return {
    id: messageId({ event, ...limited }),
    ...limited,
    event,
    route,
    attempt,
    summary,
    objectJson,
    ...(parts.trace && { trace: parts.trace }),
    get object() {
      return JSON.parse(objectJson.toString()) as Record<string, unknown>
    },
    get cloudEvent() {
      return cloudEvent({ event, objectJson, ...limited })
    },
    get content() {
      if (parts.content) return parts.content()
      const content = contentOf(summary, additionalFields(limited), type.escape)
      return logs ? { ...content, logs: `Log of app:\n${logs.text ?? logs.error}` } : content
    },
  }
}

/** Messages of several objects, in turns: object0 v1, object1 v1, object0 v2 … */
export function sampleMessages(
  count: number,
  { objects = 4, prefix = 'object', type, ...parts }: SampleOptions = {},
): Message[] {
  return Array.from({ length: count }, (_, i) => {
    const version = String(Math.floor(i / objects) + 1)
    return messageOf({ ...parts, name: `${prefix}${i % objects}`, version }, type)
  })
}

export interface SampleOptions extends Pick<MessageParts, 'rule' | 'route'> {
  /** How many objects they are about. Default 4. */
  objects?: number
  /** Beginning of the objects' names: letters and digits. Default `object`. */
  prefix?: string
  type?: Pick<SinkType, 'escape'>
}

/** Returns the ids of this kit's messages in a text, in order. */
export function idsIn(text: string): string[] {
  return [
    ...text.matchAll(/kit\/\w+\/\d+\/(?:ADDED|MODIFIED|DELETED)(?:\/(?:digest|resolved)\/[\w-]+)?/g),
  ].map(([id]) => id)
}

function headerOf(parts: MessageParts): EventHeader {
  const { name = 'web', version = '1', type = 'MODIFIED', uid = `uid${name.replaceAll(/\W/g, '')}` } = parts
  const isEvent = parts.kubeEvent !== undefined
  return {
    id: `kit/${uid}/${version}/${type}`,
    type,
    cluster: 'test',
    apiVersion: 'v1',
    kind: isEvent ? 'Event' : 'ConfigMap',
    path: `/api/v1/namespaces/default/${isEvent ? 'events' : 'configmaps'}/${name}`,
    namespace: 'default',
    name,
    uid,
    resourceVersion: version,
    time: '2026-11-21T09:14:07.312Z',
    ...parts.event,
    ...(parts.kubeEvent && {
      event: { type: 'Normal', reason: '', message: '', count: 1, regarding: {}, ...parts.kubeEvent },
    }),
  }
}

function summarize({ id, kind, namespace, name, event, changes = [] }: EventHeader): Summary {
  return {
    severity: event?.type === 'Warning' ? 'warning' : 'info',
    title: `${objectTitle({ kind, namespace, name })} changed`,
    text: `delivery ${id}`,
    about: { kind, name, ...(namespace !== undefined && { namespace }) },
    fields: [{ title: 'Reason', value: event?.reason || 'a test' }],
    quote: event?.message ?? '',
    changes,
    command: `kubectl get ${kind.toLowerCase()}`,
  }
}

function contentOf(
  summary: Summary,
  additional: readonly Field[],
  inMarkup: (text: string) => string = (text) => text,
): Content {
  const { severity, title, text, quote, changes, command } = summary
  const fields = limitFields(summary.fields, additional)
  return {
    severity,
    title: inMarkup(title),
    text: inMarkup(text),
    fields: fields.map((it) => ({ title: inMarkup(it.title), value: inMarkup(it.value) })),
    links: [{ title: inMarkup('Dashboard'), url: 'https://example.com/d/1' }],
    quote,
    changes,
    command,
  }
}

export interface HostileMessage {
  /** The kind of hostility. */
  what: string
  message: Message
}

const MEBIBYTE = 1024 * 1024

const TEXTS: Readonly<Record<string, string>> = {
  'markup of chats and templates':
    '<!channel> <@U1> <https://x|y> ``` *b* _i_ ~s~ &amp; [a](https://b) {{ 7 | times: 7 }} {% raw %} $' +
    '{env:HOME}',
  'control characters': '\u0007\u001b[31m\u009b2J\u001b]0;t\u0007\u0085\u2028',
  NUL: 'before\u0000after',
  'line breaks that could end a header or a line': 'a\r\nx-injected: 1\r\n\r\n{"id":"no"}\n',
  'marks that turn the direction': '\u202e\u2066evil\u200f',
  'halves of surrogate pairs': '\ud800 alone \udc00',
  emoji: '👩‍👩‍👧‍👦🏳️‍🌈'.repeat(200),
  'quotes and backslashes': `"'\`\\"; DROP TABLE events; --`,
}

/** Messages that users of a cluster can cause: none may harm a sink, or other deliveries. */
export function hostileMessages(
  type: Pick<SinkType, 'escape'> = {},
  { route, prefix = 'hostile' }: Pick<MessageParts, 'route'> & { prefix?: string } = {},
): HostileMessage[] {
  return partsOfAll().map(([what, parts], i) => ({
    what,
    message: messageOf({ ...parts, uid: `${prefix}${i}`, ...(route !== undefined && { route }) }, type),
  }))
}

function partsOfAll(): [what: string, parts: MessageParts][] {
  return [
    ...Object.entries(TEXTS).map(([what, text]): [string, MessageParts] => [what, withText(text)]),
    ['a message of 1 MiB', withText('x'.repeat(MEBIBYTE), 'big')],
    ['labels named like parts of prototypes', { object: prototypeLabels() }],
    ['empty names', { name: '', event: { kind: '', path: '', namespace: '', apiVersion: '' }, object: {} }],
    ['nothing that its kind should have', { object: { metadata: null, spec: 'text', status: [null] } }],
    ['values nested 500 deep', { object: nested(500) }],
    ['40 changes with long values', { event: { changes: longChanges() } }],
    ['a log of 16 KiB', { logs: { previous: true, text: LOG } }],
    ['a log with markup', { logs: { previous: false, text: HOSTILE_LOG } }],
  ]
}

function withText(text: string, name = text): MessageParts {
  return {
    name,
    kubeEvent: {
      type: text.slice(0, 1_000),
      reason: text.slice(0, 1_000),
      message: text,
      regarding: { name },
    },
    object: { metadata: { name, labels: { [name]: text } }, message: text },
    rule: name,
  }
}

const LOG = `<!channel> \`\`\` &amp; \ud83d\ude00 ${'x'.repeat(60)}\n`.repeat(180)
const HOSTILE_LOG = Object.values(TEXTS).join('\n')

function prototypeLabels(): object {
  return JSON.parse(
    '{"metadata":{"labels":{"__proto__":"a","constructor":"b","toString":"c","hasOwnProperty":"d","length":"9"}},"__proto__":{"x":1},"constructor":{"prototype":{}}}',
  ) as object
}

function nested(depth: number): object {
  let object: object = {}
  for (let i = 0; i < depth; i++) object = { a: [object] }
  return object
}

function longChanges(): FieldChange[] {
  return Array.from({ length: 40 }, (_, i) => ({
    path: `spec.constructor.__proto__[${i}]`,
    old: '`<'.repeat(500),
    ...(i % 2 === 0 && { new: { nested: ['\u0000', null] } }),
  }))
}

export interface NoticeMessage {
  /** The kind of notification. */
  what: string
  message: Message
}

const FROM = '2026-11-21T09:14:07.312Z'
const TO = '2026-11-21T09:17:09.000Z'
const HOSTILE = '<!channel> @everyone `*b*` {{ x }} \u0000\u001b[31m\u202e\ud800 "\\\r\nx: 1'

/** Notifications of a rule's limits: digests, resolve notifications, and suppressed counts. */
export function noticeMessages(
  type: Pick<SinkType, 'escape'> = {},
  { route, prefix = 'notice' }: Pick<MessageParts, 'route'> & { prefix?: string } = {},
): NoticeMessage[] {
  return Object.entries(PARTS).map(([what, parts], i) => ({
    what,
    message: messageOf(
      { name: `${prefix}${i}`, ...parts, uid: `${prefix}${i}`, ...(route !== undefined && { route }) },
      type,
    ),
  }))
}

const over: Omit<Resolved, 'why'> = { kind: 'resolved', since: FROM, at: TO }

const PARTS: Readonly<Record<string, MessageParts>> = {
  'a digest of twelve': { notice: digestOf(12), kubeEvent: { type: 'Warning', reason: 'BackOff' } },
  'a digest of a hundred thousand, of which a hundred are listed': { notice: digestOf(100, 100_000) },
  'a digest of one': { notice: digestOf(1) },
  'a digest without items': { notice: { ...digestOf(0), count: 3, by: [] } },
  'a digest with hostile names': {
    notice: { ...digestOf(3), by: [[HOSTILE, HOSTILE]], items: digestOf(3).items.map(hostile) },
  },
  'that something ended': { notice: { ...over, why: 'ended' }, summary: { severity: 'resolved' } },
  'that something was deleted': { notice: { ...over, why: 'deleted' }, type: 'DELETED' },
  'that something is no longer watched': { notice: { ...over, why: 'unwatched' } },
  'that something went quiet': { notice: { ...over, why: 'quiet' } },
  'how many were suppressed, with a severity and labels of the rule': {
    suppressed: { count: 14, since: FROM },
    severity: 'error',
    labels: { team: 'pay', constructor: 'x', [HOSTILE]: HOSTILE },
  },
}

function digestOf(items: number, count = items): Digest {
  return {
    kind: 'digest',
    count,
    by: [
      ['namespace', 'shop'],
      ['reason', 'BackOff'],
    ],
    from: FROM,
    to: TO,
    items: Array.from({ length: items }, (_, i) => itemOf(i)),
  }
}

function itemOf(i: number): DigestItem {
  const name = `web-${i % 7}`
  return {
    id: `kit/item${i}/1/ADDED`,
    type: 'ADDED',
    kind: 'Event',
    namespace: 'shop',
    name: `${name}.17a1`,
    time: FROM,
    eventType: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting failed container',
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name },
  }
}

function hostile(item: DigestItem): DigestItem {
  return {
    ...item,
    name: HOSTILE,
    reason: HOSTILE,
    message: HOSTILE,
    regarding: { kind: HOSTILE, namespace: HOSTILE, name: HOSTILE },
  }
}
