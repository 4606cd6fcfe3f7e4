import { parsePath } from '../../rules/path.ts'
import { UsageError } from '../usage-error.ts'
import { type Channels, channelsOf } from './botkube-channels.ts'
import { finds, isExpression, patternsOf } from './conditions.ts'
import { clusterOf, type Entry, entryOf, type Imported, type ImportedRule } from './imported.ts'
import { namer } from './sink-options.ts'
import { isOn, listOf, mapOf, type Raw, skip, takeUnread, textOf, textsOf } from './tracked.ts'

const HEADING = [
  'Made of a configuration of Botkube: sources became rules, channels became sinks.',
  'Names and expressions matched anywhere in a text there, so they are between slashes here: /web/ matches web-2, too; web matches only itself.',
  'Executors, actions, aliases and recommendations have no counterpart: kubeherald runs no commands.',
]

/** Its keys may have a version: `botkube/kubernetes@v1.5.0`. */
const PLUGIN = /^botkube\/kubernetes(@|$)/

/** Converts sources with their bindings to rules; a source has the defaults of its resources. */
export function importBotkube(raw: Raw): Imported {
  refuseOldFormat(raw)
  const channels = channelsOf(mapOf(raw['communications']))
  const name = namer()
  const made: Made[] = []
  const [heading, lost] = [[...HEADING, ...channels.heading], [] as string[]]
  for (const [source, value] of Object.entries(mapOf(raw['sources'])))
    made.push(...sourceRules(source, mapOf(value), channels, heading, lost))
  const groups = [...Map.groupBy(made, ({ kind: _, watch: __, ...rest }) => JSON.stringify(rest)).values()]
  return {
    heading,
    lost,
    cluster: clusterOf(textOf(mapOf(raw['settings'])['clusterName'])),
    watch: made.length === 0 ? ['Event'] : [...new Set(made.map(({ watch }) => watch))],
    sinks: channels.sinks,
    rules: groups.map((group) => ruleOf(group, name)),
  }
}

/** Botkube 0.12 and older had neither groups of channels nor named sources. */
function refuseOldFormat(raw: Raw): void {
  const groups = Object.values(mapOf(raw['communications'])).map(mapOf)
  if (groups.some((it) => 'enabled' in it))
    throw new UsageError(
      'the configuration is of Botkube 0.12 or older; import reads those with "sources" and groups of channels: upgrade it by the guide of Botkube',
    )
}

/** A rule for one kind of object. */
interface Made {
  source: string
  what: 'changes' | 'fields' | 'events'
  kind: string
  /** What must be watched for it. */
  watch: string
  /** Without the kind. */
  when: Record<string, unknown>
  changed?: string[]
  notes: string[]
  /** Why the rule would match more than the source did. */
  off: string[]
  to: string[]
}

function ruleOf(group: readonly Made[], name: (wanted: string) => string): Entry<ImportedRule> {
  const [{ source, what, when, changed, notes, off, to }] = group as [Made]
  const kinds = [...new Set(group.map(({ kind }) => kind))]
  const kind = kinds.length === 1 ? kinds[0] : kinds
  const { regarding, ...rest } = when as { regarding?: Record<string, unknown> }
  const value: ImportedRule = {
    name: name(`${source}-${what}`),
    when:
      what === 'events' ? { kind: 'Event', ...rest, regarding: { kind, ...regarding } } : { kind, ...rest },
    ...(changed && { changed }),
    to: [...to],
  }
  return entryOf(value, { notes: [...new Set(notes)], off: [...new Set(off)] })
}

function sourceRules(
  name: string,
  source: Raw,
  channels: Channels,
  heading: string[],
  lost: string[],
): Made[] {
  const { displayName, ...plugins } = source
  if (textOf(displayName) !== '') heading.push(`Source ${name}: ${textOf(displayName)}.`)
  const keys = Object.keys(plugins)
  for (const key of keys.filter((it) => !PLUGIN.test(it))) {
    skip(source[key])
    lost.push(`the source "${name}" uses ${key}`)
  }
  return keys
    .filter((it) => PLUGIN.test(it))
    .flatMap((key) => pluginRules(name, mapOf(source[key]), channels, heading, lost))
}

function pluginRules(
  name: string,
  plugin: Raw,
  { bound }: Channels,
  heading: string[],
  lost: string[],
): Made[] {
  const to = bound.get(name) ?? []
  const why = isOn(plugin['enabled']) ? (to.length === 0 ? 'is bound to no channel' : '') : 'is not enabled'
  if (why !== '') {
    heading.push(`The source "${name}" ${why}: left out.`)
    skip(plugin)
    return []
  }
  const config = mapOf(plugin['config'])
  const made = listOf(config['resources']).flatMap((it) => rulesOf(mapOf(it), config, name, lost))
  lost.push(...takeUnread(plugin).map((key) => `${key} of the source "${name}"`))
  return made.map((it) => ({ ...it, source: name, to }))
}

