import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { watchedBy } from '../../../src/app/dry-run/match-report.ts'
import { createScenario } from '../../../src/cli/dry-run/scenario.ts'
import { convert, importText, type ToolName } from '../../../src/cli/import/import.ts'
import { toYaml } from '../../../src/cli/import/imported.ts'
import { METADATA_KINDS } from '../../../src/watch/metadata/metadata-requirements.ts'
import { dryRunOf } from './dry-run-of.ts'
import { happenings } from './happenings.ts'
import { botkube, eventExporter, type Json, kubewatch, type SourceModel } from './source-models.ts'

/** Each after a configuration in a public repository, or of a guide: its facts, with other names. */
interface Fixture {
  file: string
  tool: ToolName
  model: SourceModel
  /** Takes the configuration out of the documents. */
  config(documents: Json[]): Json
  /** What changes, beside pods and nodes, and how often. */
  kinds?: string[]
  count?: number
  /** The rules that stay enabled. */
  on: string[]
  /** Numbers of disabled rules and sinks. */
  disabled: [rules: number, sinks: number]
  /** Parts that had no effect, or whose sink is disabled: each is named as a whole. */
  blocks?: string[]
  /** Values that are the defaults of the tool, or have no effect beside another one. */
  defaults?: string[]
}

const inner = (text: string): Json => parseAllDocuments(text, { merge: true })[0]?.toJS()
const whole = ([it]: Json[]) => it

const FIXTURES: Fixture[] = [
  {
    file: 'exporter-manifests',
    tool: 'kubernetes-event-exporter',
    model: eventExporter,
    config: (all) => inner(all[1].data['config.yaml']),
    on: ['everything', 'chat'],
    disabled: [0, 0],
  },
  {
    file: 'exporter-log-store',
    tool: 'kubernetes-event-exporter',
    model: eventExporter,
    config: whole,
    on: ['logs'],
    disabled: [0, 0],
  },
  {
    file: 'exporter-chart-values',
    tool: 'kubernetes-event-exporter',
    model: eventExporter,
    config: ([it]) => it.config,
    kinds: ['deployments.apps', 'services', 'clusters.cluster.x-k8s.io'],
    on: ['search', 'teams', 'archive', 'stream'],
    disabled: [0, 0],
  },
  {
    file: 'exporter-cluster-upgrades',
    tool: 'kubernetes-event-exporter',
    model: eventExporter,
    config: whole,
    kinds: ['clusters.cluster.x-k8s.io'],
    on: ['end', 'thread'],
    disabled: [1, 0],
    blocks: ['route.routes.3'],
  },
  {
    file: 'exporter-tree',
    tool: 'kubernetes-event-exporter',
    model: eventExporter,
    config: whole,
    kinds: ['deployments.apps'],
    on: ['drop-1', 'pager', 'hook-2'],
    disabled: [3, 2],
    blocks: ['leaderElection', 'receivers.0.opsgenie.tags', 'receivers.4'],
  },
  {
    file: 'exporter-helm-release',
    tool: 'kubernetes-event-exporter',
    model: eventExporter,
    config: ([it]) => inner(it.spec.values.config),
    on: ['loki', 'bus'],
    disabled: [0, 0],
  },
  {
    file: 'kubewatch-manifests',
    tool: 'kubewatch',
    model: kubewatch,
    config: ([it]) => inner(it.data['.kubewatch.yaml']),
    kinds: ['deployments.apps', 'services', 'secrets'],
    on: ['everything'],
    disabled: [0, 0],
  },
  {
    file: 'kubewatch-chart-values',
    tool: 'kubewatch',
    model: kubewatch,
    config: whole,
    kinds: ['deployments.apps', 'prometheusrules.monitoring.coreos.com', 'persistentvolumes', 'jobs.batch'],
    on: ['everything'],
    disabled: [0, 0],
    blocks: ['rbac', 'image', 'resources', 'webhook', 'msteams'],
    defaults: ['slack.enabled'],
  },
  {
    file: 'kubewatch-fork-values',
    tool: 'kubewatch',
    model: kubewatch,
    config: whole,
    kinds: ['deployments.apps', 'configmaps'],
    on: ['nothing'],
    disabled: [1, 0],
    blocks: ['message', 'diff', 'namespacesconfig'],
  },
  {
    file: 'kubewatch-webhook',
    tool: 'kubewatch',
    model: kubewatch,
    config: whole,
    kinds: ['deployments.apps', 'secrets'],
    on: ['everything'],
    disabled: [0, 0],
  },
  {
    file: 'botkube-manifests',
    tool: 'botkube',
    model: botkube,
    config: (all) => ({
      ...inner(all[0].data['global_config.yaml']),
      ...inner(all[1].stringData['comm_config.yaml']),
    }),
    kinds: ['deployments.apps', 'services'],
    defaults: ['sources.platform-errors.botkube/kubernetes.config.filters.nodeEventsChecker'],
    on: ['platform-errors-events', 'platform-errors-events-2'],
    disabled: [0, 0],
    blocks: ['executors', 'sources.platform-errors.botkube/kubernetes.context'],
  },
  {
    file: 'botkube-chart-values',
    tool: 'botkube',
    model: botkube,
    config: whole,
    kinds: ['deployments.apps', 'configmaps', 'services', 'namespaces'],
    defaults: [
      'sources.changes.botkube/kubernetes.config.filters.objectAnnotationChecker',
      'sources.changes.botkube/kubernetes.config.filters.nodeEventsChecker',
      'sources.recommendations.botkube/kubernetes.config.namespaces.include.0',
      'communications.default-group.mattermost.channels.default.bindings.sources.1',
    ],
    on: [
      ...['changes-changes', 'changes-events', 'changes-changes-2', 'changes-events-2', 'changes-changes-3'],
      ...['changes-fields', 'changes-events-3', 'errors-events', 'recommendations-changes'],
    ],
    disabled: [0, 0],
    count: 1_500,
    blocks: [
      ...[
        'image',
        'rbac',
        'actions',
        'executors',
        'settings.log',
        'sources.created',
        'sources.metrics',
        'sources.disabled',
      ],
      ...['sources.changes.botkube/kubernetes.context', 'sources.errors.botkube/kubernetes.context'],
      ...['discord', 'socketSlack.channels.quiet'].map((it) => `communications.default-group.${it}`),
    ],
  },
  {
    file: 'botkube-certificates',
    tool: 'botkube',
    model: botkube,
    config: whole,
    kinds: ['certificates.cert-manager.io', 'secrets', 'horizontalpodautoscalers.autoscaling'],
    count: 1_500,
    on: [
      ...['certificates-changes', 'certificates-fields', 'certificates-events', 'certificates-changes-2'],
      'certificates-events-2',
    ],
    disabled: [0, 0],
  },
]

