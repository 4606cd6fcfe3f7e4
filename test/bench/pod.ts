import { createHash } from 'node:crypto'
import { managedFields } from '../../src/demo/api/store.ts'
import type { Delivery } from '../../src/model/delivery.ts'

/** Stamped in when a frame is sent. */
const VERSION = '@@VERSION@@'
const SENT_AT = '@@SENT@@'
const DAY_MS = 86_400_000
const NOW_MS = Date.parse('2026-11-21T08:00:00Z')

export interface BenchPod {
  kind: string
  apiVersion: string
  metadata: {
    name: string
    namespace: string
    uid: string
    resourceVersion: string
    managedFields?: object[]
  }
  spec: object
  status: object
}

/**
 * A pod of about 5.7 KB as the API server sends it, with managedFields: two containers, and ids, digests, addresses and
 * times that differ from pod to pod as much as those of a real cluster.
 */
export function benchPod(i: number): BenchPod {
  const pod = trimmedPod(i)
  const at = time(i, 0)
  const { containers } = pod.spec as { containers: object[] }
  const { conditions } = pod.status as { conditions: object[] }
  const owned = { ...pod, spec: { containers: containers.slice(0, 1) }, status: { conditions } }
  return { ...pod, metadata: { ...pod.metadata, managedFields: managedFields(owned, at, at) } }
}

/** The same without managedFields: as it is delivered. */
export function trimmedPod(i: number): BenchPod {
  const app = `service-${i % 40}`
  const template = hex(i % 160, 'template', 10)
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: `${app}-${template}-${hex(i, 'name', 5)}`,
      generateName: `${app}-${template}-`,
      namespace: `team-${i % 9}`,
      uid: uuid(i, 'pod'),
      resourceVersion: VERSION,
      creationTimestamp: time(i, 0),
      labels: {
        'app.kubernetes.io/name': app,
        'app.kubernetes.io/version': `${i % 30}.${i % 7}.${i % 11}`,
        'pod-template-hash': template,
        team: `team-${i % 9}`,
      },
      annotations: { 'bench/sent-at': SENT_AT, 'checksum/config': hex(i % 160, 'config', 64) },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${app}-${template}`,
          uid: uuid(i % 160, 'set'),
          controller: true,
        },
      ],
    },
    spec: {
      containers: [container(i, 'app'), container(i, 'proxy')],
      nodeName: `node-${i % 50}.example.internal`,
      restartPolicy: 'Always',
      serviceAccountName: app,
      terminationGracePeriodSeconds: 30,
      volumes: [{ name: 'kube-api-access', projected: { defaultMode: 420, sources: [] } }],
    },
    status: {
      phase: 'Running',
      conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type, n) => ({
        type,
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: time(i, n),
      })),
      hostIP: `192.168.${i % 4}.${(i * 7) % 250}`,
      podIP: `10.244.${i % 250}.${(i * 13) % 250}`,
      startTime: time(i, 1),
      containerStatuses: ['app', 'proxy'].map((name) => ({
        name,
        ready: true,
        started: true,
        restartCount: i % 3,
        image: imageOf(i, name),
        imageID: `registry.example.com@sha256:${hex(i % 160, name, 64)}`,
        containerID: `containerd://${hex(i, name, 64)}`,
        state: { running: { startedAt: time(i, 3) } },
        lastState: {},
      })),
    },
  } as BenchPod
}

function container(i: number, name: string): object {
  return {
    name,
    image: imageOf(i, name),
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
      { name: 'POD_IP', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } },
      ...['CACHE_URL', 'QUEUE_URL', 'BUILD'].map((key) => ({
        name: key,
        value: hex(i % 160, name + key, 24),
      })),
    ],
    resources: { limits: { memory: '512Mi' }, requests: { cpu: '100m', memory: '128Mi' } },
    volumeMounts: [{ name: 'kube-api-access', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }],
    readinessProbe: { httpGet: { path: '/readyz', port: 'http', scheme: 'HTTP' }, periodSeconds: 10 },
    imagePullPolicy: 'IfNotPresent',
  }
}

function imageOf(i: number, name: string): string {
  return `registry.example.com/team-${i % 9}/${name}:${i % 30}.${i % 7}.${i % 11}`
}

function hex(i: number, what: string, digits: number): string {
  return createHash('sha256').update(`${what}/${i}`).digest('hex').slice(0, digits)
}

function uuid(i: number, what: string): string {
  return hex(i, what, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function time(i: number, second: number): string {
  return (
    new Date(NOW_MS - ((i * 7_919_000) % (30 * DAY_MS)) + second * 1_000).toISOString().slice(0, 19) + 'Z'
  )
}

/** A frame of a watch in three parts: between them go its resourceVersion and the time at which it is sent. */
export type BenchFrame = readonly [head: string, middle: string, tail: string]

export function benchFrames(count: number): BenchFrame[] {
  return Array.from({ length: count }, (_, i) => {
    const frame = `${JSON.stringify({ type: 'MODIFIED', object: benchPod(i) })}\n`
    const [head = '', rest = ''] = frame.split(VERSION)
    const [middle = '', tail = ''] = rest.split(SENT_AT)
    return [head, middle, tail]
  })
}

/** What the queue holds of a change of this pod. */
export function benchDelivery(i: number): Delivery {
  const pod = trimmedPod(i)
  const { name, namespace, uid } = pod.metadata
  return {
    sink: 'out',
    rule: 'all',
    event: {
      id: `bench/${uid}/${i}/MODIFIED`,
      type: 'MODIFIED',
      cluster: 'bench',
      apiVersion: 'v1',
      kind: 'Pod',
      path: `/api/v1/namespaces/${namespace}/pods/${name}`,
      namespace,
      name,
      uid,
      resourceVersion: String(i),
      time: new Date(NOW_MS).toISOString(),
    },
    objectJson: Buffer.from(JSON.stringify(pod)),
  }
}
