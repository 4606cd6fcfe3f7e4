/** Ways to use the chart, by what they are for. Together they reach every template. */
const REDIS = { redis: { url: 'redis://redis.data:6379' } }
const CONFIG = {
  watch: [{ kind: 'Deployment', namespaces: ['shop'] }],
  sinks: { oncall: { type: 'slack', token: '${file:/run/secrets/kubeherald/slack}', channel: '#oncall' } },
  rules: [{ name: 'all', to: 'oncall' }],
}

export const VALUES: Readonly<Record<string, object>> = {
  'the least that works': { redis: { bundled: { enabled: true } } },
  'own configuration, secrets and permissions': {
    ...REDIS,
    cluster: 'prod-eu',
    config: CONFIG,
    secrets: [
      { name: 'kubeherald', items: [{ key: 'slack', path: 'slack' }] },
      { name: 'more', optional: true },
    ],
    rbac: {
      clusterRules: [],
      namespaceRules: {
        shop: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['list', 'watch'] }],
      },
    },
  },
  'three replicas': { ...REDIS, replicas: 3, config: { ...CONFIG, leases: { durationSeconds: 30 } } },
  'split, a password, scaled by an HPA': {
    redis: { url: 'redis://r:6379', existingSecret: 'redis', usernameKey: 'user', passwordKey: 'pass' },
    mode: 'split',
    watch: { replicas: 2, resources: { limits: { memory: '512Mi' } } },
    deliver: { autoscaling: { hpa: { enabled: true } } },
  },
  'split, scaled by KEDA': {
    redis: { existingSecret: 'redis', urlKey: 'url' },
    mode: 'split',
    deliver: { autoscaling: { keda: { enabled: true, authenticationRef: 'prometheus' } } },
  },
  'every network door closed': {
    redis: { bundled: { enabled: true } },
    mode: 'split',
    networkPolicy: {
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
      egress: { restrict: true, apiServer: { cidrs: ['10.0.0.1/32'], ports: [6443] } },
    },
  },
  'every network door closed, and a Redis elsewhere': {
    ...REDIS,
    networkPolicy: { egress: { restrict: true } },
  },
  'a ServiceMonitor, alerts and a dashboard': {
    ...REDIS,
    metrics: {
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
      dashboard: { enabled: true, annotations: { folder: 'ops' } },
    },
  },
  'a PodMonitor': { ...REDIS, service: { enabled: false }, metrics: { podMonitor: { enabled: true } } },
  'a claim that one node mounts at a time': {
    ...REDIS,
    strategy: 'Recreate',
    extraVolumes: [{ name: 'audit', persistentVolumeClaim: { claimName: 'audit' } }],
    extraVolumeMounts: [{ name: 'audit', mountPath: '/var/lib/kubeherald/audit' }],
  },
  'everything of the pods': {
    existingConfigMap: 'mine',
    image: { repository: 'localhost:5000/kubeherald', digest: `sha256:${'0'.repeat(64)}` },
    imagePullSecrets: [{ name: 'registry' }],
    priorityClassName: 'system-cluster-critical',
    podLabels: { team: 'ops' },
    podAnnotations: { note: 'x' },
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [{ key: 'ops', operator: 'Exists' }],
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: { matchExpressions: [{ key: 'ops', operator: 'Exists' }] } },
        ],
      },
    },
    topologySpreadConstraints: [],
    extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
    extraVolumes: [{ name: 'plugins', configMap: { name: 'plugins', optional: true } }],
    extraVolumeMounts: [{ name: 'plugins', mountPath: '/plugins' }],
    extraArgs: ['--log-level', 'debug'],
    deploymentAnnotations: { note: 'x' },
    commonLabels: { team: 'ops' },
    serviceAccount: { annotations: { note: 'x' } },
    service: { annotations: { note: 'x' } },
    leases: true,
  },
  'accounts and permissions from elsewhere': {
    ...REDIS,
    mode: 'split',
    rbac: { create: false },
    serviceAccount: { create: false, name: 'mine' },
    podDisruptionBudget: { enabled: false },
    networkPolicy: { enabled: false },
    service: { enabled: false },
  },
}

const BUNDLED = { redis: { bundled: { enabled: true } } }
const configured = (more: object) => ({
  ...REDIS,
  config: { watch: ['Event'], sinks: { a: { type: 'stdout' } }, rules: [{ name: 'all', to: 'a' }], ...more },
})

/** Values at the bounds of what the chart takes. */
export const ODD_VALUES: readonly [name: string, release: string, values: object][] = [
  ['a release whose name has dots', 'team.shop.herald', BUNDLED],
  ['one whose name begins with a digit', '1st', BUNDLED],
  ['one whose name is as long as may be', 'a'.repeat(26) + '-' + 'b'.repeat(26), BUNDLED],
  ['an override as long as may be', 'herald', { ...BUNDLED, fullnameOverride: 'a'.repeat(63) }],
  ['no pods', 'herald', { ...REDIS, replicas: 0 }],
  [
    'no pods in mode split',
    'herald',
    { ...BUNDLED, mode: 'split', watch: { replicas: 0 }, deliver: { replicas: 0 } },
  ],
  ['no pod that may be away', 'herald', { ...REDIS, podDisruptionBudget: { maxUnavailable: 0 } }],
  [
    'a share of pods that may be away',
    'herald',
    { ...REDIS, replicas: 4, podDisruptionBudget: { maxUnavailable: '25%' } },
  ],
  ['three pods and one Redis', 'herald', { ...BUNDLED, replicas: 3 }],
  ['no resources', 'herald', { ...REDIS, resources: null }],
  [
    'memory in other units',
    'herald',
    {
      redis: { bundled: { enabled: true, resources: { limits: { memory: '1.5Gi' } } } },
      resources: { limits: { memory: 402653184 } },
    },
  ],
  [
    'Redis on a limit of CPU alone',
    'herald',
    {
      redis: {
        bundled: {
          enabled: true,
          maxmemory: '200mb',
          resources: { requests: null, limits: { memory: null, cpu: 1 } },
        },
      },
    },
  ],
  [
    'ids that the platform chooses',
    'herald',
    { ...BUNDLED, podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } },
  ],
  ['a variable without a value', 'herald', { ...REDIS, extraEnv: [{ name: 'EMPTY' }] }],
  [
    'a password key with dots',
    'herald',
    { redis: { bundled: { enabled: true, passwordKey: 'redis.pass' } } },
  ],
  ['leases by an empty map', 'herald', configured({ leases: {} })],
  ['a name of the cluster from outside', 'herald', configured({ cluster: '${env:CLUSTER}' })],
  [
    'large numbers in the configuration',
    'herald',
    configured({ journal: { keep: '24h', max: 100_000_000 } }),
  ],
]
