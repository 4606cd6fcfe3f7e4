import { isExpression, patternsOf } from './conditions.ts'
import type { Imported, ImportedRule, Noted, Switchable, WatchEntry } from './imported.ts'
import {
  channelOf,
  environmentName,
  listOf,
  mapOf,
  namer,
  notesOf,
  type Raw,
  secretOf,
  textOf,
  textsOf,
  trackOptions,
} from './source-options.ts'

const HEADING = [
  'Made of a configuration of Botkube: sources became rules, channels became sinks.',
  'Names and expressions matched anywhere in a text there, so they are between slashes here: /web/ matches web-2, too; web matches only itself.',
  'Executors, actions, aliases and recommendations have no counterpart: kubeherald runs no commands.',
]

const PLUGIN = 'botkube/kubernetes'

/** Converts sources with their bindings to rules; a source has the defaults of its resources. */
export function importBotkube(raw: Raw): Imported {
  const { sinks, bound } = communicationSinks(mapOf(raw['communications']))
  const name = namer()
  const kinds = new Map<string, WatchEntry>()
  const rules: Switchable<ImportedRule>[] = []
  const heading = [...HEADING]
  for (const [source, value] of Object.entries(mapOf(raw['sources']))) {
    const plugins = mapOf(value)
    const others = Object.keys(plugins).filter((key) => key.includes('/') && key !== PLUGIN)
    for (const plugin of others)
      heading.push(`The source "${source}" uses ${plugin}, which was not carried over.`)
    const plugin = mapOf(plugins[PLUGIN])
    const to = bound.get(source) ?? []
    if (plugins[PLUGIN] === undefined || plugin['enabled'] === false) continue
    if (to.length === 0) {
      heading.push(`No channel is bound to the source "${source}": left out.`)
      continue
    }
    const config = mapOf(plugin['config'])
    const filters = { ...mapOf(mapOf(raw['filters'])['kubernetes']), ...mapOf(config['filters']) }
    const made = listOf(config['resources']).flatMap((resource) => rulesOf(mapOf(resource), config, filters))
    for (const same of Map.groupBy(made, sameness).values()) {
      for (const { watch } of same) kinds.set(watch, watch)
      const [first] = same as [Made]
      const value = ruleFor(
        first,
        same.map(({ kind }) => kind),
      )
      const called = name(`${source}-${first.what}`)
      rules.push({ value: { name: called, ...value, to: [...to] }, off: first.off })
    }
  }
  if (rules.length === 0)
    rules.push({
      value: { name: 'everything', to: Object.keys(sinks) },
      off: ['no source of the file could be carried over: choose what to send'],
    })
  return {
    heading,
    cluster: clusterOf(raw),
    watch: kinds.size === 0 ? [{ value: 'Event' }] : [...kinds.values()].map((value) => ({ value })),
    sinks,
    rules,
  }
}

function clusterOf(raw: Raw): string | undefined {
  const name = textOf(mapOf(raw['settings'])['clusterName']).replace(/[^A-Za-z0-9._-]+/g, '-')
  return name === '' || name === 'not-configured' ? undefined : name
}

/** A rule for one kind of object. */
interface Made {
  what: 'changes' | 'fields' | 'events'
  kind: string
  /** What must be watched for it. */
  watch: string
  /** Without the kind. */
  when: Record<string, unknown>
  changed?: string[]
  /** Why the rule would match more than the source did. */
  off: string[]
}

/** Equal texts can be one rule. */
function sameness({ kind: _kind, watch: _watch, ...rest }: Made): string {
  return JSON.stringify(rest)
}

function ruleFor({ what, when, changed }: Made, kinds: readonly string[]): Omit<ImportedRule, 'name'> {
  const [only] = kinds
  const kind = kinds.length === 1 ? only : [...new Set(kinds)]
  const { regarding, ...rest } = when as { regarding?: Record<string, unknown> }
  return {
    when:
      what === 'events' ? { kind: 'Event', ...rest, regarding: { kind, ...regarding } } : { kind, ...rest },
    ...(changed && { changed }),
  }
}

const CHANGES: Readonly<Record<string, string>> = { create: 'ADDED', update: 'MODIFIED', delete: 'DELETED' }

const SOURCE_KEYS =
  'namespaces annotations labels event resources filters log recommendations commands informerResyncPeriod extraButtons'
const RESOURCE_KEYS = 'type namespaces annotations labels name event updateSetting'
const EVENT_KEYS = 'types reason message'