const CHANGES: Readonly<Record<string, string>> = { create: 'ADDED', update: 'MODIFIED', delete: 'DELETED' }

const SOURCE_KEYS =
  'namespaces annotations labels event resources filters log recommendations commands informerResyncPeriod extraButtons'
const RESOURCE_KEYS = 'type namespaces annotations labels name event updateSetting'
const EVENT_KEYS = 'types reason message'

/** Kinds of which `recommendations` let only those through that were created with something to recommend. */
const RECOMMENDED: Readonly<Record<string, string>> = {
  'v1/pods': 'pod',
  'networking.k8s.io/v1/ingresses': 'ingress',
}

/** Returns the rules for a resource of a source: for its changes, and one for the Warnings about it. Botkube sent only new Events. */
function rulesOf(resource: Raw, source: Raw, name: string, lost: string[]): Omit<Made, 'source' | 'to'>[] {
  const type = textOf(resource['type'])
  const kind = kindOf(type)
  const own = mapOf(resource['event'])
  const event = mapOf(source['event'])
  const off = [
    ...unknownKeys(source, SOURCE_KEYS),
    ...unknownKeys(resource, RESOURCE_KEYS),
    ...unknownKeys(event, EVENT_KEYS),
    ...unknownKeys(own, EVENT_KEYS),
    ...(kind === undefined ? [`"${type}" is not a type of resource`] : []),
  ]
  const constraints = (key: string, value: unknown) => constraintsOf(key, value, off)
  const firstOf = (key: string, a: unknown, b: unknown) => constraints(key, isDefined(a) ? a : b)
  // What a resource asks of reason or message replaces both of the source.
  const asked = isDefined(own['reason']) || isDefined(own['message']) ? own : event
  const [reason, message] = [constraints('reason', asked['reason']), constraints('message', asked['message'])]
  const namespace = firstOf('namespaces', resource['namespaces'], source['namespaces'])
  const objectName = constraints('name', resource['name'])
  const values = (key: string) => valuesOf(key, isEmpty(resource[key]) ? source[key] : resource[key], off)
  const [labels, annotations] = [values('labels'), values('annotations')]
  const filters = mapOf(source['filters'])
  const isFiltered = (filter: string) => filters[filter] === undefined || isOn(filters[filter])
  const disabled = isFiltered('objectAnnotationChecker') && { 'botkube.io/disable': '!true' }
  const allAnnotations = (annotations || disabled) && { annotations: { ...annotations, ...disabled } }
  const types = typesOf(own['types'], event['types'])
  const made: Omit<Made, 'source' | 'to'>[] = []
  const add = (it: Partial<Made> & Pick<Made, 'what' | 'when'>) =>
    made.push({ kind: kind ?? type, watch: kind ?? 'Event', notes: [], off: [...off], ...it })
  for (const it of types.filter((it) => !(it in CHANGES) && it !== 'error'))
    lost.push(`the type "${it}" of ${type} in the source "${name}", for which Botkube sent nothing either`)
  addChanges()
  if (types.includes('error')) addEvents()
  return made

  function addChanges(): void {
    const isNode = type === 'v1/nodes' && isFiltered('nodeEventsChecker')
    const part = Object.hasOwn(RECOMMENDED, type) ? RECOMMENDED[type] : undefined
    // They select among creations only; elsewhere they stay unread, so that they are reported.
    const recommends =
      types.includes('create') &&
      Object.values(mapOf(mapOf(source['recommendations'])[part ?? ''])).some(isOn)
    if (recommends)
      lost.push(`"create" of ${type} in the source "${name}", as only objects with recommendations were sent`)
    const changes = types.filter((it) => it in CHANGES && !(recommends && it === 'create'))
    // A change has neither a reason nor a message.
    const isKept = [asked['reason'], asked['message']].every(allowsEmpty)
    if (changes.length > 0 && (isNode || !isKept))
      lost.push(
        `${changes.join(', ')} of ${type} in the source "${name}": ${isNode ? 'nodeEventsChecker' : 'reason or message'} let none through`,
      )
    if (isNode || !isKept) return
    const fields = fieldsOf(mapOf(resource['updateSetting']), off)
    const when = {
      ...(namespace && { namespace }),
      ...(objectName && { name: objectName }),
      ...(labels && { labels }),
      ...allAnnotations,
    }
    const plain = fields.length > 0 ? changes.filter((it) => it !== 'update') : changes
    const plainTypes = plain.map((it) => CHANGES[it])
    if (plain.length > 0)
      add({ what: 'changes', when: { type: plain.length === 1 ? plainTypes[0] : plainTypes, ...when } })
    if (plain.length < changes.length)
      add({ what: 'fields', when: { type: 'MODIFIED', ...when }, changed: fields })
  }

  function addEvents(): void {
    const when = {
      type: ['ADDED', 'Warning'],
      ...(reason && { reason }),
      ...(message && { message }),
      ...(labels && { labels }),
      regarding: {
        ...(objectName && { name: objectName }),
        ...(namespace && { namespace }),
        ...allAnnotations,
      },
    }
    const notes = labels
      ? ['these labels are those of the Event, as in Botkube; "regarding" has those of its object']
      : []
    add({ what: 'events', watch: 'Event', when, notes })
  }
}

