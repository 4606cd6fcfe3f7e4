import { communicationSinks } from './botkube-channels.ts'
import { patternsOf } from './expression.ts'
import type { Imported, ImportedRule, Switchable, WatchEntry } from './imported.ts'
import { namer } from './names.ts'
import { isExpression } from './predicate.ts'
import { listOf, mapOf, type Raw, textOf, textsOf } from './read.ts'

const HEADING = [
  'Made of a configuration of Botkube: sources became rules, channels became sinks.',
  'Names and expressions were searched for anywhere in a text there, so they stand between slashes here: /web/ means web-2, too; write web for',
  'that one alone.',
  'Executors, actions, aliases and recommendations have no counterpart: kubeherald tells, it runs no commands.',
]

const PLUGIN = 'botkube/kubernetes'

/** Its sources with their bindings; what a resource does not say, its source does. */
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

/** What two of them must have in common to be one rule. */
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

/** Its expressions match anywhere, plain words, too; undefined when all is allowed. Adds to `off` what cannot be read. */
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

/** Exact values by their keys; undefined when there are none. Adds to `off` what cannot be asked so. */
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
