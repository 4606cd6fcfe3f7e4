import { type KubeObject, microTimeOf, type Stored, timeOf } from '../objects.ts'

export interface Event extends KubeObject {
  involvedObject: Reference
  reason: string
  message: string
  type: 'Normal' | 'Warning'
  count?: number
  series?: { count: number; lastObservedTime: string }
  lastTimestamp: string | null
}

interface Reference {
  kind: string
  namespace?: string
  name: string
  uid: string
  apiVersion: string
  resourceVersion: string
  fieldPath?: string
}

/** What is said about an object. */
export interface Remark {
  type: 'Normal' | 'Warning'
  reason: string
  message: string
  /** The component that says it, such as `kubelet`. */
  from: string
  host?: string
  /** Written through events.k8s.io, as the scheduler does: `eventTime` and `series` instead of timestamps and count. */
  newStyle?: boolean
}

export function event(about: Stored, remark: Remark, name: string, nowMs: number): Event {
  const { type, reason, message, from, host = '', newStyle = false } = remark
  const { metadata, kind, apiVersion } = about
  const { namespace, uid, resourceVersion } = metadata
  const now = timeOf(nowMs)
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: namespace ?? 'default' },
    involvedObject: {
      kind,
      ...(namespace !== undefined && { namespace }),
      name: metadata.name,
      uid,
      apiVersion,
      resourceVersion,
      ...(from === 'kubelet' && kind === 'Pod' && { fieldPath: fieldPathOf(about) }),
    },
    reason,
    message,
    source: newStyle ? {} : { component: from, ...(host !== '' && { host }) },
    firstTimestamp: newStyle ? null : now,
    lastTimestamp: newStyle ? null : now,
    ...(!newStyle && { count: 1 }),
    type,
    eventTime: newStyle ? microTimeOf(nowMs) : null,
    ...(newStyle && { action: reason === 'Scheduled' ? 'Binding' : 'Scheduling' }),
    reportingComponent: from,
    reportingInstance: newStyle ? `${from}-control-plane` : host,
  } as Event
}

/** The same Event, seen once more. */
export function repeated(it: Event, nowMs: number): Event {
  if (it.count !== undefined) return { ...it, count: it.count + 1, lastTimestamp: timeOf(nowMs) }
  const count = (it.series?.count ?? 1) + 1
  return { ...it, series: { count, lastObservedTime: microTimeOf(nowMs) } }
}

function fieldPathOf({ spec }: Stored): string {
  const { containers } = spec as { containers: { name: string }[] }
  return `spec.containers{${containers[0]?.name}}`
}
