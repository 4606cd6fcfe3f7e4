import { fieldTermsOf } from '../../config/lint/watch.ts'
import { mayBeNameOf, mayBeShortNameOf, watchedKindOf } from '../../config/lint/watched-kind.ts'
import type { Config } from '../../config/schema.ts'
import type { ClusterEvent, Resource } from '../../model/event.ts'
import { type ConditionReport, explainRule } from '../../rules/explain.ts'
import { compileKinds } from '../../rules/kind.ts'
import { compilePatterns } from '../../rules/pattern.ts'
import { compileKeyValues } from '../../rules/selector.ts'
import { isMap } from '../../text/plain-data.ts'
import type { WatchEntry } from '../../watch/schema.ts'
import { shownValue } from './rule-texts.ts'

/** A condition of a rule for one event. */
export interface ConditionResult {
  /** The path in the rule without `when`: `regarding.kind`. */
  name: string
  /** The value in the rule. */
  expected: unknown
  /** Undefined when it is absent or unknown. */
  seen: string | undefined
  holds: boolean
  /** Why it could not be evaluated. */
  error?: string
}

/** All conditions of a rule, also those behind one that does not hold. */
export interface RuleConditions {
  /** Whether it can match objects of this kind at all. */
  ofKind: boolean
  conditions: readonly ConditionResult[]
}

/** Returns a function that evaluates the conditions of one rule. */
export function ruleConditions({
  rules,
  written,
}: Config): (rule: string, event: ClusterEvent) => RuleConditions {
  const list = written?.['rules']
  const sources = new Map(
    (Array.isArray(list) ? list : []).filter(isMap).map((source) => [source['name'], source]),
  )
  const compiled = new Map(
    rules.map((rule) => {
      const source = sources.get(rule.name) ?? rule
      return [rule.name, { source, explain: explainRule(rule, source) }]
    }),
  )
  return (name, event) => {
    const { source, explain } = compiled.get(name) ?? {}
    const report = explain?.(event)
    if (!report) return { ofKind: false, conditions: [] }
    return {
      ofKind: report.isOfKind,
      conditions: onePerKey(report.conditions).map(({ path, expected, seen, holds, error }) => ({
        name: path.slice(path[0] === 'when' ? 1 : 0).join('.'),
        expected: valueAt(source, path) ?? expected,
        seen,
        holds,
        ...(error !== undefined && { error }),
      })),
    }
  }
}

/** A key may have several conditions: the first that does not hold represents it. */
function onePerKey(reports: readonly ConditionReport[]): readonly ConditionReport[] {
  const known = new Map<string, ConditionReport>()
  for (const report of reports) {
    const key = JSON.stringify(report.path)
    const other = known.get(key)
    if (!other || (other.holds && !report.holds)) known.set(key, report)
  }
  return [...known.values()]
}

