import type { ObjectRef, Resource } from '../../src/model/event.ts'
import type { LimitScope, MatchResult } from '../../src/rules/compile.ts'
import { listOf, type Patterns } from '../../src/rules/pattern.ts'
import type { Rule } from '../../src/rules/schema.ts'
import type { KeyValues } from '../../src/rules/selector.ts'
import type { When } from '../../src/rules/when.ts'

/** An event as plain data, parsed whole. */
export interface PlainEvent {
  resource: Resource
  type: string
  namespace: string | undefined
  name: string
  synthesized: boolean
  ageMs: number | undefined
  labels: Record<string, string>
  annotations: Record<string, string>
  namespaceLabels?: Record<string, string> | undefined
  owners?: readonly ObjectRef[] | undefined
  event?: { type: string; reason: string; message: string; regarding: ObjectRef } | undefined
  regardingLabels?: Record<string, string> | undefined
  regardingOwners?: readonly ObjectRef[] | undefined
}

/** What rules mean, written as plainly as possible. */
export function slowMatch(
  rules: readonly Rule[],
  event: PlainEvent,
  limitsOf: (rule: string) => LimitScope | undefined = () => undefined,
): MatchResult {
  const result = {
    sends: [] as { sink: string; rule: string }[],
    limited: [] as MatchResult['limited'][number][],
  }
  const taken = new Set<string>()
  let dropped = false
  let droppedBy: string | undefined
  let ended = false
  let matched = false
  for (const rule of rules) {
    const { name, when = {}, drop } = rule
    const limits = drop ? undefined : limitsOf(name)
    if (!canMatch(when, event)) continue
    const holds = slowState(when, event)
    if (limits === 'states' && !holds && event.type !== 'DELETED' && isUnknown(when, event)) continue
    const entered = holds && slowEdges(when, event) && !isUnasked(rule, event) && !ended
    const sinks = holds && !ended ? (rule.to ?? []).filter((sink) => !taken.has(sink)) : []
    if (limits === 'states' || (limits && entered)) result.limited.push({ rule: name, sinks, holds, entered })
    else if (entered) for (const sink of sinks) result.sends.push({ sink, rule: name })
    if (!entered) continue
    for (const sink of sinks) taken.add(sink)
    if (drop) {
      dropped = !matched
      droppedBy = name
    }
    matched = true
    ended = drop === true || rule.continue === false
  }
  return { ...result, dropped, ...(droppedBy !== undefined && { droppedBy }) }
}

/** By the kind alone. */
function canMatch(when: When, { resource, event }: PlainEvent): boolean {
  const words = when.type === undefined ? [] : listOf(when.type)
  const asksEvent =
    words.some((word) => word !== word.toUpperCase()) ||
    [when.reason, when.message, when.regarding].some((it) => it !== undefined)
  if (asksEvent && !event) return false
  return when.kind === undefined || slowKinds(listOf(when.kind), resource)
}

/** An Event expires, and the rule names no change. */
function isUnasked({ when = {}, drop }: Rule, { resource, type }: PlainEvent): boolean {
  const namesChange = listOf(when.type ?? []).some((word) => word === word.toUpperCase())
  return resource.kind === 'Event' && type === 'DELETED' && !namesChange && !drop
}

/** What is asked of the change. */
function slowEdges(when: When, event: PlainEvent): boolean {
  const changes = listOf(when.type ?? []).filter((word) => word === word.toUpperCase())
  return (
    (changes.length === 0 || slowText(changes, event.type)) &&
    (when.synthesized === undefined || when.synthesized === event.synthesized) &&
    (when.age === undefined || listOf(when.age).every((bound) => slowAge(bound, event.ageMs)))
  )
}

/** Only what is around the object is in the way, which is not known. */
function isUnknown({ namespaceLabels, owner, regarding, ...others }: When, event: PlainEvent): boolean {
  const { labels, owner: regardingOwner, ...ref } = regarding ?? {}
  const { namespace } = event
  const isLabelsUnknown = namespace !== undefined && event.namespaceLabels === undefined
  const unknown = {
    namespaceLabels: namespaceLabels !== undefined && isLabelsUnknown,
    owner: owner !== undefined && event.owners === undefined,
    labels: labels !== undefined && event.regardingLabels === undefined,
    regardingOwner: regardingOwner !== undefined && event.regardingOwners === undefined,
  }
  const rest: When = {
    ...others,
    ...(!unknown.namespaceLabels && { namespaceLabels }),
    ...(!unknown.owner && { owner }),
    ...(regarding && {
      regarding: {
        ...ref,
        ...(!unknown.labels && { labels }),
        ...(!unknown.regardingOwner && { owner: regardingOwner }),
      },
    }),
  }
  return Object.values(unknown).includes(true) && slowState(rest, event)
}

