import { communicationSinks } from './botkube-channels.ts'
import { patternsOf } from './expression.ts'
import type { Imported, ImportedRule, Noted, WatchEntry } from './imported.ts'
import { namer } from './names.ts'
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
  const rules: Noted<ImportedRule>[] = []
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
    const made = listOf(config['resources']).flatMap((resource) => rulesOf(mapOf(resource), config))
    for (const same of Map.groupBy(made, sameness).values()) {
      for (const { watch } of same) kinds.set(watch, watch)
      const [first] = same as [Made]
      const value = ruleFor(
        first,
        same.map(({ kind }) => kind),
      )
      const called = name(`${source}-${first.what}`)
      rules.push({ value: { name: called, ...value, to: [...to] }, notes: first.notes })
    }
  }
  if (rules.length === 0)
    rules.push({
      value: { name: 'everything', to: Object.keys(sinks) },
      notes: ['no source of the file could be carried over'],
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
  notes: string[]
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

/** A resource of a source: a rule for its changes, and one for the Events about it. */
function rulesOf(resource: Raw, source: Raw): Made[] {
  const kind = kindOf(textOf(resource['type']))
  if (kind === undefined) return []
  const own = mapOf(resource['event'])
  const event = mapOf(source['event'])
  const types = textsOf(own['types'] ?? event['types']).map((it) => it.toLowerCase())
  const wants = (type: string) => types.includes(type) || types.includes('all')
  const namespaces = constraintsOf(mapOf(resource['namespaces'] ?? source['namespaces']))
  const names = constraintsOf(mapOf(resource['name']))
  const labels = mapOf(resource['labels'] ?? source['labels'])
  const notes =
    Object.keys(mapOf(resource['annotations'])).length > 0
      ? ['annotations were not carried over for Events']
      : []
  const where = namespaces && { namespace: namespaces }
  const objectConditions = {
    ...(names && { name: names }),
    ...(Object.keys(labels).length > 0 && { labels }),
  }
  const made: Made[] = []
  const fields = textsOf(mapOf(resource['updateSetting'])['fields']).map(pathOf)
  const about = { ...where, ...objectConditions }
  const changes = Object.keys(CHANGES).filter(wants)
  const plain = fields.length > 0 ? changes.filter((type) => type !== 'update') : changes
  const change = { kind, watch: kind, notes: [] }
  if (plain.length > 0)
    made.push({ ...change, what: 'changes', when: { type: plain.map((type) => CHANGES[type]), ...about } })
  if (plain.length < changes.length)
    made.push({ ...change, what: 'fields', when: { type: 'MODIFIED', ...about }, changed: fields })
  const eventTypes = [
    ...(wants('error') || wants('warning') ? ['Warning'] : []),
    ...(wants('normal') || wants('info') ? ['Normal'] : []),
  ]
  if (eventTypes.length === 0) return made
  const reason = constraintsOf(mapOf(own['reason'] ?? event['reason']))
  const message = constraintsOf(mapOf(own['message'] ?? event['message']))
  const when = {
    ...(eventTypes.length === 1 && { type: eventTypes[0] }),
    ...where,
    ...(reason && { reason }),
    ...(message && { message }),
    regarding: objectConditions,
  }
  return [...made, { what: 'events', kind, watch: 'Event', when, notes }]
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

/** Its expressions match anywhere, plain words, too; undefined when all is allowed. */
function constraintsOf(constraints: Raw): string | string[] | undefined {
  const include = textsOf(constraints['include']).filter((it) => !/^\^?\.\*\$?$/.test(it))
  const exclude = textsOf(constraints['exclude']).filter((it) => it.trim() !== '')
  const patterns = [...include.flatMap(patternsOf), ...exclude.flatMap(patternsOf).map((it) => `!${it}`)]
  if (patterns.length === 0) return undefined
  return patterns.length === 1 ? patterns[0] : patterns
}
