import { type ClusterFacts, stageLabel, systemNamespaces, teamLabel } from './facts.ts'
import { KNOWN_RESOURCES, type KnownResource } from './known-resources.ts'

export interface StarterOptions {
  facts: ClusterFacts | undefined
  /** What the sink `chat` is. */
  sink: SinkChoice
  /** The file that holds the rights; undefined when none was written. */
  rightsFile?: string | undefined
}

export type SinkChoice = keyof typeof SINKS
const SINK_CHOICES = ['stdout', 'slack', 'webhook', 'kafka'] as const

const SINKS = {
  stdout: '{ type: stdout }',
  slack: '{ type: slack, token: "${env:SLACK_TOKEN}", channel: "#kubernetes" }',
  webhook: '{ type: webhook, url: "${env:WEBHOOK_URL}", secret: "${env:WEBHOOK_SECRET}" }',
  kafka: '{ type: kafka, brokers: ["${env:KAFKA_BROKER}"], topic: kubernetes.changes }',
} as const

/** A commented configuration to begin with, by what the cluster has. */
export function starterFile({ facts, sink, rightsFile }: StarterOptions): string {
  const namespaces = facts?.namespaces ?? []
  const known = facts ? KNOWN_RESOURCES.filter(({ resource }) => facts.resources.has(resource)) : []
  const only = facts?.onlyNamespace
  const entry = (kind: string) =>
    only === undefined ? kind : `{ kind: ${kind}, namespaces: [${text(only)}] }`
  const system = systemNamespaces(namespaces).map((name) => `"!${name}"`)
  const lines = [
    ...headingOf(facts, rightsFile),
    `cluster: ${text(facts?.cluster ?? 'my-cluster')}`,
    '',
    '# Where it is sent to.',
    'sinks:',
    `  chat: ${SINKS[sink]}`,
    ...SINK_CHOICES.filter((other) => other !== sink && other !== 'stdout').map(
      (other) => `  # chat: ${SINKS[other]}`,
    ),
    '',
    ...(only === undefined ? SETS : []),
    '# What is watched for the rules below.',
    'watch:',
    ...['Event', ...known.map(({ resource }) => resource)].map((kind) => `  - ${entry(kind)}`),
    '',
    '# Read from top to bottom; every rule that matches sends, "drop: true" ends.',
    'rules:',
    '  - name: warnings',
    '    when:',
    '      kind: Event',
    '      type: Warning',
    ...(system.length > 0 ? [`      namespace: [${system.join(', ')}]`] : []),
    ...(only === undefined
      ? ['      # What the sets above tell in their own way, and probes.', TOLD_BY_SETS]
      : []),
    '    throttle: { per: [regarding, reason], every: 1h }',
    '    to: [chat]',
    ...known.flatMap(ruleOf),
    ...examplesOf(facts),
    ...testsFor(only ?? 'default'),
  ]
  return `${lines.join('\n')}\n`
}

function headingOf(facts: ClusterFacts | undefined, rightsFile: string | undefined): string[] {
  const counts = [
    facts?.version,
    facts?.nodes !== undefined && `${facts.nodes} nodes`,
    facts?.pods !== undefined && `${facts.pods} pods`,
    facts?.namespaces && `${facts.namespaces.length} namespaces`,
  ].filter((it) => it !== false && it !== undefined)
  const of = facts
    ? ` for the cluster ${printed(facts.cluster)}${counts.length > 0 ? ` (${counts.join(', ')})` : ''}`
    : ''
  return [
    `# Made by "kubeherald init"${of}.`,
    '#   kubeherald check     is all of it right, and are the rights there?',
    '#   kubeherald tail      what would be sent, live; sends nothing',
    '#   kubeherald test      the tests at the end of this file',
    '#   kubeherald           do it',
    ...(rightsFile
      ? [
          `# The rights that it needs, in a namespace of its own: kubectl create namespace kubeherald; kubectl apply -f ${rightsFile}`,
        ]
      : ['# The rights that it needs: kubeherald rbac']),
    '',
  ]
}

const TOLD_BY_SETS =
  '      reason: ["!BackOff", "!Failed", "!FailedScheduling", "!NodeNotReady", "!Unhealthy"]'

const SETS = [
  '# Rules that come with kubeherald; each set says what it needs to watch.',
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

/** Commented rules for what this cluster's namespaces are labelled with. */
function examplesOf(facts: ClusterFacts | undefined): string[] {
  const namespaces = facts?.namespaces ?? []
  const team = teamLabel(namespaces)
  const stage = stageLabel(namespaces)
  const byStage = stage && [
    '  # Only production, by the label of its namespaces:',
    '  # - name: production',
    `  #   when: { kind: Event, type: Warning, namespaceLabels: { ${text(stage.key)}: ${text(stage.values[0] ?? '')} } }`,
    '  #   to: [chat]',
  ]
  const byTeam = team && [
    '  # A team of its own, by the label of its namespaces:',
    `  # - name: team-${nameOf(team.values[0] ?? '')}`,
    `  #   when: { kind: Event, type: Warning, namespaceLabels: { ${text(team.key)}: ${text(team.values[0] ?? '')} } }`,
    '  #   to: [{ chat: { channel: "#their-channel" } }]',
  ]
  return [...(byStage ?? []), ...(byTeam ?? [])]
}

function testsFor(namespace: string): string[] {
  const about = `{ kind: ReplicaSet, namespace: ${text(namespace)}, name: web-1 }`
  const object = `{ kind: Event, type: Warning, reason: FailedCreate, involvedObject: ${about} }`
  return [
    '',
    '# What is expected of them: kubeherald test',
    'tests:',
    '  - name: a warning is told once an hour',
    '    given:',
    `      - object: ${object}`,
    `      - { at: 5m, object: ${object} }`,
    '    expect: [{ rule: warnings, to: [chat] }, { suppressed: throttle }]',
  ]
}

/** As a YAML scalar in one line, whatever it holds. */
function text(value: string): string {
  return /^[A-Za-z][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value)
}

function printed(value: string): string {
  return value.replace(/\p{C}+/gu, ' ').slice(0, 100)
}

function nameOf(value: string): string {
  return (
    value
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 50) || 'one'
  )
}
