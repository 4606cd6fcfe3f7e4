interface StarterOptions {
  facts: ClusterFacts | undefined
  /** The section of the sink `chat`. */
  sink: string
  /** Sections of other types, as comments. */
  otherSinks: readonly string[]
  /** The file with the permissions; undefined when none was written. */
  permissionsFile?: string | undefined
}

/** The state of a cluster; a field is undefined where it may not be read. */
export interface ClusterFacts {
  /** The cluster's name in the configuration. */
  cluster: string
  /** Such as `v1.36.3`. */
  version?: string
  nodes?: number
  pods?: number
  namespaces?: readonly NamespaceFacts[]
  /** The only namespace that may be read; undefined when all may. */
  onlyNamespace?: string
  /** Its resources as `plural.group` (`plural` for the core group). */
  resources: ReadonlySet<string>
}

export interface NamespaceFacts {
  name: string
  labels: Readonly<Record<string, string>>
}

/** Returns a commented configuration for the cluster. */
export function starterFile({ facts, sink, otherSinks, permissionsFile }: StarterOptions): string {
  const namespaces = facts?.namespaces ?? []
  const known = KNOWN_RESOURCES.filter(({ resource }) => facts?.resources.has(resource))
  const only = facts?.onlyNamespace
  const entry = (kind: string) =>
    only === undefined ? kind : `{ kind: ${kind}, namespaces: [${text(only)}] }`
  const system = namespaces.filter(({ name }) => /^kube-(system|public|node-lease)$/.test(name))
  const team = teamOf(namespaces)
  const isReduced = only === undefined
  const lines = [
    ...headingOf(facts, permissionsFile),
    `cluster: ${text(facts?.cluster ?? 'my-cluster')}`,
    '',
    '# Where it is sent to.',
    'sinks:',
    `  chat: ${sink}`,
    ...otherSinks.map((other) => `  # chat: ${other}`),
    ...(team
      ? [TEAM_SINK, `  # ${team.rule}: ${sink.replace(/channel: "[^"]*"/, 'channel: "#their-channel"')}`]
      : []),
    '',
    ...(isReduced ? SETS : []),
    '# What is watched for the rules below.',
    'watch:',
    ...['Event', ...known.map(({ resource }) => resource)].map((kind) => `  - ${entry(kind)}`),
    '',
    '# Read from top to bottom: a sink gets an event from the first rule that sends to it, "drop: true" ends.',
    'rules:',
    ...commented(examplesOf(namespaces, team, isReduced)),
    ...warningsRule({
      rule: 'warnings',
      when:
        system.length > 0 ? `namespace: [${system.map(({ name }) => `"!${name}"`).join(', ')}]` : undefined,
      every: '1h',
      to: 'chat',
      isReduced,
    }),
    ...known.flatMap(ruleOf),
    ...testsFor(only ?? 'default'),
  ]
  return `${lines.join('\n')}\n`
}

function headingOf(facts: ClusterFacts | undefined, permissionsFile: string | undefined): string[] {
  const counts = [
    facts?.version,
    facts?.nodes !== undefined && `${facts.nodes} nodes`,
    facts?.pods !== undefined && `${facts.pods} pods`,
    facts?.namespaces && `${facts.namespaces.length} namespaces`,
  ].filter((it) => it !== false && it !== undefined)
  const name = facts?.cluster.replace(/\p{C}+/gu, ' ').slice(0, 100)
  const of = facts ? ` for the cluster ${name}${counts.length > 0 ? ` (${counts.join(', ')})` : ''}` : ''
  const permissions = permissionsFile
    ? `, in a namespace of its own: kubectl create namespace kubeherald; kubectl apply -f ${permissionsFile}`
    : ': kubeherald rbac'
  return [
    `# Made by "kubeherald init"${of}.`,
    '#   kubeherald check     is all of it right, and are the permissions there?',
    '#   kubeherald tail      what would be sent, live; sends nothing',
    '#   kubeherald test      the tests at the end of this file',
    '#   kubeherald           do it',
    `# The permissions that it needs${permissions}`,
    '',
  ]
}

