import type { Right, Verb } from './right.ts'

/** A PolicyRule of RBAC, and what needs it. */
export interface Rule {
  apiGroup: string
  resource: string
  resourceNames: readonly string[]
  verbs: readonly Verb[]
  /** One line for each that needs it. */
  reasons: readonly string[]
}

/** What a ClusterRole holds, and a Role in each namespace. */
export interface RuleSet {
  cluster: readonly Rule[]
  namespaces: ReadonlyMap<string, readonly Rule[]>
}

/** Rules of sorted rights: namespaced wherever the right is. */
export function rulesOf(rights: readonly Right[]): RuleSet {
  const scopes = Map.groupBy(rights, ({ namespace }) => namespace)
  const cluster = rulesIn(scopes.get(undefined) ?? [])
  const namespaces = new Map<string, readonly Rule[]>()
  for (const [namespace, inside] of scopes)
    if (namespace !== undefined) namespaces.set(namespace, rulesIn(inside))
  return { cluster, namespaces }
}

function rulesIn(rights: readonly Right[]): Rule[] {
  const objects = Map.groupBy(rights, ({ group, resource, name }) => JSON.stringify([group, resource, name]))
  const rules = [...objects.values()].map((same): Rule => {
    const { group: apiGroup, resource, name } = same[0]!
    return {
      apiGroup,
      resource,
      resourceNames: name === undefined ? [] : [name],
      verbs: same.map(({ verb }) => verb),
      reasons: reasonsOf(same),
    }
  })
  // Rules for single objects of one resource differ in nothing but the names.
  const alike = Map.groupBy(rules, ({ apiGroup, resource, verbs, resourceNames }) =>
    JSON.stringify([apiGroup, resource, verbs, resourceNames.length]),
  )
  return [...alike.values()].map((some) => ({
    ...some[0]!,
    resourceNames: some.flatMap(({ resourceNames }) => resourceNames),
    reasons: [...new Set(some.flatMap(({ reasons }) => reasons))],
  }))
}

function reasonsOf(rights: readonly Right[]): string[] {
  return [...new Set(rights.flatMap(({ needs }) => needs.map(({ what }) => what)))]
}
