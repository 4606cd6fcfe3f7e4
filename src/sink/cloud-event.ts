import type { EventHeader } from '../event.ts'
import type { Subject } from './message.ts'

const TYPES = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const

/** The context attributes of CloudEvents 1.0. Names of extensions are lower-case letters and digits, as it wants. */
export type CloudEventAttributes = Readonly<Record<string, string | boolean>>

/** The attributes of a message's CloudEvent: the same ones whichever form it is sent in. */
export function cloudEventAttributes({ event }: { readonly event: EventHeader }): CloudEventAttributes {
  return {
    specversion: '1.0',
    id: event.id,
    source: `/clusters/${encodeURIComponent(event.cluster)}`,
    type: `dev.kubeherald.resource.${TYPES[event.type]}`,
    subject: event.path,
    time: event.time,
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
  }
}

/** The data of a message's CloudEvent as JSON, the object in it as the bytes that the API server sent; between `before` and `after`. */
export function cloudEventData(
  message: Pick<Subject, 'rule' | 'event'> & { readonly objectJson: Buffer },
  { before = '', after = '' } = {},
): Buffer {
  const { rule, event, objectJson } = message
  const data = JSON.stringify({
    type: event.type,
    rule,
    ...(event.event && { event: event.event }),
    ...(event.changes && { changes: event.changes }),
  })
  return Buffer.concat([
    Buffer.from(`${before}${data.slice(0, -1)},"object":`),
    objectJson,
    Buffer.from(`}${after}`),
  ])
}

/** The CloudEvent of a message in structured JSON, one line. */
export function cloudEvent(message: Parameters<typeof cloudEventData>[0]): Buffer {
  const attributes = JSON.stringify(cloudEventAttributes(message))
  return cloudEventData(message, { before: `${attributes.slice(0, -1)},"data":`, after: '}' })
}
