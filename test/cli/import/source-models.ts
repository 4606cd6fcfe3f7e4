import { RE2JS } from 're2js'

/** A change as a watch reports it, with what a tool looks up about the object of an Event. */
export interface Happening {
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** Plural and group, as in `deployments.apps`. */
  resource: string
  object: Json
  old?: Json
  /** The object that an Event is about. */
  about?: { resource: string; object: Json }
}

/** Configurations and objects of any form. */
export type Json = any

/** Returns where a tool sends a change, by the names that sinks have. From the sources of the tools, not from their importers. */
export type SourceModel = (config: Json, it: Happening) => Set<string>

/** Go's regexp.MatchString; undefined for an invalid expression. */
function matches(expression: string, text: string): boolean | undefined {
  try {
    return RE2JS.compile(expression).matcher(text).find()
  } catch {
    return undefined
  }
}

/** pkg/exporter/route.go and rule.go, pkg/kube/watcher.go: only OnAdd does something. */
export const eventExporter: SourceModel = (config, { type, resource, object, about }) => {
  const sent = new Set<string>()
  if (type !== 'ADDED' || resource !== 'events') return sent
  if (config.namespace && config.namespace !== object.metadata.namespace) return sent
  const metadata = config.omitLookup ? {} : (about?.object.metadata ?? {})
  const isMatch = (rule: Json) => {
    const texts = [
      ...[
        [rule.message, object.message],
        [rule.apiVersion, object.involvedObject.apiVersion],
      ],
      ...[
        [rule.kind, object.involvedObject.kind],
        [rule.namespace, object.metadata.namespace],
      ],
      ...[
        [rule.reason, object.reason],
        [rule.type, object.type],
      ],
      ...[
        [rule.component, object.source?.component ?? ''],
        [rule.host, object.source?.host ?? ''],
      ],
    ]
    if (!texts.every(([rule, value]) => !rule || matches(rule, value) === true)) return false
    for (const key of ['labels', 'annotations'])
      for (const [name, wanted] of Object.entries<string>(rule[key] ?? {})) {
        const value = metadata[key]?.[name]
        if (value === undefined || matches(wanted, value) !== true) return false
      }
    return (object.count ?? 0) >= (rule.minCount ?? 0)
  }
  const walk = (route: Json) => {
    if ((route.drop ?? []).some(isMatch)) return
    const all = (route.match ?? []).map((rule: Json) => {
      const is = isMatch(rule)
      if (is && rule.receiver) sent.add(rule.receiver)
      return is
    })
    if (all.every(Boolean)) for (const sub of route.routes ?? []) walk(sub)
  }
  walk(config.route)
  return sent
}

const KUBEWATCH: Readonly<Record<string, string>> = {
  ...{ 'deployments.apps': 'deployment', pods: 'pod', nodes: 'node', services: 'services', events: 'event' },
  ...{
    'daemonsets.apps': 'daemonset',
    'replicasets.apps': 'replicaset',
    'jobs.batch': 'job',
    secrets: 'secret',
  },
  ...{ configmaps: 'configmap', persistentvolumes: 'persistentvolume', namespaces: 'namespace' },
  ...{ 'horizontalpodautoscalers.autoscaling': 'hpa' },
}

/** pkg/controller/controller.go and pkg/client/run.go: all changes go to the first handler that is set. */
export const kubewatch: SourceModel = (config, { resource, object }) => {
  const isChart = config.resourcesToWatch !== undefined
  const resources = config.resource ?? config.resourcesToWatch
  const namespace = config.namespace ?? config.namespaceToWatch
  const custom = (config.customresources ?? []).some((it: Json) => `${it.resource}.${it.group}` === resource)
  const isWatched = resources[KUBEWATCH[resource] ?? ''] === true
  const isInside =
    !namespace || object.metadata.namespace === undefined || object.metadata.namespace === namespace
  if (!custom && !(isWatched && isInside)) return new Set()
  const handlers = isChart ? config : config.handler
  const fields: Readonly<Record<string, readonly string[]>> = {
    ...{ slack: ['channel', 'token'], slackwebhook: ['channel', 'username', 'slackwebhookurl'] },
    ...{ webhook: ['url'], msteams: ['webhookurl'] },
  }
  const isSet = (name: string) =>
    (!isChart || handlers[name]?.enabled) && fields[name]?.some((key) => handlers[name]?.[key])
  return new Set(Object.keys(fields).filter(isSet).slice(0, 1))
}

