import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { ClusterEvent } from '../../model/event.ts'
import type { LimitedMatch } from '../../model/limit.ts'
import { shorten } from '../../sink/template/formats.ts'
import { MOST_ENTRIES, tooMany } from '../../text/bounds.ts'
import { nearest } from '../../text/closest-match.ts'
import { kindOf } from '../kind.ts'
import type { KeyedLimit, RulePlan } from './rule-plan.ts'
import type { GroupLabels, StateKeys, StoredEmission } from './states.ts'

const PROPERTIES = [
  'rule',
  'object',
  'namespace',
  'name',
  'kind',
  'reason',
  'message',
  'owner',
  'regarding',
  'node',
  'regarding.owner',
] as const
const MAPS = [
  'labels',
  'annotations',
  'namespaceLabels',
  'namespaceAnnotations',
  'regarding.labels',
  'regarding.annotations',
] as const

/** All values of a group key, for the descriptions of the keys that have one. */
export const GROUP_KEY_TEXT =
  'rule, object, namespace, name, kind, reason, message, owner, regarding, node, labels.KEY, annotations.KEY, namespaceLabels.KEY, namespaceAnnotations.KEY, regarding.labels.KEY, regarding.annotations.KEY, regarding.owner; one or a list'

/** The properties of an event that select its limit state; `rule` selects one state for all events of the rule. */
export const GroupKey = z
  .union([
    z.string(),
    z
      .array(z.string())
      .min(1, 'is an empty list: to count all events together write rule')
      .max(MOST_ENTRIES, tooMany(MOST_ENTRIES, 'properties')),
  ])
  .superRefine((key, context) => {
    const names = [key].flat()
    for (const [at, name] of names.entries()) {
      const fault = names.indexOf(name) < at ? { message: `"${cut(name)}" is repeated` } : faultIn(name)
      if (!fault) continue
      const { message, ...params } = fault
      const path = typeof key === 'string' ? [] : [at]
      context.addIssue({ code: 'custom', message, path, params })
    }
  })
  .transform((key): readonly string[] => [key].flat())

interface NameFault {
  message: string
  hint?: string
  offset?: number
  length?: number
}

const LABEL_KEY = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/

function faultIn(name: string): NameFault | undefined {
  if (PROPERTIES.some((it) => it === name)) return undefined
  const map = MAPS.find((it) => name.startsWith(`${it}.`))
  if (map) {
    const key = name.slice(map.length + 1)
    if (LABEL_KEY.test(key)) return undefined
    const kind = /annotations$/i.test(map) ? 'annotation' : 'label'
    if (key === '') return { message: `needs the key of a ${kind}`, hint: `such as ${name}team` }
    return { message: `"${cut(key)}" is not a key of a ${kind}`, offset: map.length + 1, length: key.length }
  }
  const isAbout = /^(regarding|involvedObject|about|pod)\b/i.test(name)
  const near = isAbout ? 'regarding' : nearest(name, [...PROPERTIES, ...MAPS.map((it) => `${it}.KEY`)])
  const hint = near === undefined ? `one of ${GROUP_KEY_TEXT}` : `did you mean "${near}"?`
  return { message: `"${cut(name)}" is not a group key`, hint, offset: 0, length: Math.max(name.length, 1) }
}

function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

const MAX_LABEL = 100
const keysOfMatches = new WeakMap<LimitedMatch, StateKeys>()

/** Returns the keys of the shared states of a rule's limits for an event. */
export function stateKeysOf(rule: RulePlan, event: ClusterEvent, match: LimitedMatch): StateKeys {
  const known = keysOfMatches.get(match)
  if (known) return known
  const { debounce, after, throttle, group, resolveAfter } = rule
  const keys: StateKeys = {}
  if (debounce) keys.debounce = stateKey(rule, 'debounce', debounce.per, event).key
  if (after) keys.after = stateKey(rule, 'after', after.per, event).key
  if (throttle) keys.throttle = stateKey(rule, 'throttle', throttle.per, event).key
  // A digest must not contain what some of its sinks do not get: each set of sinks has its own groups.
  if (group) {
    const sinks = match.sinks.toSorted()
    const rest = `${rule.name}:${hashOf(['rest', sinks])}`
    const order = stateKey(rule, 'group', group.by, event).key
    keys.group = { ...stateKey(rule, 'group', group.by, event, sinks), rest, order }
  }
  if (resolveAfter) keys.resolveAfter = stateKey(rule, 'resolve-after', resolveAfter.per, event).key
  keysOfMatches.set(match, keys)
  return keys
}

/** Returns the key under which an earlier event can wait since before a reload. */
export function formerDebounceKeyOf(rule: RulePlan, event: ClusterEvent): string | undefined {
  return rule.formerDebounce && stateKey(rule, 'debounce', rule.formerDebounce.per, event).key
}

