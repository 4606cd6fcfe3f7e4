import type { Explanations } from './explained.ts'

const TLS: Explanations = {
  ca: 'Certificates of authorities, as PEM text.',
  cert: 'The own certificate, as PEM text.',
  key: 'Its key, as PEM text.',
  servername: 'The name that the certificate of the other side must have.',
}

function under(prefix: string, table: Explanations): Explanations {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [`${prefix}.${key}`, value]))
}

/** Keys of a file, but for those of rules and sinks. */
export const FILE: Explanations = {
  include: [
    'Rules in other files: files, globs, and sets that come with kubeherald. They come before the rules of this file.',
    ['teams/*.yaml', 'kubeherald:crash-loops'],
  ],
  'include[]': 'A file, a glob, or kubeherald:SET.',
  'include.from': 'A file, a glob, or kubeherald:SET.',
  'include.vars': 'Variables for these files: they go before their own.',
  'include.vars.*': 'Any value.',
  vars: [`Values with a name: \${var:NAME} stands for them, with their type.`, { ours: ['shop', 'pay-*'] }],
  'vars.*': 'Any value.',
  defaults: [
    'What rules say when they do not say it themselves.',
    { to: 'oncall', throttle: { every: '10m' } },
  ],
  watch: [
    'What is read from the cluster: kinds, or maps that narrow them.',
    ['Event', { kind: 'Deployment', namespaces: ['shop'] }],
  ],
  'watch[].kind': ['Deployment, deployments.apps or apps/v1/Deployment.', 'Event'],
  'watch[].namespaces': ['Names or globs, "!" for not; without it, all.', ['shop', 'pay-*']],
  'watch[].labels': ['A label selector that the API server applies.', 'team in (shop, pay)'],
  'watch[].fields': ['A field selector that the API server applies.', 'status.phase!=Succeeded'],
  'watch[].initial': 'How the first start begins: now, or emit for all that exists.',
  'watch[].shards': 'Read in so many parts, where the API server splits it.',
  sinks: [
    'Where events can go, by names of your own.',
    { oncall: { type: 'slack', token: `\${env:SLACK_TOKEN}`, channel: '#oncall' } },
  ],
  'sinks.*.type': 'What kind of sink it is: a built-in one, or that of a plug-in.',
  'sinks.*.messages': 'What people read where a rule does not say it.',
  'sinks.*.queue': ['Bounds of what waits for it in Redis.', { maxAge: '24h', maxBytes: '256MB' }],
  'sinks.*.queue.maxAge': ['What waits for longer becomes a dead letter; default: 24h.', '24h'],
  'sinks.*.queue.maxBytes': [
    'Beyond it the oldest become dead letters; default: a fair share of 40 % of maxmemory.',
    '256MB',
  ],
  rules: ['What goes where, read from top to bottom.', [{ name: 'all', to: ['screen'] }]],
  tests: ['What kubeherald test holds the rules against.'],
  cluster: ['The name of the cluster in events and in keys of Redis: do not change it later.', 'prod-eu'],
  kubernetes: 'How to reach the cluster.',
  'kubernetes.kubeconfig': ["A kubeconfig, relative to this file's folder.", 'kube/config'],
  'kubernetes.context': 'Its context; default: the current one.',
  'kubernetes.maxObjectSize': [
    'Of an object with more JSON, only the metadata is read; default: 64MiB.',
    '128MiB',
  ],
  redis: ['Where deliveries wait; without it a private redis-server.', { url: 'redis://redis:6379' }],
  'redis.url': ['redis://, rediss:// (TLS) or unix:// address.', 'redis://redis:6379/1'],
  'redis.username': 'Instead of that in the URL.',
  'redis.password': ['Instead of that in the URL.', `\${file:redis-password}`],
  'redis.tls': 'true, or certificates.',
  ...under('redis.tls', TLS),
  'redis.sentinel': 'Redis behind Sentinels.',
  'redis.sentinel.name': ['What the Sentinels call the master.', 'mymaster'],
  'redis.sentinel.nodes': ['Addresses of the Sentinels.', ['sentinel-0:26379']],
  'redis.sentinel.username': 'Of the Sentinels themselves.',
  'redis.sentinel.password': 'Of the Sentinels themselves.',
  'redis.sentinel.tls': 'Of the Sentinels themselves: true, or certificates.',
  ...under('redis.sentinel.tls', TLS),
  'redis.cluster': 'A Redis Cluster.',
  'redis.cluster.nodes': ['Addresses of some of its nodes.', ['redis-0:6379']],
  leases: ['Shares the watches out among processes.', true],
  'leases.namespace': 'Where the Leases lie.',
  'leases.durationSeconds': 'A holder that was not seen to renew for so long is taken for dead; default: 15.',
  'leases.renewDeadlineSeconds': 'A holder that could not renew for so long stops; default: 10.',
  'leases.retryPeriodSeconds': 'Between renewals; default: 2.',
  server: ['Where /livez, /readyz and /metrics answer; false for nowhere.', { host: '0.0.0.0', port: 9464 }],
  'server.host': '127.0.0.1 for this machine (default), 0.0.0.0 for all interfaces.',
  'server.port': '1 to 65535, or 0 for any free one; default: 9464.',
  plugins: ['Packages and files with sink types.', ['./sinks/tickets.mts']],
  enrich: [
    'What is read of the objects around an event, where rules ask for it.',
    { owners: ['rollouts.argoproj.io'] },
  ],
  'enrich.owners': [
    'Kinds between an object and the top of its owners, besides ReplicaSet and Job.',
    ['rollouts.argoproj.io'],
  ],
  'enrich.regarding': [
    'Kinds of objects that Events are about, for rules that name none in regarding.kind.',
    ['Pod', 'Node'],
  ],
  'enrich.maxObjects': ['How many objects are remembered; default: 200000.', 200_000],
  journal: ['Keeps what happened, for kubeherald backtest.', { keep: '24h', max: '64MB' }],
  'journal.keep': ['How long.', '24h'],
  deadLetters: [
    'How long dead letters are kept, and where they go then.',
    { maxAge: '7d', archive: { file: '/var/log/kubeherald/dead-letters.ndjson' } },
  ],
  'deadLetters.maxAge': ['How long; default: 7d.', '7d'],
  'deadLetters.maxBytes': ['How much of Redis; default: 10 % of maxmemory.', '128MB'],
  'deadLetters.archive': 'Where they go before they are deleted; without it they are only counted.',
  'deadLetters.archive.file': [
    'A file, absolute: a JSON object a line.',
    '/var/log/kubeherald/dead-letters.ndjson',
  ],
  'deadLetters.archive.sink': ['A sink that no rule sends to.', 'archive'],
  'deadLetters.archive.maxSize': ['A new file is begun at this size; default: 100MB.', '100MB'],
  'deadLetters.archive.maxFiles': 'How many full files are kept; default: 10.',
  'journal.max': ['How much: the oldest goes when there is more; default: 64MB.', '64MB'],
}
