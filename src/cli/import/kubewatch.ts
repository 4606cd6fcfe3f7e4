import { entryOf, type Imported, type ImportedSink, type WatchEntry } from './imported.ts'
import { channelOf, type SinkMaker, type SinkNotes, secretOf, tlsOf, urlOf } from './sink-options.ts'
import { isNamespace, isOn, listOf, mapOf, pathsOf, type Raw, skip, takeUnread, textOf } from './tracked.ts'

const KINDS: Readonly<Record<string, string>> = {
  deployment: 'Deployment',
  replicationcontroller: 'ReplicationController',
  replicaset: 'ReplicaSet',
  daemonset: 'DaemonSet',
  statefulset: 'StatefulSet',
  services: 'Service',
  pod: 'Pod',
  job: 'Job',
  node: 'Node',
  clusterrole: 'ClusterRole',
  clusterrolebinding: 'ClusterRoleBinding',
  serviceaccount: 'ServiceAccount',
  persistentvolume: 'PersistentVolume',
  namespace: 'Namespace',
  secret: 'Secret',
  configmap: 'ConfigMap',
  ingress: 'Ingress',
  hpa: 'HorizontalPodAutoscaler',
  event: 'Event',
  coreevent: 'Event',
}

const CLUSTER_SCOPED = ['Node', 'ClusterRole', 'ClusterRoleBinding', 'PersistentVolume', 'Namespace']

const HEADING = [
  'Made of a configuration of kubewatch.',
  'It sent every new, changed and deleted object; "when" and "changed" of a rule select the important ones.',
]

/** All but these may select what is sent. */
const KEYS = ['handler', 'resource', 'customresources', 'namespace']

/** Keys of the Helm chart that concern its Deployment. */
const OF_CHART =
  /^(global|common\w+|\w+Override|kubeVersion|image|replicaCount|extra\w+|\w*[sS]ecurityContext|resources|\w*Probe|\w*[aA]ffinity\w*|nodeSelector|tolerations|priorityClassName|schedulerName|topologySpreadConstraints|pod\w+|updateStrategy|initContainers|sidecars|rbac|serviceAccount\w*|diagnosticMode|hostAliases|command|args|lifecycleHooks|enabled)$/

/** Every watched kind goes to the one handler that is used. `text` is the whole file. */
export function importKubewatch(given: Raw, text: string): Imported {
  const isChart = !('resource' in given) && !('handler' in given)
  const raw = isChart ? fromChart(given) : given
  const resource = mapOf(raw['resource'])
  const lacksDefaults = isChart && !ON_IN_CHART.every((key) => Object.hasOwn(resource, key))
  const namespace = textOf(raw['namespace'])
  const lost: string[] = []
  const unknown = Object.keys(raw).filter((key) => !KEYS.includes(key) && !(isChart && OF_CHART.test(key)))
  const off = unknown.map(
    (key) => `"${key}" is not a key that is known here, and may have left something out`,
  )
  skip(unknown.map((key) => raw[key]))
  const isEverywhere = namespace === '' || !isNamespace(raw['namespace'])
  if (!isNamespace(raw['namespace'])) off.push('namespace is not a name of a namespace')
  const named = Object.entries(resource).filter(([key, value]) => {
    if (typeof value === 'object' && value !== null) off.push(`resource.${key} is neither true nor false`)
    const isKnown = Object.hasOwn(KINDS, key)
    if (isOn(value) && !isKnown) lost.push(`the resource "${key}", which kubewatch does not know either`)
    return isOn(value) && isKnown
  })
  const custom = listOf(raw['customresources'])
    .map(mapOf)
    .flatMap((it) => customKind(it, lost))
  const kinds = [...new Set([...named.map(([key]) => KINDS[key] as string), ...custom])]
  const watch = kinds.map(
    (kind): WatchEntry =>
      isEverywhere || CLUSTER_SCOPED.includes(kind) || custom.includes(kind)
        ? kind
        : { kind, namespaces: [namespace] },
  )
  const { sinks, others } = handlersOf(mapOf(raw['handler']), text)
  if (kinds.length === 0) off.push('no resource was true, so it sent nothing')
  if (sinks.length === 0) off.push('no handler was set, so it sent nothing')
  const value = { name: 'everything', when: { kind: kinds }, to: sinks.map(({ name }) => name) }
  return {
    heading: [...HEADING, ...(lacksDefaults ? [CHART] : []), ...others],
    lost,
    watch: watch.length === 0 ? ['Event'] : watch,
    sinks,
    rules: [entryOf(value, { off })],
  }
}

