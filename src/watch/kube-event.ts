import type { KubeEvent, ObjectRef, Resource } from '../event.ts'

/** Is this resource the cluster's own Events? */
export function isEventResource({ group, plural }: Resource): boolean {
  return plural === 'events' && (group === '' || group === 'events.k8s.io')
}

/**
 * Reads an Event of core/v1 or events.k8s.io/v1 into one form. New-style Events have null first and last timestamps:
 * their times are `eventTime` and `series.lastObservedTime`.
 */
export function readKubeEvent(object: Readonly<Record<string, unknown>>): KubeEvent {
  const it = object as RawEvent
  const series = it.series ?? undefined
  const firstSeen = it.firstTimestamp ?? it.deprecatedFirstTimestamp ?? it.eventTime ?? created(it)
  const lastSeen =
    series?.lastObservedTime ?? it.lastTimestamp ?? it.deprecatedLastTimestamp ?? it.eventTime ?? firstSeen
  const component =
    it.reportingController || it.reportingComponent || it.source?.component || it.deprecatedSource?.component
  return {
    type: it.type ?? '',
    reason: it.reason ?? '',
    message: it.message ?? it.note ?? '',
    count: series?.count || it.count || it.deprecatedCount || 1,
    regarding: readRef(it.involvedObject ?? it.regarding),
    ...(firstSeen && { firstSeen }),
    ...(lastSeen && { lastSeen }),
    ...(component && { reportingComponent: component }),
  }
}

function created({ metadata }: RawEvent): string | undefined {
  return metadata?.creationTimestamp ?? undefined
}

function readRef(ref: ObjectRef | null | undefined): ObjectRef {
  const { apiVersion, kind, namespace, name, uid, fieldPath } = ref ?? {}
  return {
    ...(apiVersion && { apiVersion }),
    ...(kind && { kind }),
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(uid && { uid }),
    ...(fieldPath && { fieldPath }),
  }
}

type Time = string | null | undefined

interface RawEvent {
  metadata?: { creationTimestamp?: string | null }
  type?: string
  reason?: string
  message?: string
  note?: string
  count?: number | null
  deprecatedCount?: number | null
  series?: { count?: number; lastObservedTime?: Time } | null
  eventTime?: Time
  firstTimestamp?: Time
  lastTimestamp?: Time
  deprecatedFirstTimestamp?: Time
  deprecatedLastTimestamp?: Time
  involvedObject?: ObjectRef | null
  regarding?: ObjectRef | null
  reportingController?: string
  reportingComponent?: string
  source?: { component?: string } | null
  deprecatedSource?: { component?: string } | null
}