function valueAt(source: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((at, key) => {
    if (Array.isArray(at)) return at[Number(key)]
    return isMap(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }, source)
}

/** The entry of `watch` that selects an event; else, for each entry of its kind, the selector that excludes it. */
export type Watched =
  | { entry: number }
  | { entry: undefined; kinds: readonly { entry: number; key: string; expected: string; seen: string }[] }

/**
 * Finds the entry of `watch` that selects an event: rules never see an event without one. A word that may be one counts as
 * the short name of a custom resource that no other entry is for.
 */
export function watchedBy(entries: readonly WatchEntry[], event: ClusterEvent): Watched {
  const kinds: { entry: number; key: string; expected: string; seen: string }[] = []
  const all = [...entries.entries()]
  const exact = all.filter(([, it]) => isOfKind(it, event.resource))
  const candidates =
    exact.length > 0 ? exact : all.filter(([, { kind }]) => isShortName(kind, event.resource))
  for (const [entry, { namespaces, labels, fields }] of candidates) {
    const miss =
      missedNamespace(namespaces, event) ?? missedLabels(labels, event) ?? missedFields(fields, event)
    if (!miss) return { entry }
    kinds.push({ entry, ...miss })
  }
  return { entry: undefined, kinds }
}

/** Compiled once: a journal has many events. */
const kindTests = new WeakMap<WatchEntry, ReturnType<typeof compileKinds>>()

function isOfKind(entry: WatchEntry, resource: Resource): boolean {
  const test = kindTests.get(entry) ?? compileKinds(entry.kind)
  kindTests.set(entry, test)
  return test.ok && test.value(resource)
}

function isShortName(kind: string, resource: Resource): boolean {
  const watched = watchedKindOf(kind)
  return watched !== undefined && mayBeShortNameOf(watched, resource)
}

/** Whether a word in `watch` may be a name of a custom resource that only a cluster knows. One with a capital letter is a kind. */
export function isUncertainName(kind: string, resource: Resource): boolean {
  if (/[A-Z]/.test(kind)) return false
  const watched = watchedKindOf(kind)
  return watched !== undefined && mayBeNameOf(watched, resource)
}

/** Whether rules see an event. */
export function isWatched({ watch }: Pick<Config, 'watch'>, event: ClusterEvent): boolean {
  return watchedBy(watch, event).entry !== undefined
}

/** The reason why rules never see an event; undefined for a watched one. */
export function whyUnwatched(watched: Watched, kind: string): string | undefined {
  if (watched.entry !== undefined) return undefined
  const [first] = watched.kinds
  if (!first) return `no entry of "watch" is for ${shownValue(kind)}`
  const { key, expected, seen } = first
  return `"watch" has ${shownValue(kind)} with ${key} ${shownValue(expected)}, and this has ${shownValue(seen)}`
}

type Miss = { key: string; expected: string; seen: string } | undefined

function missedNamespace(namespaces: readonly string[] | undefined, { namespace }: ClusterEvent): Miss {
  if (!namespaces) return undefined
  const test = compilePatterns([...namespaces])
  if (!test.ok || test.value(namespace)) return undefined
  return { key: 'namespaces', expected: namespaces.join(', '), seen: namespace ?? '(none)' }
}

function missedLabels(selector: string | undefined, { labels }: ClusterEvent): Miss {
  if (selector === undefined) return undefined
  const test = compileKeyValues(selector)
  if (!test.ok || test.value(labels)) return undefined
  const seen = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return { key: 'labels', expected: selector, seen: seen.join(', ') || '(none)' }
}

/** Compares the values of fields, as the API server does for those that it supports. */
function missedFields(selector: string | undefined, event: ClusterEvent): Miss {
  const { object, kind, apiVersion } = event
  const isFoundDeletion = event.type === 'DELETED' && event.synthesized
  for (const term of selector === undefined ? [] : fieldTermsOf(selector)) {
    const [, path, operator, value] = /^\s*([^!=\s]+)\s*(!=|==?)\s*(.*?)\s*$/.exec(term) ?? []
    if (path === undefined || value === undefined) continue
    const computed = COMPUTED[`${apiVersion} ${kind} ${path}`]
    const seen = computed ? computed(object) : textAt(object, path)
    // Of a deletion that a list found the fields may be unknown.
    if (isFoundDeletion && seen === '') continue
    if ((seen === value.replaceAll(/\\([\\,=])/g, '$1')) === (operator !== '!=')) continue
    return { key: 'fields', expected: term.trim(), seen: seen || '(empty)' }
  }
  return undefined
}

/** Selectable fields that the JSON leaves out at their zero value, or has by another name (`ToSelectableFields` in kube-apiserver's registries). */
const COMPUTED: Readonly<Record<string, (object: unknown) => string>> = {
  'v1 Node spec.unschedulable': (node) => textAt(node, 'spec.unschedulable') || 'false',
  'v1 Pod spec.hostNetwork': (pod) => textAt(pod, 'spec.hostNetwork') || 'false',
  'v1 Event source': (event) => textAt(event, 'source.component') || textAt(event, 'reportingComponent'),
  'batch/v1 Job status.successful': (job) => textAt(job, 'status.succeeded') || '0',
}

function textAt(value: unknown, path: string): string {
  let at = value
  for (const key of path.split('.')) at = isMap(at) && Object.hasOwn(at, key) ? at[key] : undefined
  return typeof at === 'string' || typeof at === 'number' || typeof at === 'boolean' ? String(at) : ''
}