/** Returns the keys of an event that waited and goes to other sinks than `all`, such as some of them: these have groups of their own. */
export function keysForSinks(
  rule: string,
  keys: StateKeys,
  all: readonly string[],
  sinks: readonly string[],
): StateKeys {
  const { group } = keys
  if (!group || (sinks.length === all.length && sinks.every((sink) => all.includes(sink)))) return keys
  const of = (key: string) => `${rule}:${hashOf(['sinks', key, sinks.toSorted()])}`
  const { key, rest } = group
  return { ...keys, group: { ...group, key: of(key), ...(rest !== undefined && { rest: of(rest) }) } }
}

/**
 * Returns a waiting event with the sinks among its own that its rule still names, or with those that the rule names instead: a reload can
 * have replaced them.
 */
export function withNamedSinks(
  { name, to }: RulePlan,
  waiting: StoredEmission,
  places: StateKeys,
): { emission: StoredEmission; places: StateKeys } {
  if (!to || waiting.sinks.every((sink) => to.includes(sink))) return { emission: waiting, places }
  const left = waiting.sinks.filter((sink) => to.includes(sink))
  const sinks = left.length > 0 ? left : to
  return { emission: { ...waiting, sinks }, places: keysForSinks(name, places, waiting.sinks, sinks) }
}

/** `<rule>:<hash>`: values have any length. */
function stateKey(
  { name, defaultGroupKey }: RulePlan,
  limit: KeyedLimit,
  groupKey: readonly string[] | undefined,
  event: ClusterEvent,
  sinks: readonly string[] = [],
): { key: string; by: GroupLabels } {
  const properties = groupKey ?? defaultGroupKey(limit, event.event !== undefined)
  const values = properties.map((property) => [property, readProperty(property, event)] as const)
  const hash = hashOf([limit, values.map(([property, { key }]) => [property, key]), sinks])
  const by = values
    .filter(([property, { shown }]) => property !== 'rule' && shown !== '')
    .map(([property, { shown }]) => [property, shorten(shown, MAX_LABEL)] as const)
  return { key: `${name}:${hash}`, by }
}

function hashOf(values: unknown): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 22)
}

/** The value of a property; '' if the event has none. */
interface PropertyValue {
  /** Identifies the value. */
  key: string
  /** For notifications. */
  shown: string
}

/** Reads a property by its checked name. */
function readProperty(name: string, event: ClusterEvent): PropertyValue {
  const map = MAPS.find((it) => name.startsWith(`${it}.`))
  if (map) return text(memberOf(mapOf(map, event), name.slice(map.length + 1)))
  switch (name as (typeof PROPERTIES)[number]) {
    case 'rule':
      return text('')
    case 'object':
      return { key: event.uid, shown: `${event.kind}/${event.name}` }
    case 'namespace':
      return text(event.namespace)
    case 'name':
      return text(event.name)
    case 'kind':
      return text(event.kind)
    case 'reason':
      return text(event.event?.reason)
    case 'message':
      return text(event.event?.message)
    case 'regarding':
      return reference(subjectOf(event))
    case 'owner':
    case 'regarding.owner':
      return reference(ownerOf(event))
    case 'node':
      return text(nodeOf(event))
  }
}

function mapOf(map: (typeof MAPS)[number], event: ClusterEvent): unknown {
  if (map === 'regarding.labels') return event.event ? event.regardingLabels : event.labels
  if (map === 'regarding.annotations') return event.event ? event.regardingAnnotations : event.annotations
  return event[map]
}

interface ObjectName {
  apiVersion?: string | undefined
  kind?: string | undefined
  namespace?: string | undefined
  name?: string | undefined
}

/** The object that an Event is about, or the object itself. */
function subjectOf(event: ClusterEvent): ObjectName {
  return event.event?.regarding ?? event
}

/** The topmost controller; the object itself if it has none. */
function ownerOf(event: ClusterEvent): ObjectName {
  const subject = subjectOf(event)
  const top = (event.event ? event.regardingOwners : event.owners)?.at(-1)
  return top ? { ...top, namespace: top.namespace ?? subject.namespace ?? '' } : subject
}

function nodeOf(event: ClusterEvent): unknown {
  const regarding = event.event?.regarding
  if (!regarding) return event.kind === 'Node' ? event.name : memberOf(event.object['spec'], 'nodeName')
  const { source, deprecatedSource } = event.object
  const ofKubelet = memberOf(source, 'host') || memberOf(deprecatedSource, 'host')
  return ofKubelet || (regarding.kind === 'Node' ? regarding.name : '')
}

/**
 * Without the uid, so that an object that was created again counts as the same. With the group: a Knative Service creates one of the
 * core group with its name.
 */
function reference({ apiVersion = '', kind = '', namespace = '', name = '' }: ObjectName): PropertyValue {
  const { group } = kindOf({ apiVersion })
  const key = JSON.stringify([group, kind, namespace, name])
  return { key, shown: kind === '' ? name : `${kind}/${name}` }
}

function text(value: unknown): PropertyValue {
  const key = typeof value === 'string' ? value : ''
  return { key, shown: key }
}

/** Own members only: a label may be called `constructor`. */
function memberOf(map: unknown, key: string): unknown {
  return typeof map === 'object' && map !== null && Object.hasOwn(map, key)
    ? (map as Record<string, unknown>)[key]
    : undefined
}
