import { createHash } from 'node:crypto'
import type { Delivery } from '../../model/delivery.ts'
import { shorten } from '../../sink/template/formats.ts'
import { type Cause, nameOf } from './causes.ts'

/** No rule of a configuration can have this name. */
const RULE = 'kubeherald:notify'
const MAX_MESSAGE = 1_000

/** Returns a failure as a delivery of a Kubernetes Event about kubeherald, so that every sink can show it. */
export function ownDelivery(
  cause: Cause,
  { sink, cluster, namespace, nowMs }: { sink: string; cluster: string; namespace: string; nowMs: number },
): Delivery {
  const { on, subject, reason } = cause
  const hash = createHash('sha256').update(nameOf(cause)).digest('hex').slice(0, 12)
  const name = `kubeherald.${on}.${hash}`
  const time = new Date(nowMs).toISOString()
  const type = on === 'heartbeat' ? 'Normal' : 'Warning'
  const message = shorten(cause.message, MAX_MESSAGE)
  const regarding = { kind: 'Kubeherald', namespace, name: subject || 'kubeherald' }
  const object = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace, name, uid: hash, resourceVersion: String(nowMs) },
    ...{ type, reason, message, count: 1, firstTimestamp: time, lastTimestamp: time },
    involvedObject: regarding,
    source: { component: 'kubeherald' },
  }
  return {
    sink,
    rule: RULE,
    event: {
      id: `${cluster}/kubeherald/${hash}/${nowMs}/ADDED`,
      ...{ type: 'ADDED', cluster, apiVersion: 'v1', kind: 'Event', namespace, name, uid: hash, time },
      path: `/api/v1/namespaces/${namespace}/events/${name}`,
      resourceVersion: String(nowMs),
      event: { type, reason, message, count: 1, regarding, reportingComponent: 'kubeherald' },
    },
    objectJson: Buffer.from(JSON.stringify(object)),
  }
}
