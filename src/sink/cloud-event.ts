import type { EventHeader } from '../event.ts'
import type { Subject } from './message.ts'
import { messageId, timeOf } from './notice.ts'

/** What of a message its CloudEvent tells. */
export type CloudEventSubject = Pick<Subject, 'rule' | 'severity' | 'notice' | 'heldBack'> & {
  readonly event: EventHeader
  readonly labels?: Subject['labels']
}

const TYPES = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const

/** The context attributes of CloudEvents 1.0. Names of extensions are lower-case letters and digits, as it wants. */
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
    partitionkey: event.uid,
    ...(event.synthesized && { synthesized: true }),
    ...(severity && { severity }),
  }
}

/** The data of a message's CloudEvent as JSON, the object in it as the bytes that the API server sent; between `before` and `after`. */
export function cloudEventData(
  message: CloudEventSubject & { readonly objectJson: Buffer },
  { before = '', after = '' } = {},
): Buffer {
  const { rule, event, notice, heldBack, labels = {}, objectJson } = message
  const data = JSON.stringify({
    type: event.type,
    rule,
    ...(event.event && { event: event.event }),
    ...(event.changes && { changes: event.changes }),
    ...(event.manager && { manager: event.manager }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(heldBack && { heldBack }),
    ...(notice && noticeData(notice)),
  })
  return Buffer.concat([
    Buffer.from(`${before}${data.slice(0, -1)},"object":`),
    objectJson,
    Buffer.from(`}${after}`),
  ])
}

function noticeData({ kind, ...rest }: NonNullable<Subject['notice']>): object {
  const told = 'by' in rest ? { ...rest, by: Object.fromEntries(rest.by) } : rest
  return { [kind]: told }
}

/** The CloudEvent of a message in structured JSON, one line. */
export function cloudEvent(message: Parameters<typeof cloudEventData>[0]): Buffer {
  const attributes = JSON.stringify(cloudEventAttributes(message))
  return cloudEventData(message, { before: `${attributes.slice(0, -1)},"data":`, after: '}' })
}