/** A resource of a source: a rule for its changes, and one for the Events about it. */
function rulesOf(resource: Raw, source: Raw, filters: Raw): Made[] {
  const kind = kindOf(textOf(resource['type']))
  if (kind === undefined) return []
  const own = mapOf(resource['event'])
  const event = mapOf(source['event'])
  const types = textsOf(own['types'] ?? event['types']).map((it) => it.toLowerCase())
  const wants = (type: string) => types.includes(type) || types.includes('all')
  const off = [
    ...unknownKeys(source, SOURCE_KEYS),
    ...unknownKeys(resource, RESOURCE_KEYS),
    ...unknownKeys(event, EVENT_KEYS),
    ...unknownKeys(own, EVENT_KEYS),
  ]
  const constraints = (name: string, value: unknown) => constraintsOf(name, value, off)
  const namespace = constraints('namespaces', resource['namespaces'] ?? source['namespaces'])
  const name = constraints('name', resource['name'])
  const labels = valuesOf('labels', resource['labels'] ?? source['labels'], off)
  const annotations = valuesOf('annotations', resource['annotations'] ?? source['annotations'], off)
  const reason = constraints('event.reason', own['reason'] ?? event['reason'])
  const message = constraints('event.message', own['message'] ?? event['message'])
  const where = namespace && { namespace }
  const object = { ...(name && { name }), ...(labels && { labels }) }
  const isOn = (filter: string) => filters[filter] === true || filters[filter] === 'true'
  return [
    ...changeRules(),
    ...(wants('error') || wants('warning') || wants('normal') || wants('info') ? [eventRule()] : []),
  ]

  function changeRules(): Made[] {
    const changes = Object.keys(CHANGES).filter(wants)
    const fields = fieldsOf(mapOf(resource['updateSetting']))
    const disabled = isOn('objectAnnotationChecker') && { 'botkube.io/disable': '!true' }
    const when = {
      ...where,
      ...object,
      ...((annotations || disabled) && { annotations: { ...annotations, ...disabled } }),
    }
    // A change has neither a reason nor a message.
    const never = [reason, message].flatMap((it) =>
      [it ?? []].flat().some((pattern) => !pattern.startsWith('!'))
        ? ['event.reason and event.message let no change of an object through']
        : [],
    )
    const change = { kind: String(kind), watch: String(kind), off: [...off, ...never] }
    const plain = fields.length > 0 ? changes.filter((type) => type !== 'update') : changes
    const made: Made[] = []
    if (plain.length > 0)
      made.push({ ...change, what: 'changes', when: { type: plain.map((type) => CHANGES[type]), ...when } })
    if (plain.length < changes.length)
      made.push({ ...change, what: 'fields', when: { type: 'MODIFIED', ...when }, changed: fields })
    return made
  }

  function eventRule(): Made {
    const lost = [
      ...(annotations ? ['annotations of the object that an Event is about cannot be asked for'] : []),
      ...(isOn('objectAnnotationChecker')
        ? ['objectAnnotationChecker left out Events about objects with the annotation botkube.io/disable']
        : []),
      ...(isOn('nodeEventsChecker') && kind === 'nodes' && !reason
        ? ['nodeEventsChecker let only some Events about nodes through: name their reasons']
        : []),
    ]
    const isWarning = wants('error') || wants('warning')
    const isNormal = wants('normal') || wants('info')
    const when = {
      ...(isWarning !== isNormal && { type: isWarning ? 'Warning' : 'Normal' }),
      ...where,
      ...(reason && { reason }),
      ...(message && { message }),
      regarding: object,
    }
    return { what: 'events', kind: String(kind), watch: 'Event', when, off: [...off, ...lost] }
  }

  function fieldsOf(setting: Raw): string[] {
    const fields = textsOf(setting['fields'])
    if (fields.length < listOf(setting['fields']).length)
      off.push('updateSetting.fields are no list of paths')
    return fields.map(pathOf)
  }
}

function unknownKeys(map: Raw, known: string): string[] {
  return Object.keys(map)
    .filter((key) => !known.split(' ').includes(key))
    .map((key) => `"${key}" is no condition that is known here`)
}

/** `apps/v1/deployments` → `deployments.apps`, `v1/pods` → `pods` */
function kindOf(type: string): string | undefined {
  const parts = type.split('/')
  const [plural] = parts.slice(-1)
  if (!plural) return undefined
  return parts.length === 3 ? `${plural}.${parts[0]}` : plural
}

/** `containers[*].image` → `containers.*.image` */
function pathOf(field: string): string {
  return field.replace(/\[\*\]/g, '.*').replace(/^\./, '')
}

