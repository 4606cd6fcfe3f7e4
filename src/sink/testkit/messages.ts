import type { Digest, Resolved } from '../../delivery.ts'
import type { EventHeader, KubeEvent } from '../../event.ts'
import type { TraceContext } from '../../trace-context.ts'
import { cloudEvent } from '../cloud-event.ts'
import type { Content, Field, Message, RuleSeverity, Words } from '../message.ts'
import { fieldsBeside, joinedFields, messageId } from '../notice.ts'
import type { SinkType } from '../sink.ts'

/** What a message is made of; the rest is a ConfigMap that changed. */
export interface MessageParts {
  name?: string
  /** Of the object; messages of one uid must keep their order. Default: made of the name. */
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
  words?: Partial<Words>
  /** What the rule says of all that it sends. */
  severity?: RuleSeverity
  labels?: Readonly<Record<string, string>>
  /** Makes it a digest, or tells that something is over. */
  notice?: Digest | Resolved
  heldBack?: Message['heldBack']
  /** As where traces are on. */
  trace?: TraceContext
  /** In place of the words in the sink's markup; may throw. */
  content?: () => Content
}

/** A message as the core would hand it to a sink of this type. Its id stands in `content.text` too. */
export function messageOf(parts: MessageParts = {}, type: Pick<SinkType, 'escape'> = {}): Message {
  const { name = 'web', version = '1', rule = 'all', attempt = 0, route = {} } = parts
  const event = headerOf(parts)
  const object = parts.object ?? {
    apiVersion: event.apiVersion,
    kind: event.kind,
    metadata: { name, namespace: event.namespace, uid: event.uid, resourceVersion: version },
    data: { greeting: 'hello' },
  }
  const words: Words = { ...wordsOf(event), ...parts.words }
  const objectJson = Buffer.from(JSON.stringify(object))
  const { severity, labels = {}, notice, heldBack } = parts
  const told = {
    rule,
    labels,
    ...(severity && { severity }),
    ...(notice && { notice }),
    ...(heldBack && { heldBack }),
  }
  return {
    id: messageId({ event, ...told }),
    ...told,
    event,
    route,
    attempt,
    words,
    objectJson,
    ...(parts.trace && { trace: parts.trace }),
    get object() {
      return JSON.parse(objectJson.toString()) as Record<string, unknown>
    },
    get cloudEvent() {
      return cloudEvent({ event, objectJson, ...told })
    },
    get content() {
      return parts.content ? parts.content() : contentOf(words, fieldsBeside(told), type.escape)
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
  /** Of the objects' names: letters and digits. Default `object`. */
  prefix?: string
  type?: Pick<SinkType, 'escape'>
}

/** The ids of messages of this kit that stand in a text, in their order. */
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

function wordsOf({ id, kind, namespace, name, event, changes = [] }: EventHeader): Words {
  return {
    severity: event?.type === 'Warning' ? 'warning' : 'info',
    title: `${kind} ${namespace ? `${namespace}/` : ''}${name} changed`,
    text: `delivery ${id}`,
    about: { kind, name, ...(namespace !== undefined && { namespace }) },
    fields: [{ title: 'Reason', value: event?.reason || 'a test' }],
    quote: event?.message ?? '',
    changes,
    command: `kubectl get ${kind.toLowerCase()}`,
  }
}

function contentOf(
  words: Words,
  beside: readonly Field[],
  inMarkup: (text: string) => string = (text) => text,
): Content {
  const { severity, title, text, quote, changes, command } = words
  const fields = joinedFields(words.fields, beside)
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
