import type { ClusterEvent } from '../event.ts'
import { compileKeyValues } from '../rules/key-values.ts'
import { compileKinds } from '../rules/kind.ts'
import { compilePatterns } from '../rules/pattern.ts'
import type { WatchEntry } from '../watch/schema.ts'
import { isPlainMap } from './plain.ts'

/** Does an entry of `watch` bring this event? Else what of the entries of its kind keeps it away. */
export type Watched =
  | { entry: number }
  | { entry: undefined; kinds: readonly { entry: number; key: string; expected: string; seen: string }[] }

/** Finds the entry of `watch` that brings an event; what none brings, rules never see. */
export function watchedBy(entries: readonly WatchEntry[], event: ClusterEvent): Watched {
  const kinds: { entry: number; key: string; expected: string; seen: string }[] = []
  for (const [entry, { kind, namespaces, labels, fields }] of entries.entries()) {
    const ofKind = compileKinds(kind)
    if (!ofKind.ok || !ofKind.value(event.resource)) continue
    const miss =
      missedNamespace(namespaces, event) ?? missedLabels(labels, event) ?? missedFields(fields, event)
    if (!miss) return { entry }
    kinds.push({ entry, ...miss })
  }
  return { entry: undefined, kinds }
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

/** As the API server does for the fields that it knows: texts at paths, compared. */
function missedFields(selector: string | undefined, event: ClusterEvent): Miss {
  for (const term of selector?.split(',') ?? []) {
    const [, path, operator, value] = /^\s*([^!=\s]+)\s*(!=|==?)\s*(.*?)\s*$/.exec(term) ?? []
    if (path === undefined || value === undefined) continue
    const seen = textAt(event.object, path.split('.'))
    if ((seen === value) === (operator !== '!=')) continue
    return { key: 'fields', expected: term.trim(), seen: seen || '(empty)' }
  }
  return undefined
}

function textAt(value: unknown, path: readonly string[]): string {
  let at = value
  for (const key of path) at = isPlainMap(at) && Object.hasOwn(at, key) ? at[key] : undefined
  return typeof at === 'string' || typeof at === 'number' || typeof at === 'boolean' ? String(at) : ''
}
