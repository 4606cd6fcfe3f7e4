/** A pod of about 5.7 KB, as a kubelet's cluster has them: labels, probes, volumes, status, managedFields. */
export function benchPod(i: number): Record<string, unknown> {
  const app = `service-${i % 40}`
  const id = (n: number) => `${(i * 2_654_435_761 + n * 40_503) >>> 0}`.padStart(10, '0')
  const probe = {
    httpGet: { path: `/healthz?x=${id(1)}`, port: 8080, scheme: 'HTTP' },
    timeoutSeconds: 1,
    periodSeconds: 10,
    failureThreshold: 3,
  }
  const container = (name: string) => ({
    name,
    image: `registry.example.com/team-${i % 9}/${app}:${i % 30}.${i % 7}.${i % 11}`,
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: Array.from({ length: 8 }, (_, n) => ({ name: `SETTING_${n}`, value: `value-${id(n)}` })),
    resources: { limits: { cpu: '500m', memory: '512Mi' }, requests: { cpu: '100m', memory: '128Mi' } },
    volumeMounts: [
      { name: 'kube-api-access', readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
    ],
    livenessProbe: probe,
    readinessProbe: probe,
    imagePullPolicy: 'IfNotPresent',
  })
  const fields = {
    'f:metadata': { 'f:labels': { '.': {}, 'f:app': {}, 'f:team': {} } },
    'f:spec': {
      'f:containers': { 'k:{"name":"app"}': { '.': {}, 'f:image': {}, 'f:env': {}, 'f:resources': {} } },
    },
  }
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: `${app}-${id(2)}`,
      generateName: `${app}-`,
      namespace: `team-${i % 9}`,
      uid: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
      resourceVersion: '@@RV@@',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: {
        app,
        team: `team-${i % 9}`,
        'pod-template-hash': id(3),
        'app.kubernetes.io/version': `${i % 30}`,
      },
      annotations: { 'prometheus.io/scrape': 'true', 'checksum/config': `${id(4)}${id(5)}${id(6)}` },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${app}-${id(3)}`, uid: id(7), controller: true },
      ],
      managedFields: [
        {
          manager: 'kube-controller-manager',
          operation: 'Update',
          apiVersion: 'v1',
          time: '2026-01-01T00:00:00Z',
          fieldsType: 'FieldsV1',
          fieldsV1: fields,
        },
        {
          manager: 'kubelet',
          operation: 'Update',
          apiVersion: 'v1',
          time: '2026-01-01T00:00:00Z',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:status': { 'f:conditions': fields } },
          subresource: 'status',
        },
      ],
    },
    spec: {
      containers: [container('app'), container('sidecar')],
      nodeName: `node-${i % 50}`,
      restartPolicy: 'Always',
      serviceAccountName: app,
    },
    status: {
      phase: 'Running',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
      podIP: `10.244.${i % 250}.${(i * 7) % 250}`,
      startTime: '2026-01-01T00:00:00Z',
      containerStatuses: ['app', 'sidecar'].map((name) => ({
        name,
        ready: true,
        restartCount: i % 3,
        image: `registry.example.com/${app}`,
        imageID: `sha256:${id(8)}${id(9)}${id(10)}`,
        containerID: `containerd://${id(11)}${id(12)}`,
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      })),
    },
  }
}

/** Frames of a watch whose version is stamped in when they are sent. */
export function benchFrames(count: number): { head: string; tail: string }[] {
  return Array.from({ length: count }, (_, i) => {
    const [head = '', tail = ''] = JSON.stringify({ type: 'MODIFIED', object: benchPod(i) }).split('@@RV@@')
    return { head, tail: `${tail}\n` }
  })
}
