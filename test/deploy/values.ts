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
  'everything of the pods': {
    ...REDIS,
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