const SENT_BY_SETS = [
  '    # The sets above send these in their own form; probes are left out. Controllers use the same reasons for their own objects, too.',
  '    if: >-',
  '      !(event.reason in ["BackOff", "Failed", "FailedScheduling", "NodeNotReady", "Unhealthy"] && event.regarding.kind == "Pod") &&',
  '      !(event.reason == "NodeNotReady" && event.regarding.kind == "Node")',
]

const SETS = [
  '# Rules that come with kubeherald; each set names what it needs to watch.',
  'include:',
  '  - { from: [kubeherald:crash-loops, kubeherald:rollouts, kubeherald:nodes, kubeherald:storage], to: [chat] }',
  '  # - { from: kubeherald:security, to: [chat] }',
  '',
]

function ruleOf({ title, rule, kind, conditions }: KnownResource): string[] {
  return [
    `  # ${title} is installed.`,
    `  - name: ${rule}`,
    `    when: { kind: ${kind} }`,
    ...conditions.map((line) => `    ${line}`),
    '    to: [chat]',
  ]
}

interface WarningsRule {
  rule: string
  /** One more condition. */
  when: string | undefined
  every: string
  to: string
  /** Without the Warnings that the sets send. */
  isReduced: boolean
}

function warningsRule({ rule, when, every, to, isReduced }: WarningsRule): string[] {
  return [
    `  - name: ${rule}`,
    '    when:',
    '      kind: Event',
    '      type: Warning',
    ...(when === undefined ? [] : [`      ${when}`]),
    ...(isReduced ? SENT_BY_SETS : []),
    `    throttle: { per: [regarding, reason], every: ${every} }`,
    `    to: [${to}]`,
  ]
}

function commented(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/^ {2}/, '  # '))
}

interface Team {
  /** The name of its rule, and of its sink. */
  rule: string
  key: string
  value: string
}

/** Returns the team of most namespaces, by their labels. */
function teamOf(namespaces: readonly NamespaceFacts[]): Team | undefined {
  const label = mostUsedLabel(namespaces, ['team', 'owner', 'squad', 'app.kubernetes.io/part-of'])
  const value = label?.values[0]
  return label && value !== undefined ? { rule: `team-${nameOf(value)}`, key: label.key, value } : undefined
}

const TEAM_SINK =
  '  # A sink of its own for a team: change where it goes. It needs the rule of the same name, too.'

/** Rules for the labels of the namespaces: production, and a team. They come before "warnings", which takes the rest for its sink. */
function examplesOf(
  namespaces: readonly NamespaceFacts[],
  team: Team | undefined,
  isReduced: boolean,
): string[] {
  const stage = mostUsedLabel(namespaces, ['env', 'environment', 'stage', 'tier'])
  const production = stage?.values.find((value) => /^pro?d/i.test(value))
  const labelled = (key: string, value: string) => `namespaceLabels: { ${text(key)}: ${text(value)} }`
  const byProduction =
    stage && production !== undefined
      ? [
          '  In production a warning is repeated more often, by the label of the namespaces:',
          ...warningsRule({
            rule: 'production',
            when: labelled(stage.key, production),
            every: '10m',
            to: 'chat',
            isReduced,
          }),
        ]
      : []
  const byTeam = team
    ? [
        '  A team also gets its warnings in a sink of its own, by the label of its namespaces:',
        ...warningsRule({
          rule: team.rule,
          when: labelled(team.key, team.value),
          every: '1h',
          to: team.rule,
          isReduced: false,
        }),
      ]
    : []
  const all = [...byProduction, ...byTeam]
  return all.length > 0
    ? ['  For labels of namespaces, apply the permissions of "kubeherald rbac" again.', ...all]
    : []
}

