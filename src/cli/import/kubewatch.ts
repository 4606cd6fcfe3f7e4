import type { Imported, Noted, WatchEntry } from './imported.ts'
import {
  channelOf,
  environmentName,
  listOf,
  mapOf,
  namer,
  namespacesOf,
  notesOf,
  type Raw,
  secretOf,
  textOf,
  trackOptions,
} from './source-options.ts'

/** Kinds and their keys, in all spellings. */
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
  'It sent every new, changed and deleted object; "when" and "changed" of a rule select the important ones.',
]

/** Every watched kind goes to every handler that is set. */
export function importKubewatch(raw: Raw): Imported {
  const resource = mapOf(raw['resource'])
  const { namespaces, off } = namespacesOf(raw['namespace'])
  const entry = (kind: string): WatchEntry =>
    namespaces.length === 0 || CLUSTER_SCOPED.includes(kind) ? kind : { kind, namespaces }
  const kinds = KINDS.filter(([, ...keys]) => keys.some((key) => isOn(resource[key]))).map(([kind]) => kind)
  const custom = listOf(raw['customresources'])
    .map(mapOf)
    .flatMap((it) => {
      const [plural, group] = [textOf(it['resource']), textOf(it['group'])]
      return plural === '' ? [] : [group === '' ? plural : `${plural}.${group}`]
    })
  const sinks = handlersOf(mapOf(raw['handler']))
  const watch = [...kinds, ...custom].map((kind): Noted<WatchEntry> => ({ value: entry(kind) }))
  const others = Object.keys(resource).filter(
    (key) => isOn(resource[key]) && !KINDS.some(([, ...keys]) => keys.includes(key)),
  )
  const lost = Object.keys(raw)
    .filter((key) => !KNOWN.includes(key))
    .map((key) => `"${key}" is no key that is known here, and may have left something out`)
  if (watch.length === 0) {
    watch.push({ value: 'Event' })
    lost.push('no resource was true in the file, so it sent nothing: name the kinds under "watch"')
  }
  return {
    heading: [
      ...HEADING,
      ...(textOf(raw['message']) === '' ? [] : ['Not carried over: "message".']),
      ...others.map((key) => `The resource "${key}" is not known here: left out.`),
    ],
    watch,
    sinks,
    rules: [{ value: { name: 'everything', to: Object.keys(sinks) }, off: [...off, ...lost] }],
  }
}

/** All but `message`, a prefix of the text, select what is sent. */
const KNOWN = ['handler', 'resource', 'customresources', 'namespace', 'message']

function isOn(value: unknown): boolean {
  return value === true || value === 'true'
}

function handlersOf(handler: Raw): Record<string, Noted<Record<string, unknown>>> {
  const sinks: Record<string, Noted<Record<string, unknown>>> = {}
  const sinkName = namer()
  for (const [name, value] of Object.entries(handler)) {
    if (!Object.values(mapOf(value)).some((it) => textOf(it) !== '' && it !== false)) continue
    const { options, unread } = trackOptions(mapOf(value))
    const notes: string[] = []
    const make = Object.hasOwn(HANDLERS, name) ? HANDLERS[name] : undefined
    if (!make) notes.push(`${name.replace(/[^\w-]/g, '')} has no counterpart here: stdout replaces it`)
    const made = make ? make(options, notes) : { type: 'stdout' }
    sinks[sinkName(/^[a-z][a-z0-9-]*$/.test(name) ? name : 'handler')] = {
      value: made,
      notes: [...notes, ...notesOf(make ? unread() : [])],
    }
  }
  if (Object.keys(sinks).length === 0)
    return { screen: { value: { type: 'stdout' }, notes: ['no handler was set in the file'] } }
  return sinks
}

type Maker = (options: Raw, notes: string[]) => Record<string, unknown>

const webhook =
  (variable: string, key: string, more: Record<string, unknown> = {}): Maker =>
  (options, notes) => {
    const authority = textOf(options['cert'])
    return {
      type: 'webhook',
      ...more,
      url: secretOf(options[key], environmentName(variable, 'url'), notes),
      ...(authority !== '' && { tls: { ca: `\${file:${authority}}` } }),
    }
  }

const mattermost: Maker = (options, notes) => {
  const [channel, username] = [textOf(options['room']), textOf(options['username'])]
  return {
    ...webhook('mattermost', 'url', { preset: 'mattermost' })(options, notes),
    ...(channel !== '' && { channel }),
    ...(username !== '' && { username }),
  }
}

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
  mattermost,
  msteams: webhook('msteams', 'webhookurl', { preset: 'teams' }),
  webhook: webhook('webhook', 'url'),
  cloudevent: webhook('cloudevent', 'url'),
}
