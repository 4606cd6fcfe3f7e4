import type { Delivery } from '../../src/model/delivery.ts'

const REASONS = [
  ['Scheduled', 'Successfully assigned default/pod to node'],
  ['Pulled', 'Container image already present on machine'],
  ['Started', 'Started container app'],
  ['Unhealthy', 'Readiness probe failed: HTTP probe failed with statuscode: 503'],
] as const

/** An Event as the kubelet writes it. */
export function benchEvent(i: number) {
  const name = `service-${i % 200}-7c9d8b5f6d-${(i % 200).toString(16).padStart(5, 'x')}`
  const [reason, message] = REASONS[i % REASONS.length] as (typeof REASONS)[number]
  const time = `${new Date().toISOString().slice(0, 19)}Z`
  return {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: { name: `${name}.${i.toString(16).padStart(16, '0')}`, namespace: 'default' },
    involvedObject: { kind: 'Pod', apiVersion: 'v1', namespace: 'default', name, uid: `uid-of-${name}` },
    reason,
    message,
    source: { component: 'kubelet', host: `node-${i % 50}` },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    type: reason === 'Unhealthy' ? 'Warning' : 'Normal',
  }
}

/** The frame of a watch that adds such an Event. */
export function benchEventFrame(i: number, resourceVersion: number, sentAt: string): string {
  const event = benchEvent(i)
  const metadata = {
    ...event.metadata,
    uid: `00000000-0000-4000-8000-${i.toString(16).padStart(12, '0')}`,
    resourceVersion: String(resourceVersion),
    annotations: { 'bench/sent-at': sentAt },
  }
  return `${JSON.stringify({ type: 'ADDED', object: { ...event, metadata } })}\n`
}

/** What the queue holds of such an Event. */
export function benchEventDelivery(i: number): Delivery {
  const { metadata, involvedObject, ...event } = benchEvent(i)
  const uid = `uid-of-${metadata.name}`
  const { type, reason, message, count, lastTimestamp } = event
  return {
    sink: 'out',
    rule: 'all',
    event: {
      ...metadata,
      id: `bench/${uid}/${i}/ADDED`,
      type: 'ADDED',
      cluster: 'bench',
      apiVersion: 'v1',
      kind: 'Event',
      path: `/api/v1/namespaces/${metadata.namespace}/events/${metadata.name}`,
      uid,
      resourceVersion: String(i),
      time: lastTimestamp,
      event: { type, reason, message, count, regarding: involvedObject },
    },
    objectJson: Buffer.from(JSON.stringify(benchEvent(i))),
  }
}