/** Resources that the chart watches by default. */
const ON_IN_CHART = ['deployment', 'pod', 'event']

const CHART =
  'Helm values lack the defaults of the chart (deployment, pod and event were watched): "helm get values --all -o yaml" prints both.'

/** The configuration that the chart makes of its values. */
function fromChart(values: Raw): Raw {
  const handlers = Object.keys(HANDLERS).filter((key) => {
    const { enabled } = mapOf(values[key])
    return isOn(enabled ?? ON_BY_DEFAULT.includes(key))
  })
  const rest = Object.keys(values).filter((key) => !Object.hasOwn(HANDLERS, key) && !FROM_CHART.includes(key))
  return {
    ...Object.fromEntries(rest.filter((key) => !OF_CHART.test(key)).map((key) => [key, values[key]])),
    handler: {
      ...Object.fromEntries(handlers.map((key) => [key, values[key]])),
      ...mapOf(values['extraHandlers']),
    },
    resource: values['resourcesToWatch'],
    customresources: values['customresources'],
    namespace: values['namespaceToWatch'],
  }
}

/** Handlers that the chart enables. */
const ON_BY_DEFAULT = ['slack']
const FROM_CHART = ['extraHandlers', 'resourcesToWatch', 'customresources', 'namespaceToWatch']

function customKind(resource: Raw, lost: string[]): string[] {
  const [plural, group] = [textOf(resource['resource']), textOf(resource['group'])]
  const kind = group === '' ? plural : `${plural}.${group}`
  if (/^[a-z0-9][a-z0-9.-]*$/.test(kind)) return [kind]
  lost.push(`the custom resource "${kind}", which is no name of a resource`)
  return []
}

/** kubewatch uses one handler: the first that is set, in the order of `HANDLERS`. */
function handlersOf(handler: Raw, text: string): { sinks: ImportedSink[]; others: string[] } {
  const isSet = ([name, { keys }]: [string, Handler]) =>
    keys.some((key) => textOf(mapOf(handler[name])[key]) !== '')
  const [first, ...more] = Object.entries(HANDLERS).filter(isSet)
  const others = more.map(([name]) => `Only one handler was used there: "${name}" is left out.`)
  skip(more.map(([name]) => handler[name]))
  if (!first) return { sinks: [], others }
  const [name, { make }] = first
  const sink: ImportedSink = { name, ...entryOf<Record<string, unknown>>({ type: name }) }
  const options = mapOf(handler[name])
  if (make) {
    sink.value = make(options, sink)
    sink.lost.push(...takeUnread(options).map((key) => (key === 'tlsskip' ? `${key}: ${CHECKED}` : key)))
  } else {
    sink.off.push(
      `kubeherald has no sink for the handler "${name}", which had ${pathsOf(options).join(', ')}`,
    )
  }
  if (name === 'cloudevent' && text.includes('ADVANCED_FILTERS'))
    sink.off.push(
      'ADVANCED_FILTERS left out events of Pods, Jobs and Events: write rules for those that matter',
    )
  return { sinks: [sink], others }
}

const CHECKED = 'certificates are always checked; tls.ca takes the authority'

interface Handler {
  /** Options of which one makes kubewatch choose the handler. */
  keys: readonly string[]
  make?: SinkMaker
}

const webhookTo =
  (key: string, more: (options: Parameters<SinkMaker>[0]) => Record<string, unknown>): SinkMaker =>
  (options, notes) => ({ type: 'webhook', ...more(options), url: secretOf(options[key], 'url', notes) })

