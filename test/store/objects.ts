import type { Change, Evaluate, ScannedObject, Source } from '../../src/model/change.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import type { ChangeType, EventHeader } from '../../src/model/event.ts'

/** A source of ConfigMaps, for tests of the store. */
export const SOURCE: Source = {
  key: 'configmaps',
  title: 'configmaps',
  resource: { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  initial: 'now',
  clusterUid: 'cluster-uid',
  spelling: 'ConfigMap',
  custom: false,
}

export function scanned(
  name: string,
  resourceVersion: number | string,
  uid = `uid-of-${name}`,
): ScannedObject {
  const metadata = { name, namespace: 'default', uid, resourceVersion: String(resourceVersion) }
  const bytes = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata }))
  return {
    bytes,
    uid,
    resourceVersion: String(resourceVersion),
    namespace: 'default',
    name,
    labelsJson: '{}',
  }
}

export function change(
  type: ChangeType,
  name: string,
  resourceVersion: number | string,
  uid?: string,
): Change {
  return { type, object: scanned(name, resourceVersion, uid), observedAtMs: 1_750_000_000_000 }
}

export function headerFor(name: string, resourceVersion: string, type: ChangeType, uid: string): EventHeader {
  return {
    id: `cluster-uid/${uid}/${resourceVersion}/${type}`,
    type,
    cluster: 'test',
    apiVersion: 'v1',
    kind: 'ConfigMap',
    path: `/api/v1/namespaces/default/configmaps/${name}`,
    namespace: 'default',
    name,
    uid,
    resourceVersion,
    time: new Date(1_750_000_000_000).toISOString(),
  }
}

/** Sends every transition to the sink `hook`, but those that are no events. */
export const sendAll: Evaluate = (_source, transitions) => {
  const events = transitions.filter(({ deselected }) => !deselected)
  return {
    deliveries: events.map((it): Delivery => {
      const event = headerFor(it.name, it.resourceVersion, it.type, it.uid)
      const header = it.synthesized ? { ...event, synthesized: true as const } : event
      return { sink: 'hook', rule: 'all', event: header, objectJson: it.object?.bytes ?? Buffer.from('{}') }
    }),
    unmatched: 0,
    dropped: 0,
    matched: events.length,
  }
}
