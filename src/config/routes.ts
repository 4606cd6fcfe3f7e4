import type { ConfigDocument, Path } from './document.ts'
import type { Located } from './source-node.ts'

/** Rule → sink → the options that the rule has for it, as the sink type's schema made them. */
export type Routes = ReadonlyMap<string, ReadonlyMap<string, unknown>>

/** The key for the deliveries of removed rules; no rule has this name. */
export const NO_RULE = ''

export function routeOf(routes: Routes, rule: string, sink: string): unknown {
  return routes.get(rule)?.get(sink) ?? routes.get(NO_RULE)?.get(sink)
}

/** A sink that a rule names, with the options that the rule has for it. */
export interface Target {
  sink: string
  /** Where it is named. */
  path: Path
  /** True when it is named by a key. */
  atKey: boolean
  /** An empty map when the rule sets no options. */
  options: unknown
}

/** Returns the sinks in a rule's `to`, in any of its forms; invalid entries are skipped. */
export function targetsOf(document: ConfigDocument, rule: number): Target[] {
  const path = ['rules', rule, 'to']
  const to = document.at(path)
  if (!to) return []
  return to.items ? to.items.flatMap((item, at) => namesIn(item, [...path, at])) : namesIn(to, path)
}

function namesIn({ value, entries }: Located, path: Path): Target[] {
  if (typeof value === 'string') return [{ sink: value, path, atKey: false, options: {} }]
  return [...(entries ?? [])].map(([sink, entry]) => ({
    sink,
    path: [...path, sink],
    atKey: true,
    options: entry.value.value ?? {},
  }))
}

/** The same of plain data: sinks with their options. */
export function namedSinks(to: unknown): [sink: string, options: unknown][] {
  return [to].flat().flatMap((it): [string, unknown][] => {
    if (typeof it === 'string') return [[it, {}]]
    return Object.entries(it ?? {}).map(([sink, options]) => [sink, options ?? {}])
  })
}