const once = <T>(make: () => T) => {
  let made: T | undefined
  return () => (made ??= make())
}
const textOf = (file: string) => readFileSync(new URL(`files/${file}.yaml`, import.meta.url), 'utf8')
const documentsOf = (file: string) => parseAllDocuments(textOf(file), { merge: true }).map((it) => it.toJS())

const SECRETS = /hunter2|xoxb-0|xapp-1|abcdef0123456789|0a1b2c3d|01234567-89ab|123-456-789|0123456789abcdef/

describe.each(FIXTURES)('$file', (fixture) => {
  const { file, tool, model, on, disabled, kinds = [], blocks = [], defaults = [] } = fixture
  const converted = once(() => convert(textOf(file), file))

  test('becomes a valid configuration without its secrets, with these rules', async () => {
    const { text, losses, problems } = await converted()
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([])
    expect([losses.rules, losses.sinks]).toEqual(disabled)
    expect(inner(text).rules.map(({ name }: Json) => name)).toEqual(on)
    expect(text).not.toMatch(SECRETS)
  })

  test('sends nothing that its source would not send', async () => {
    const config = fixture.config(documentsOf(file))
    const { text } = await converted()
    const run = await dryRunOf(text)
    const matched = new Set<string>()
    for (const [i, it] of happenings(fixture.count ?? 500, ['pods', 'nodes', ...kinds, ...kinds]).entries()) {
      const scenario = createScenario({ run, cluster: 'test', salt: Buffer.from('salt') })
      const atMs = Date.parse('2026-11-21T09:00:00Z') + i * 1_000
      if (it.about && (tool === 'botkube' || METADATA_KINDS.includes(it.about.object.kind)))
        scenario.addRelated(it.about.object, atMs)
      const result = scenario.change({ ...it, atMs })
      if (!result.ok) throw new Error(JSON.stringify(result.faults))
      if (watchedBy(run.snapshot.config.watch, result.event).entry === undefined) continue
      const { sent, rules } = run.evaluate(result.event, atMs)
      for (const { rule } of rules) matched.add(rule)
      const allowed = model(config, it)
      for (const { delivery } of sent) {
        expect(allowed, `${delivery.rule}: ${JSON.stringify(it)}`).toContain(delivery.sink)
      }
    }
    expect([...matched].sort()).toEqual([...on].sort())
  })

  test('loses nothing silently: each value that is removed from the source changes what is written', () => {
    const config = fixture.config(documentsOf(file))
    const written = writtenFrom(config, tool)
    const isInBlock = (path: string) => blocks.some((it) => `${path}.`.startsWith(`${it}.`))
    const leaves = leavesOf(config).filter((path) => !isInBlock(path) && !defaults.includes(path))
    const paths = [...leaves, ...blocks]
    const silent = paths.filter((path) => writtenFrom(without(config, path), tool) === written)
    expect(silent).toEqual([])
  })
})

/** What is written, or why nothing is. */
function writtenFrom(config: Json, tool: ToolName): string {
  try {
    return toYaml(importText(JSON.stringify(config), 'it.yaml', tool))
  } catch (error) {
    return String(error)
  }
}

/** The paths of all values that are set, to something else than false. */
function leavesOf(value: Json, path: readonly string[] = []): string[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, it]) => leavesOf(it, [...path, key]))
  return value === '' || value === false || value === null ? [] : [path.join('.')]
}

/** A copy without the value at a path; keys of the fixtures contain slashes and dots. */
function without(config: Json, path: string): Json {
  const copy = structuredClone(config)
  const walk = (at: Json, rest: string): void => {
    const key = Object.keys(at).find((it) => rest === it || rest.startsWith(`${it}.`))
    if (key === undefined) throw new Error(`there is no ${path}`)
    if (rest !== key) walk(at[key], rest.slice(key.length + 1))
    else if (Array.isArray(at)) at.splice(Number(key), 1)
    else delete at[key]
  }
  walk(copy, path)
  return copy
}
