import { channelOf } from './channel.ts'
import type { Imported, Noted, WatchEntry } from './imported.ts'
import { environmentName, secretOf } from './names.ts'
import { listOf, mapOf, type Raw, textOf } from './read.ts'

/** Its keys, in both spellings that are found in files, and kinds. */
const KINDS: readonly (readonly [kind: string, ...keys: string[]])[] = [
  ['Deployment', 'deployment'],
  ['ReplicationController', 'rc', 'replicationcontroller'],
  ['ReplicaSet', 'rs', 'replicaset'],
  ['DaemonSet', 'ds', 'daemonset'],
  ['StatefulSet', 'statefulset'],
  ['Service', 'svc', 'services', 'service'],
  ['Pod', 'po', 'pod'],
  ['Job', 'job'],
  ['Node', 'node'],
  ['ClusterRole', 'clusterrole'],
  ['ClusterRoleBinding', 'clusterrolebinding'],
  ['ServiceAccount', 'sa', 'serviceaccount'],
  ['PersistentVolume', 'pv', 'persistentvolume'],
  ['Namespace', 'ns', 'namespace'],
  ['Secret', 'secret'],
  ['ConfigMap', 'configmap'],
  ['Ingress', 'ing', 'ingress'],
  ['HorizontalPodAutoscaler', 'hpa'],
  ['Event', 'event', 'coreevent'],
]

const CLUSTER_SCOPED = ['Node', 'ClusterRole', 'ClusterRoleBinding', 'PersistentVolume', 'Namespace']

const HEADING = [
  'Made of a configuration of kubewatch.',
  'It sent every new, changed and deleted object; a rule with "when" and "changed" says less and means more.',
]

/** Every watched kind goes to every handler that is set. */
export function importKubewatch(raw: Raw): Imported {
  const resource = mapOf(raw['resource'])
  const namespace = textOf(raw['namespace'])
  const entry = (kind: string): WatchEntry =>
    namespace === '' || CLUSTER_SCOPED.includes(kind) ? kind : { kind, namespaces: [namespace] }
  const kinds = KINDS.filter(([, ...keys]) => keys.some((key) => isOn(resource[key]))).map(([kind]) => kind)
  const custom = listOf(raw['customresources'])
    .map(mapOf)
    .flatMap((it) => {
      const [plural, group] = [textOf(it['resource']), textOf(it['group'])]
      return plural === '' ? [] : [group === '' ? plural : `${plural}.${group}`]
    })
  const sinks = handlersOf(mapOf(raw['handler']))
  const watch = [...kinds, ...custom].map((kind): Noted<WatchEntry> => ({ value: entry(kind) }))
  if (watch.length === 0)
    watch.push({ value: 'Event', notes: ['no resource was true in the file: name the kinds that you want'] })
  return {
    heading: HEADING,
    watch,
    sinks,
    rules: [{ value: { name: 'everything', to: Object.keys(sinks) } }],
  }
}

function isOn(value: unknown): boolean {
  return value === true || value === 'true'
}

function handlersOf(handler: Raw): Record<string, Noted<Record<string, unknown>>> {
  const sinks: Record<string, Noted<Record<string, unknown>>> = {}
  for (const [name, value] of Object.entries(handler)) {
    const options = mapOf(value)
    if (!Object.values(options).some((it) => textOf(it) !== '' && it !== false)) continue
    const notes: string[] = []
    const make = Object.hasOwn(HANDLERS, name) ? HANDLERS[name] : undefined
    if (!make) notes.push(`${name.replace(/[^\w-]/g, '')} has no counterpart here: this prints instead`)
    sinks[/^[a-z][a-z0-9-]*$/.test(name) ? name : 'handler'] = {
      value: make ? make(options, notes) : { type: 'stdout' },
      notes,
    }
  }
  if (Object.keys(sinks).length === 0)
    return { screen: { value: { type: 'stdout' }, notes: ['no handler was set in the file'] } }
  return sinks
}

type Maker = (options: Raw, notes: string[]) => Record<string, unknown>

const webhook =
  (variable: string, key: string, more: Record<string, unknown> = {}): Maker =>
  (options, notes) => ({
    type: 'webhook',
    ...more,
    url: secretOf(options[key], environmentName(variable, 'url'), notes),
  })

const HANDLERS: Readonly<Record<string, Maker>> = {
  slack: (options, notes) => ({
    type: 'slack',
    token: secretOf(options['token'], 'SLACK_TOKEN', notes),
    channel: channelOf(options['channel'], notes),
  }),
  slackwebhook: (options, notes) => ({
    type: 'slack',
    url: secretOf(options['slackwebhookurl'], 'SLACK_WEBHOOK_URL', notes),
  }),
  mattermost: webhook('mattermost', 'url', { preset: 'mattermost' }),
  msteams: webhook('msteams', 'webhookurl', { preset: 'teams' }),
  webhook: webhook('webhook', 'url'),
  cloudevent: webhook('cloudevent', 'url'),
}
