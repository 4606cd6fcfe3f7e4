import { LEASE_RIGHTS } from './leases.ts'
import { mergeRights } from './merge.ts'
import type { Need, Right } from './right.ts'

/** An entry of `watch`, its kind resolved. */
export interface ResolvedWatch {
  index: number
  /** As the configuration spells its kind. */
  kind: string
  place?: string
  group: string
  resource: string
  /** Defined by a CustomResourceDefinition, as far as one can know. */
  custom: boolean
  /** Namespaces by name; undefined reads all of them (or objects that are in none). */
  namespaces: readonly string[] | undefined
  /** The selector names one object. */
  name?: string
}

/** Metadata that rules ask for, its kind resolved. */
export interface ResolvedMetadata {
  /** The rules that ask for it, and where they stand. */
  rules: readonly { name: string; place?: string }[]
  group: string
  resource: string
  /** Undefined reads all of them (or objects that are in none). */
  namespaces: readonly string[] | undefined
  /** This object alone. */
  name?: string
}

/** What of a configuration asks for rights; a feature that needs more gets a field here and a function in FEATURES. */
export interface Wants {
  watches: readonly ResolvedWatch[]
  metadata?: readonly ResolvedMetadata[]
  /** Replicas share the watches by Leases in this namespace. */
  leaseNamespace?: string
}

const FEATURES: readonly ((wants: Wants) => Right[])[] = [
  watchRights,
  metadataRights,
  identityRights,
  definitionRights,
  leaseRights,
]

/** Every right that a configuration needs and no other; each once, with all that needs it, sorted. */
export function rightsNeeded(wants: Wants): Right[] {
  return mergeRights(FEATURES.flatMap((rightsOf) => rightsOf(wants)))
}

function watchRights({ watches }: Wants): Right[] {
  return watches.flatMap((watch) => {
    const { group, resource, name, namespaces = [undefined] } = watch
    const without = `${nameOf(watch)} cannot run`
    const needs = [needOf(watch, { what: titleOf(watch), without, required: true })]
    const of = { group, resource, needs, ...(name !== undefined && { name }) }
    return namespaces.flatMap((namespace) =>
      (['list', 'watch'] as const).map((verb) => ({ ...of, namespace, verb })),
    )
  })
}

/** RBAC knows no right to metadata alone. */
function metadataRights({ metadata = [] }: Wants): Right[] {
  return metadata.flatMap(({ rules, group, resource, namespaces = [undefined], name }) => {
    const needs = rules.map(({ name: rule, place }): Need => {
      const what = `rule "${rule}": metadata of objects around events`
      const without = `rule "${rule}" cannot match`
      return { what, without, required: true, ...(place !== undefined && { place }) }
    })
    const of = { group, resource, needs, ...(name !== undefined && { name }) }
    return namespaces.flatMap((namespace) =>
      (['list', 'watch'] as const).map((verb) => ({ ...of, namespace, verb })),
    )
  })
}

function identityRights({ watches }: Wants): Right[] {
  if (watches.length === 0) return []
  const need: Need = {
    what: 'tells this cluster from another one (optional)',
    without:
      'a cluster that moves to another address begins anew, and another one at its address is not noticed',
    required: false,
  }
  const name = 'kube-system'
  return [{ namespace: name, group: '', resource: 'namespaces', name, verb: 'get', needs: [need] }]
}

function definitionRights({ watches }: Wants): Right[] {
  const custom = watches.filter((watch) => watch.custom)
  return custom.map((watch) => {
    const { group, resource } = watch
    const need = needOf(watch, {
      what: `${titleOf(watch)}: notices that the kind itself is deleted (optional)`,
      without: 'when the kind itself is deleted, the deletion of its objects is told only once it is back',
      required: false,
    })
    return {
      namespace: undefined,
      group: 'apiextensions.k8s.io',
      resource: 'customresourcedefinitions',
      name: `${resource}.${group}`,
      verb: 'get',
      needs: [need],
    }
  })
}

function leaseRights({ leaseNamespace: namespace }: Wants): Right[] {
  if (namespace === undefined) return []
  const needs = [
    {
      what: 'leases: replicas share the watches',
      without: 'replicas cannot share the watches',
      required: true,
    },
  ]
  const { verbs, ...leases } = LEASE_RIGHTS
  return verbs.map((verb) => ({ ...leases, namespace, needs, verb }))
}

function titleOf(watch: ResolvedWatch): string {
  return `${nameOf(watch)}: ${watch.kind}`
}

function nameOf({ index }: ResolvedWatch): string {
  return `watch[${index}]`
}

function needOf({ place }: ResolvedWatch, need: Need): Need {
  return place === undefined ? need : { ...need, place }
}