/** internal/source/kubernetes: router.go, registration.go, filterengine, recommendation. */
export const botkube: SourceModel = (config, it) => {
  const sources = Object.keys(config.sources).filter((name) => sends(config.sources[name], it))
  const sent = new Set<string>()
  for (const group of Object.values<Json>(config.communications))
    for (const [platform, settings] of Object.entries<Json>(group)) {
      if (!settings.enabled) continue
      const channels = Object.entries<Json>(settings.channels ?? settings.indices ?? { default: settings })
      for (const [alias, channel] of channels) {
        if (channel.notification?.disabled) continue
        const isBound = channel.bindings.sources.some((source: string) => sources.includes(source))
        if (isBound) sent.add(alias === 'default' ? platform.toLowerCase() : alias)
      }
    }
  return sent
}

function sends(source: Json, { type, resource, object, old, about }: Happening): boolean {
  const plugin = source['botkube/kubernetes']
  if (!plugin?.enabled) return false
  const { config } = plugin
  const isEvent = resource === 'events'
  // Only Warnings are mapped, to "error", and only new ones.
  if (isEvent && (type !== 'ADDED' || object.type !== 'Warning')) return false
  const wanted = isEvent ? 'error' : { ADDED: 'create', MODIFIED: 'update', DELETED: 'delete' }[type]
  const subject = isEvent ? about?.resource : resource
  const annotations = { ...object.metadata.annotations, ...(isEvent && about?.object.metadata.annotations) }
  const namespace = isEvent ? (object.involvedObject.namespace ?? '') : (object.metadata.namespace ?? '')
  const name = isEvent ? object.involvedObject.name : object.metadata.name
  const { objectAnnotationChecker = true, nodeEventsChecker = true } = config.filters ?? {}
  if (objectAnnotationChecker && annotations['botkube.io/disable'] === 'true') return false
  if (nodeEventsChecker && resource === 'nodes') return false
  return config.resources.some((it: Json) => {
    const [plural, , group] = it.type.split('/').reverse()
    if ([plural, ...(group ? [group] : [])].join('.') !== subject) return false
    const types: string[] = it.event?.types?.length ? it.event.types : (config.event?.types ?? [])
    if (!types.includes(wanted) && !types.includes('all')) return false
    const part = { pods: 'pod', 'ingresses.networking.k8s.io': 'ingress' }[subject ?? '']
    if (wanted === 'create' && part && Object.values(config.recommendations?.[part] ?? {}).includes(true))
      return false
    const event = isDefined(it.event?.reason) || isDefined(it.event?.message) ? it.event : config.event
    const kept = (own: Json, value: string) => !isDefined(own) || allows(own, value)
    if (!kept(event?.reason, isEvent ? object.reason : '')) return false
    if (!kept(event?.message, isEvent ? object.message : '')) return false
    if (!kept(it.name, name)) return false
    if (!kept(isDefined(it.namespaces) ? it.namespaces : config.namespaces, namespace)) return false
    if (!holds(Object.keys(it.annotations ?? {}).length ? it.annotations : config.annotations, annotations))
      return false
    if (!holds(Object.keys(it.labels ?? {}).length ? it.labels : config.labels, object.metadata.labels))
      return false
    const fields: string[] = it.updateSetting?.fields ?? []
    return (
      wanted !== 'update' ||
      fields.length === 0 ||
      fields.some((path) => found(object, path) !== found(old, path))
    )
  })
}

function isDefined(constraints: Json): boolean {
  return (constraints?.include?.length ?? 0) > 0 || (constraints?.exclude?.length ?? 0) > 0
}

function allows({ include = [], exclude = [] }: Json, value: string): boolean {
  if (exclude.some((it: string) => it.trim() !== '' && (it === value || matches(it, value) !== false)))
    return false
  return include.some((it: string) => it === value || matches(it, value) === true)
}

function holds(wanted: Json, given: Json): boolean {
  return Object.entries(wanted ?? {}).every(([key, value]) => given?.[key] === value)
}

/** kubectl's relaxed JSONPath, for the paths of the fixtures. */
function found(object: Json, path: string): string {
  const steps = path.replaceAll('[*]', '.*').split('.')
  const walk = (at: Json, [step, ...rest]: string[]): Json[] => {
    if (at === undefined || at === null) return []
    if (step === undefined) return [at]
    return step === '*' ? Object.values(at).flatMap((it) => walk(it, rest)) : walk(at[step], rest)
  }
  return JSON.stringify(walk(object, steps))
}