/** The label of most namespaces among the keys, with its values, most frequent first. */
function mostUsedLabel(namespaces: readonly NamespaceFacts[], keys: readonly string[]) {
  const [best] = keys
    .map((key) => ({ key, values: namespaces.flatMap(({ labels }) => labels[key] ?? []) }))
    .filter(({ values }) => values.length > 0)
    .sort((a, b) => b.values.length - a.values.length)
  if (!best) return undefined
  const counts = [...Map.groupBy(best.values, (value) => value)].sort(([, a], [, b]) => b.length - a.length)
  return { key: best.key, values: counts.map(([value]) => value) }
}

function testsFor(namespace: string): string[] {
  const about = `{ kind: ReplicaSet, namespace: ${text(namespace)}, name: web-1 }`
  const object = `{ kind: Event, type: Warning, reason: FailedCreate, involvedObject: ${about} }`
  return [
    '',
    '# What is expected of them: kubeherald test',
    'tests:',
    '  - name: a warning is sent once an hour',
    '    given:',
    `      - object: ${object}`,
    `      - { at: 5m, object: ${object} }`,
    '    expect: [{ rule: warnings, to: [chat] }, { suppressed: throttle }]',
  ]
}

/** A YAML scalar in one line. */
function text(value: string): string {
  return /^[A-Za-z][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value)
}

function nameOf(value: string): string {
  const name = value.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return name.replace(/^-+|-+$/g, '').slice(0, 50) || 'one'
}

/** A custom resource of many clusters, with a rule for it. */
interface KnownResource {
  /** `plural.group` */
  resource: string
  kind: string
  title: string
  rule: string
  /** The lines of the rule between its name and `to`. */
  conditions: readonly string[]
}

const notReady = (duration: string) => [
  `condition: { type: Ready, becomes: "False", for: ${duration} }`,
  'resolve: true',
]
const degraded = (path: string) => [`to-state: { ${path}: Degraded }`, 'for: 1m', 'resolve: true']
// Strimzi has no Ready that is False: it has another condition instead.
const strimzi = ['condition: { type: NotReady, becomes: "True", for: 5m }', 'resolve: true']

const ROWS: readonly (readonly [string, string, string, string, readonly string[]])[] = [
  ['certificates.cert-manager.io', 'Certificate', 'cert-manager', 'certificate-not-ready', notReady('10m')],
  [
    'externalsecrets.external-secrets.io',
    'ExternalSecret',
    'External Secrets',
    'secret-not-synced',
    notReady('5m'),
  ],
  [
    'kustomizations.kustomize.toolkit.fluxcd.io',
    'Kustomization',
    'Flux',
    'kustomization-not-ready',
    notReady('5m'),
  ],
  ['helmreleases.helm.toolkit.fluxcd.io', 'HelmRelease', 'Flux', 'helm-release-not-ready', notReady('5m')],
  [
    'applications.argoproj.io',
    'Application',
    'Argo CD',
    'application-degraded',
    degraded('status.health.status'),
  ],
  ['rollouts.argoproj.io', 'Rollout', 'Argo Rollouts', 'rollout-degraded', degraded('status.phase')],
  [
    'workflows.argoproj.io',
    'Workflow',
    'Argo Workflows',
    'workflow-failed',
    ['to-state: { status.phase: [Failed, Error] }'],
  ],
  ['clusters.postgresql.cnpg.io', 'Cluster', 'CloudNativePG', 'database-not-ready', notReady('5m')],
  ['kafkas.kafka.strimzi.io', 'Kafka', 'Strimzi', 'kafka-not-ready', strimzi],
  ['scaledobjects.keda.sh', 'ScaledObject', 'KEDA', 'scaler-not-ready', notReady('5m')],
]

export const KNOWN_RESOURCES = ROWS.map(
  ([resource, kind, title, rule, conditions]): KnownResource => ({ resource, kind, title, rule, conditions }),
)