/** One entry for each handler, in the order in which kubewatch chooses one. */
const HANDLERS: Readonly<Record<string, Handler>> = {
  slack: {
    keys: ['channel', 'token'],
    make(options, notes) {
      const title = textOf(options['title'])
      return {
        type: 'slack',
        token: secretOf(options['token'], 'token', notes),
        channel: channelOf(options['channel'], notes),
        ...(title !== '' && { messages: { title: `${title.replaceAll('{', '(')}: {{ message.title }}` } }),
      }
    },
  },
  slackwebhook: {
    keys: ['channel', 'username', 'slackwebhookurl'],
    make: (options, notes) => ({ type: 'slack', url: secretOf(options['slackwebhookurl'], 'url', notes) }),
  },
  hipchat: { keys: ['room', 'token'] },
  webex: { keys: ['room', 'token'] },
  mattermost: {
    keys: ['channel', 'url'],
    make: webhookTo('url', (options) => ({
      preset: 'mattermost',
      ...(textOf(options['channel']) !== '' && { channel: textOf(options['channel']) }),
      ...(textOf(options['username']) !== '' && { username: textOf(options['username']) }),
    })),
  },
  flock: { keys: ['url'] },
  webhook: {
    keys: ['url'],
    make(options, notes) {
      const tls = tlsOf(options, { ca: 'cert' })
      const url = urlOf(options['url'], notes)
      notes.notes.push(OTHER_TEXT)
      if (tls && /^http:/.test(url)) notes.lost.push('cert: the URL is not https')
      return { type: 'webhook', url, ...(tls && !/^http:/.test(url) && { tls }), body: BODY }
    },
  },
  cloudevent: {
    keys: ['url'],
    make(options, notes) {
      notes.notes.push(OTHER_CLOUD_EVENTS)
      return { type: 'webhook', url: urlOf(options['url'], notes) }
    },
  },
  msteams: { keys: ['webhookurl'], make: webhookTo('webhookurl', () => ({ preset: 'teams' })) },
  smtp: { keys: ['smarthost', 'to'], make: email },
  lark: {
    keys: ['webhookurl'],
    make: (options, notes) => ({ type: 'lark', url: secretOf(options['webhookurl'], 'url', notes) }),
  },
  discord: { keys: ['webhookurl'], make: webhookTo('webhookurl', () => ({ preset: 'discord' })) },
}

/** A mail server: with TLS from the start on port 465, else STARTTLS, which kubewatch used where the server had it. */
function email(options: Raw, notes: SinkNotes): Record<string, unknown> {
  const [, host = '', port = ''] = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(textOf(options['smarthost'])) ?? []
  const auth = mapOf(options['auth'])
  const user = textOf(auth['username'])
  const subject = textOf(options['subject'])
  const isImplicit = port === '465'
  if (!isImplicit && !isOn(options['requireTLS']))
    notes.notes.push('a server without STARTTLS needs tls: none')
  return {
    type: 'email',
    host,
    ...(port !== '' && { port: Number(port) }),
    ...(isImplicit && { tls: 'implicit' }),
    ...(user !== '' && { auth: { user, password: secretOf(auth['password'], 'password', notes) } }),
    from: textOf(options['from']),
    to: textOf(options['to'])
      .split(',')
      .map((address) => address.trim()),
    ...(subject !== '' && { subject: subject.replaceAll('{', '(') }),
  }
}

const OTHER_TEXT =
  '"text" differs from the one of kubewatch, and "kind" of a custom resource is its kind, not its plural name'
const OTHER_CLOUD_EVENTS =
  "it gets kubeherald's CloudEvents: another type than KUBERNETES_TOPOLOGY_CHANGE, and data.object in place of data.obj and data.oldObj"

/** The form of the JSON that kubewatch posts. */
const BODY = {
  eventmeta: {
    kind: '{{ kind }}',
    name: '{{ name }}',
    namespace: '{{ namespace }}',
    reason:
      '{% case type %}{% when "ADDED" %}Created{% when "MODIFIED" %}Updated{% else %}Deleted{% endcase %}',
  },
  text: '{{ message.title }}',
  time: '{{ time }}',
}
