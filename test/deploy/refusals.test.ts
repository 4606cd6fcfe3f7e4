import { expect, test } from 'vitest'
import { refusal } from './render.ts'

const REDIS = { redis: { url: 'redis://redis:6379' } }
const CONFIG = {
  watch: ['Event'],
  sinks: { screen: { type: 'stdout' } },
  rules: [{ name: 'all', to: 'screen' }],
}

test.each<[name: string, values: object, says: string]>([
  ['a value that there is not', { replica: 2 }, `- at '': additional properties 'replica' not allowed`],
  [
    'one that is misspelt further in',
    { redis: { bundled: { enable: true } } },
    `- at '/redis/bundled': additional properties 'enable' not allowed`,
  ],
  ['a strategy that there is not', { strategy: 'OnDelete' }, "- at '/strategy': value must be one of"],
  ['a mode that there is not', { mode: 'ha' }, `- at '/mode': value must be one of 'single', 'split'`],
  ['text for a number', { replicas: '2' }, `- at '/replicas': got string, want integer`],
  ['a key of kubeherald.yaml that there is not', { config: { ...CONFIG, sink: {} } }, 'sink'],
  [
    'a sink without a type',
    { config: { ...CONFIG, sinks: { a: {} } } },
    `- at '/config/sinks/a': missing property 'type'`,
  ],
  [
    'a name that no sink can have',
    { config: { ...CONFIG, sinks: { Screen: { type: 'stdout' } } } },
    `- at '/config/sinks': additional properties 'Screen' not allowed`,
  ],
  ['a rule without a name', { config: { ...CONFIG, rules: [{ to: 'a' }] } }, `missing property 'name'`],
  [
    'a right to write',
    { rbac: { clusterRules: [{ apiGroups: [''], resources: ['pods'], verbs: ['*'] }] } },
    'verbs',
  ],
  ['a grace shorter than a drain', { terminationGracePeriodSeconds: 5 }, 'minimum: got 5, want 12'],
  ['a folder of the node', { extraVolumes: [{ name: 'a', hostPath: { path: '/' } }] }, 'extraVolumes'],
  ['an image with a tag in its name', { image: { repository: 'a/b:1' } }, `'/image/repository'`],
  ['a name that is none', { fullnameOverride: 'Shop_1' }, `'/fullnameOverride': 'Shop_1' does not match`],
  ['a name that goes on as YAML', { nameOverride: 'a\nb: c' }, `- at '/nameOverride'`],
  [
    'a class of storage with more behind it',
    { redis: { bundled: { enabled: true, persistence: { storageClass: 'a # b' } } } },
    'storageClass',
  ],
  [
    'a metric that closes a bracket',
    { mode: 'split', deliver: { autoscaling: { hpa: { enabled: true, metric: 'a }, b: {' } } } },
    '/metric',
  ],
  ['no Redis', { redis: {} }, 'there is no Redis, in which deliveries wait: set redis.url'],
  [
    'two of them',
    { redis: { ...REDIS.redis, bundled: { enabled: true } } },
    'redis.bundled.enabled and redis.url name',
  ],
  ['half a configuration', { config: { watch: ['Event'] } }, 'config has some of watch, sinks and rules'],
  [
    'a cluster that the configuration elsewhere does not get',
    { cluster: 'prod-eu', existingConfigMap: 'mine', redis: {} },
    'cluster has no effect with existingConfigMap',
  ],
  ['a Redis that it does not get', { existingConfigMap: 'mine' }, 'redis.url has no effect with'],
  ['two configurations', { config: CONFIG, existingConfigMap: 'mine' }, 'leave one of them out'],
  [
    'keys of no Secret',
    { redis: { ...REDIS.redis, passwordKey: 'p' } },
    'are keys of redis.existingSecret: name it',
  ],
  ['a Secret without keys', { redis: { ...REDIS.redis, existingSecret: 'r' } }, 'but none of its keys'],
  ['no port for the probes', { config: { ...CONFIG, server: false } }, 'the probes of the pods need it'],
  [
    'two that scale',
    { mode: 'split', deliver: { autoscaling: { hpa: { enabled: true }, keda: { enabled: true } } } },
    'would fight each other',
  ],
  [
    'scaling of what is not there',
    { deliver: { autoscaling: { hpa: { enabled: true } } } },
    'only mode: split has',
  ],
  [
    'a ServiceMonitor of no Service',
    { service: { enabled: false }, metrics: { serviceMonitor: { enabled: true } } },
    'metrics.serviceMonitor needs service.enabled=true',
  ],
  [
    'each pod scraped twice',
    { metrics: { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } } },
    'would scrape each pod twice',
  ],
  [
    'a policy of nothing',
    { networkPolicy: { enabled: false, egress: { restrict: true } } },
    'networkPolicy.egress.restrict needs networkPolicy.enabled',
  ],
])('the chart refuses %s, and says why', async (_, values, says) => {
  expect(await refusal({ ...REDIS, ...values })).toContain(says)
})
