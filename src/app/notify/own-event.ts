import { createHash } from 'node:crypto'
import { type Delivery, OWN_REPORT_RULE } from '../../model/delivery.ts'
import { shorten } from '../../sink/template/formats.ts'
import { nameOf, type OwnReport } from './causes.ts'

const MAX_MESSAGE = 1_000

/** Returns a report as a delivery of a Kubernetes Event about kubeherald, so that every sink can show it. */
export function ownDelivery(
  report: OwnReport,
  { sink, cluster, namespace, nowMs }: { sink: string; cluster: string; namespace: string; nowMs: number },
): Delivery {
  const { on, subject, reason, resolved } = report
  const hash = createHash('sha256').update(nameOf(report)).digest('hex').slice(0, 12)
  const name = `kubeherald.${on}.${hash}`
  const time = new Date(nowMs).toISOString()
  const type = on === 'heartbeat' || resolved ? 'Normal' : 'Warning'
  const message = shorten(report.message, MAX_MESSAGE)
  const regarding = { kind: 'Kubeherald', namespace, name: subject || 'kubeherald' }
  const object = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace, name, uid: hash, resourceVersion: String(nowMs) },
    type,
    reason,
    message,
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    involvedObject: regarding,
    source: { component: 'kubeherald' },
  }
  return {
    sink,
    rule: OWN_REPORT_RULE,
    event: {
      id: `${cluster}/kubeherald/${hash}/${nowMs}/ADDED`,
      type: 'ADDED',
      cluster,
      apiVersion: 'v1',
      kind: 'Event',
      namespace,
      name,
      uid: hash,
      time,
      path: `/api/v1/namespaces/${namespace}/events/${name}`,
      resourceVersion: String(nowMs),
      event: { type, reason, message, count: 1, regarding, reportingComponent: 'kubeherald' },
    },
    objectJson: Buffer.from(JSON.stringify(object)),
    ...(resolved && {
      notice: {
        kind: 'resolved',
        since: new Date(resolved.sinceMs).toISOString(),
        at: new Date(resolved.atMs).toISOString(),
        why: 'ended',
      },
    }),
  }
}