function typesOf(own: unknown, ofSource: unknown): string[] {
  const [a, b] = [textsOf(own), textsOf(ofSource)]
  const types = (a.length > 0 ? a : b).map((it) => it.toLowerCase())
  return [...new Set(types.flatMap((it) => (it === 'all' ? [...Object.keys(CHANGES), 'error'] : [it])))]
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (mapOf(value) === value && Object.keys(value).length === 0)
}

function unknownKeys(map: Raw, known: string): string[] {
  return Object.keys(map)
    .filter((key) => !known.split(' ').includes(key))
    .map((key) => `"${key}" is not a condition that is known here`)
}

/** `apps/v1/deployments` → `deployments.apps`, `v1/pods` → `pods` */
function kindOf(type: string): string | undefined {
  const [, group, plural] = /^(?:([a-z0-9.-]+)\/)?v\w+\/([a-z0-9]+)$/.exec(type) ?? []
  return group === undefined ? plural : `${plural}.${group}`
}

/** `spec.containers[*].image` → `spec.containers.*.image` */
function fieldsOf(setting: Raw, off: string[]): string[] {
  const fields = listOf(setting['fields']).map((it) => textOf(it).replaceAll('[*]', '.*').replace(/^\./, ''))
  if (!fields.every((it) => it !== '' && parsePath(it).ok))
    off.push('updateSetting.fields are no list of paths')
  return fields
}

/** Whether constraints of Botkube have any expression; without one they are not asked. */
function isDefined(value: unknown): boolean {
  const { include, exclude, ...others } = mapOf(value)
  const isMap = mapOf(value) === value
  if (!isMap) return value !== undefined && value !== null
  return listOf(include).length > 0 || listOf(exclude).length > 0 || Object.keys(others).length > 0
}

/** Whether constraints let an empty text through. */
function allowsEmpty(value: unknown): boolean {
  if (!isDefined(value)) return true
  const { include, exclude } = mapOf(value)
  const findsNothing = (it: string) => isExpression(it) && finds(it, '')
  return textsOf(include).some(findsNothing) && !textsOf(exclude).some(findsNothing)
}

/**
 * Converts expressions, which match anywhere, to patterns; undefined if all values match. Adds to `off` why they cannot be converted.
 */
function constraintsOf(name: string, value: unknown, off: string[]): string | string[] | undefined {
  if (!isDefined(value)) return undefined
  const { include, exclude, ...others } = mapOf(value)
  const lists = [include, exclude].flatMap(listOf)
  const isRead =
    mapOf(value) === value &&
    Object.keys(others).length === 0 &&
    lists.every((it) => typeof it !== 'object' && isExpression(textOf(it)))
  if (!isRead) off.push(`${name} are no expressions under "include" and "exclude"`)
  if (!isRead) return undefined
  const [included, excluded] = [textsOf(include), textsOf(exclude).filter((it) => it.trim() !== '')]
  if (included.length === 0) off.push(`${name}: without "include" nothing matched there`)
  const isMessage = name === 'message'
  // With both anchors it matches no line break.
  const isAll = included.some((it) => /^\^?\.\*\$?$/.test(it) && !(isMessage && it === '^.*$'))
  const convert = (it: string) => patternsOf(it, isMessage)
  // A missing value is an empty text there, and passes "!" here.
  const isEmptyExcluded = excluded.some((it) => finds(it, ''))
  const positive = isAll ? (isEmptyExcluded ? ['*'] : []) : included.flatMap(convert)
  const patterns = [...positive, ...excluded.flatMap(convert).map((it) => `!${it}`)]
  return patterns.length <= 1 ? patterns[0] : patterns
}

/** Returns exact values by their keys; undefined without any. Adds to `off` why values cannot be matched. */
function valuesOf(name: string, value: unknown, off: string[]): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined
  const entries = Object.entries(mapOf(value))
  const isRead =
    mapOf(value) === value && entries.every(([key, it]) => typeof it !== 'object' && key !== '__proto__')
  const isExact = entries.every(([, it]) => /^[\w .:@-]+$/.test(textOf(it)))
  if (!isRead) off.push(`${name} are no map of texts`)
  else if (!isExact) off.push(`a value of ${name} would be a pattern here`)
  return entries.length === 0 || !isRead || !isExact
    ? undefined
    : Object.fromEntries(entries.map(([key, it]) => [key, textOf(it)]))
}