/** What is asked of the object. */
function slowState(when: When, it: PlainEvent): boolean {
  const { event } = it
  const types = listOf(when.type ?? []).filter((word) => word !== word.toUpperCase())
  const { regarding } = when
  return (
    slowText(when.namespace, it.namespace) &&
    slowText(when.name, it.name) &&
    slowLabels(when.labels, it.labels) &&
    slowLabels(when.annotations, it.annotations) &&
    slowLabels(when.namespaceLabels, it.namespaceLabels ?? {}) &&
    slowOwners(when.owner, it.owners ?? []) &&
    (types.length === 0 || slowText(types, event?.type)) &&
    slowText(when.reason, event?.reason) &&
    slowText(when.message, event?.message) &&
    (regarding?.kind === undefined || slowKinds(listOf(regarding.kind), namesOf(event?.regarding ?? {}))) &&
    slowText(regarding?.namespace, event?.regarding.namespace) &&
    slowText(regarding?.name, event?.regarding.name) &&
    slowLabels(regarding?.labels, it.regardingLabels ?? {}) &&
    slowOwners(regarding?.owner, it.regardingOwners ?? [])
  )
}

function slowKinds(patterns: readonly string[], { kind, plural, group }: Names): boolean {
  const names = [kind, plural, `${plural}.${group}`]
  const negative = patterns.filter((it) => it.startsWith('!')).map((it) => it.slice(1))
  const positive = patterns.filter((it) => !it.startsWith('!'))
  if (negative.some((it) => names.includes(it))) return false
  return positive.length === 0 || positive.some((it) => names.includes(it))
}

function slowLabels(wanted: KeyValues | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (wanted === undefined) return true
  const read = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined)
  if (typeof wanted !== 'string') return Object.entries(wanted).every(([key, it]) => slowText(it, read(key)))
  const x = read('x')
  return {
    x: x !== undefined,
    '!x': x === undefined,
    'x=a': x === 'a',
    'x!=a': x !== 'a',
    'x in (a, ab)': x === 'a' || x === 'ab',
  }[wanted]!
}

function slowOwners(patterns: Patterns | undefined, owners: readonly ObjectRef[]): boolean {
  if (patterns === undefined) return true
  const any = (pattern: string) => owners.some((owner) => slowOwner(pattern, owner))
  const positive = listOf(patterns).filter((it) => !it.startsWith('!'))
  const negative = listOf(patterns).filter((it) => it.startsWith('!'))
  return !negative.some((it) => any(it.slice(1))) && (positive.length === 0 || positive.some(any))
}

function slowOwner(pattern: string, owner: ObjectRef): boolean {
  const { kind = '', name = '' } = owner
  if (pattern.startsWith('/')) return new RegExp(pattern.slice(1, -1)).test(`${kind}/${name}`)
  const [wantedKind = '', wantedName = '*'] = pattern.split('/')
  const names = namesOf(owner)
  const spellings = [
    kind,
    names.plural,
    `${names.plural}.${names.group}`,
    ...(kind === 'Deployment' ? ['deploy'] : []),
  ]
  return spellings.some((it) => slowOne(wantedKind, it)) && slowOne(wantedName, name)
}

type Names = Pick<Resource, 'kind' | 'plural' | 'group'>

function namesOf({ apiVersion = '', kind = '' }: ObjectRef): Names {
  const [group = '', version] = apiVersion.split('/')
  return { kind, plural: `${kind.toLowerCase()}s`, group: version === undefined ? '' : group }
}

function slowAge(bound: string, ageMs: number | undefined): boolean {
  if (ageMs === undefined) return false
  const minutes = Number.parseInt(bound.replace(/^[<>=]+/, ''), 10) * (bound.endsWith('h') ? 60 : 1)
  const ms = minutes * 60_000
  return { '<': ageMs < ms, '<=': ageMs <= ms, '>': ageMs > ms, '>=': ageMs >= ms }[
    bound.match(/^[<>=]+/)![0]
  ]!
}

function slowText(patterns: Patterns | undefined, value: string | undefined): boolean {
  if (patterns === undefined) return true
  const positive = listOf(patterns).filter((it) => !it.startsWith('!'))
  const negative = listOf(patterns).filter((it) => it.startsWith('!'))
  if (value === undefined) return positive.length === 0
  if (negative.some((it) => slowOne(it.slice(1), value))) return false
  return positive.length === 0 || positive.some((it) => slowOne(it, value))
}

function slowOne(pattern: string, value: string): boolean {
  if (pattern.startsWith('/')) return expression(pattern.slice(1, -1)).test(value)
  return expression(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.')}$`).test(
    value,
  )
}

const expressions = new Map<string, RegExp>()

function expression(source: string): RegExp {
  const known = expressions.get(source) ?? new RegExp(source, 'su')
  expressions.set(source, known)
  return known
}