/** Converts expressions, which match anywhere; undefined if all values match. Adds to `off` why they cannot be converted. */
function constraintsOf(name: string, value: unknown, off: string[]): string | string[] | undefined {
  if (value === undefined || value === null) return undefined
  const constraints = mapOf(value)
  const lists = [constraints['include'], constraints['exclude']].flatMap(listOf)
  const isRead =
    constraints === value &&
    Object.keys(constraints).every((key) => key === 'include' || key === 'exclude') &&
    lists.every((it) => typeof it !== 'object' && isExpression(textOf(it)))
  if (!isRead) off.push(`${name} are no expressions under "include" and "exclude"`)
  if (!isRead) return undefined
  const included = textsOf(constraints['include'])
  const isAll = included.some((it) => /^\^?\.\*\$?$/.test(it))
  const exclude = textsOf(constraints['exclude']).filter((it) => it.trim() !== '')
  const include = isAll ? [] : included.flatMap(patternsOf)
  const patterns = [...include, ...exclude.flatMap(patternsOf).map((it) => `!${it}`)]
  if (patterns.length === 0) return undefined
  return patterns.length === 1 ? patterns[0] : patterns
}

/** Returns exact values by their keys; undefined without any. Adds to `off` why values cannot be matched. */
function valuesOf(name: string, value: unknown, off: string[]): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined
  const entries = Object.entries(mapOf(value))
  const isRead = mapOf(value) === value && entries.every(([, it]) => typeof it !== 'object')
  const isExact = entries.every(([, it]) => /^[\w .:@-]*$/.test(textOf(it)) && textOf(it) !== '')
  if (!isRead) off.push(`${name} are no map of texts`)
  else if (!isExact) off.push(`a value of ${name} would be a pattern here`)
  return entries.length === 0 || !isRead || !isExact
    ? undefined
    : Object.fromEntries(entries.map(([key, it]) => [key, textOf(it)]))
}

interface Channels {
  sinks: Record<string, Noted<Record<string, unknown>>>
  /** Source → sinks. */
  bound: Map<string, string[]>
}

const PLATFORMS = [
  'slack',
  'socketSlack',
  'cloudSlack',
  'webhook',
  'mattermost',
  'discord',
  'teams',
  'cloudTeams',
]

/** A sink for each channel of each communication group. */
function communicationSinks(communications: Raw): Channels {
  const name = namer()
  const channels: Channels = { sinks: {}, bound: new Map() }
  for (const [group, value] of Object.entries(communications)) {
    for (const [platform, options] of Object.entries(mapOf(value))) {
      const { options: settings, unread } = trackOptions(mapOf(options))
      if (settings['enabled'] === false) continue
      const places = Object.entries(mapOf(settings['channels'] ?? settings['indices']))
      const all = places.length > 0 ? places : [[platform, settings] as const]
      const notes = all.map(([alias, channel]) =>
        add(
          channels,
          name(places.length > 0 && alias !== 'default' ? alias : platform),
          platform,
          settings,
          mapOf(channel),
          group,
        ),
      )
      // Executors are named at the head of the file.
      if (PLATFORMS.includes(platform))
        notes[0]?.push(...notesOf(unread().filter((it) => !it.endsWith('bindings.executors'))))
    }
  }
  if (Object.keys(channels.sinks).length === 0)
    channels.sinks['screen'] = {
      value: { type: 'stdout' },
      notes: ['the file has no channel that is enabled'],
    }
  return channels
}

/** Returns the comments of the sink, for more of them. */
function add(
  { sinks, bound }: Channels,
  name: string,
  platform: string,
  settings: Raw,
  channel: Raw,
  group: string,
): string[] {
  const notes: string[] = []
  sinks[name] = { value: sinkOf(platform, settings, channel, group, notes), notes }
  if (mapOf(channel['notification'])['disabled'] === true) {
    notes.push('its notifications were disabled, so no rule sends to it')
    return notes
  }
  for (const source of textsOf(mapOf(channel['bindings'])['sources']))
    bound.set(source, [...(bound.get(source) ?? []), name])
  return notes
}

function sinkOf(
  platform: string,
  settings: Raw,
  channel: Raw,
  group: string,
  notes: string[],
): Record<string, unknown> {
  switch (platform) {
    case 'slack':
    case 'socketSlack':
      return {
        type: 'slack',
        token: secretOf(settings['botToken'] ?? settings['token'], 'SLACK_TOKEN', notes),
        channel: channelOf(channel['name'], notes),
      }
    case 'cloudSlack':
      notes.push('cloudSlack needs an app of your own: sinks/slack/README.md')
      return { type: 'slack', token: `\${env:SLACK_TOKEN}`, channel: channelOf(channel['name'], notes) }
    case 'webhook':
      return { type: 'webhook', url: secretOf(settings['url'], environmentName(group, 'webhook_url'), notes) }
    case 'mattermost':
    case 'discord':
    case 'teams':
    case 'cloudTeams': {
      const preset = platform === 'cloudTeams' ? 'teams' : platform
      notes.push(`make an incoming webhook for ${textOf(channel['name']) || preset}: a bot is not needed`)
      return { type: 'webhook', preset, url: `\${env:${environmentName(group, preset, 'url')}}` }
    }
    default:
      notes.push(`${platform.replace(/[^\w-]/g, '')} has no counterpart here: stdout replaces it`)
      return { type: 'stdout' }
  }
}
