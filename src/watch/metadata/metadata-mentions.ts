import type { RelatedKeys } from '../../model/event.ts'
import { relatedAnnotations } from '../../rules/cel/check.ts'
import { type KeyValues, keysOf } from '../../rules/selector.ts'
import { isMap } from '../../text/plain-data.ts'

/** What one rule asks of the surroundings of an event. */
export interface Mentions {
  namespaceMetadata: boolean
  namespaceAnnotations: readonly string[]
  /** Controllers above the object. */
  owner: boolean
  /** The top controller, of an Event that above the object which it is about. */
  topOwner: boolean
  regardingMetadata: boolean
  regardingAnnotations: readonly string[]
  regardingOwner: boolean
  inTemplates: RelatedKeys
}

/**
 * Reads a rule as it is written, so that keys of any room count: conditions, what limits count by, CEL, templates, of which
 * `elsewhere` holds the templates that are not in the rule. A text in CEL that looks like a use is taken for one.
 */
export function mentionsOf(rule: object, elsewhere?: unknown): Mentions {
  const { when = {}, if: condition, message } = rule as { when?: object; if?: unknown; message?: unknown }
  const { regarding = {}, owner, namespaceLabels, namespaceAnnotations } = mapOf(when)
  const asked = mapOf(regarding)
  const counted = countedBy(rule)
  const countedKeys = (map: string) =>
    counted.flatMap((it) => (it.startsWith(`${map}.`) ? [it.slice(map.length + 1)] : []))
  const cel = typeof condition === 'string' ? condition : ''
  const templates = [message, elsewhere].flatMap(textsIn).flatMap((text) => text.match(TAG) ?? [])
  const inTemplates = relatedKeysIn([message, elsewhere].flatMap(textsIn).filter((it) => it.includes('{')))
  const inCel = relatedAnnotations(cel)
  const annotationsOf = (map: 'namespace' | 'regarding', written: unknown) => [
    ...keysOf((written ?? {}) as KeyValues),
    ...countedKeys(map === 'namespace' ? 'namespaceAnnotations' : 'regarding.annotations'),
    ...inTemplates[`${map}Annotations`],
    ...inCel[map],
  ]
  const ofNamespace = annotationsOf('namespace', namespaceAnnotations)
  const ofRegarding = annotationsOf('regarding', asked['annotations'])
  return {
    namespaceMetadata:
      namespaceLabels !== undefined ||
      countedKeys('namespaceLabels').length > 0 ||
      inTemplates.namespaceLabels.length > 0 ||
      ofNamespace.length > 0 ||
      /\bnamespaceLabels\b/.test(cel),
    namespaceAnnotations: ofNamespace,
    owner: owner !== undefined,
    topOwner: counted.includes('owner') || [cel, ...templates].some((it) => EVENT_OWNER.test(it)),
    regardingMetadata:
      asked['labels'] !== undefined ||
      countedKeys('regarding.labels').length > 0 ||
      inTemplates.regardingLabels.length > 0 ||
      ofRegarding.length > 0 ||
      REGARDING_LABELS.test(cel),
    regardingAnnotations: ofRegarding,
    regardingOwner:
      asked['owner'] !== undefined ||
      counted.includes('regarding.owner') ||
      [cel, ...templates].some((it) => REGARDING_OWNER.test(it)),
    inTemplates,
  }
}

/** Keys behind the names of related metadata in templates: `namespaceAnnotations["team/slack"]`, `event.regarding.labels.team`. */
function relatedKeysIn(texts: readonly string[]): RelatedKeys {
  const keysBehind = (name: RegExp) => texts.flatMap((text) => [...text.matchAll(name)].map(keyIn))
  return {
    namespaceLabels: keysBehind(KEYS.namespaceLabels),
    namespaceAnnotations: keysBehind(KEYS.namespaceAnnotations),
    regardingLabels: keysBehind(KEYS.regardingLabels),
    regardingAnnotations: keysBehind(KEYS.regardingAnnotations),
  }
}

function keyIn([, quoted, plain]: RegExpMatchArray): string {
  return quoted ?? plain ?? ''
}

/** What a template fills in or decides. */
const TAG = /\{\{[^}]*\}{0,2}|\{%[^}]*\}?/g
/** `.name`, `.?name`, `["name"]` behind a variable. */
const MEMBER = String.raw`\s*(?:\.\s*\??|\[\s*\??\s*["'])\s*`
const EVENT_OWNER = new RegExp(String.raw`\bevent${MEMBER}owner`)
const REGARDING_LABELS = new RegExp(String.raw`\bregarding\b["'\]]*${MEMBER}labels`)
const REGARDING_OWNER = new RegExp(String.raw`\bregarding\b["'\]]*${MEMBER}owner`)

/** A key behind a name, in the spellings that the check of templates accepts: `namespaceLabels["a/b"]`, `namespaceLabels.team`. */
function keysOfMap(name: string): RegExp {
  return new RegExp(String.raw`\b${name}(?:\[\s*["']([^"']{1,317})["']|\.([A-Za-z_][\w-]{0,316}))`, 'g')
}

const KEYS: Readonly<Record<keyof RelatedKeys, RegExp>> = {
  namespaceLabels: keysOfMap('namespaceLabels'),
  namespaceAnnotations: keysOfMap('namespaceAnnotations'),
  regardingLabels: keysOfMap(String.raw`regarding\.labels`),
  regardingAnnotations: keysOfMap(String.raw`regarding\.annotations`),
}

/** All that limits of the rule count by: `per` and `by`, whatever the limit is called. */
function countedBy(rule: object): string[] {
  return Object.values(rule).flatMap((limit) => {
    const { per, by } = mapOf(limit)
    return [per, by].flat().filter((it) => typeof it === 'string')
  })
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return isMap(value) ? value : {}
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
