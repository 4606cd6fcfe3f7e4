import type { Delivery } from '../delivery.ts'

const TYPES = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const

/**
 * A delivery as CloudEvents 1.0 structured JSON, one line. The object goes in as the bytes that the API server sent.
 * Extension names are lower-case letters and digits, as the specification wants.
 */
export function cloudEvent({ event, rule, objectJson }: Delivery): Buffer {
  const attributes = JSON.stringify({
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
  })
  const data = JSON.stringify({
    type: event.type,
    rule,
    ...(event.event && { event: event.event }),
    ...(event.changes && { changes: event.changes }),
  })
  const head = Buffer.from(`${attributes.slice(0, -1)},"data":${data.slice(0, -1)},"object":`)
  return Buffer.concat([head, objectJson, END])
}

const END = Buffer.from('}}')
