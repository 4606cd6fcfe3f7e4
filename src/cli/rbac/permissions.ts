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
  /** The rules that need it, with their places. */
  rules: readonly { name: string; place?: string }[]
  group: string
  resource: string
  /** Undefined reads all of them (or objects that are in none). */
  namespaces: readonly string[] | undefined
  /** This object alone. */
  name?: string
}

/** Pods whose logs a rule asks for. */
export interface ResolvedLogs {
  rule: string
  place?: string
  /** Undefined: in all namespaces. */
  namespaces: readonly string[] | undefined
  /** This pod alone. */
  name?: string
}

/** The features of a configuration that need permissions; a new one gets a field here and a function in FEATURES. */
export interface Features {
  watches: readonly ResolvedWatch[]
  metadata?: readonly ResolvedMetadata[]
  logs?: readonly ResolvedLogs[]
  /** Replicas share the watches by Leases in this namespace. */
  leaseNamespace?: string
}

const FEATURES: readonly ((features: Features) => Permission[])[] = [
  watchPermissions,
  metadataPermissions,
  logPermissions,
  identityPermissions,
  definitionPermissions,
  leasePermissions,
]

/** Returns exactly the permissions that a configuration needs, each once with its needs, sorted. */
export function permissionsNeeded(features: Features): Permission[] {
  return mergePermissions(FEATURES.flatMap((permissionsOf) => permissionsOf(features)))
}

function watchPermissions({ watches }: Features): Permission[] {
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

/** RBAC has no permission to metadata alone. */
function metadataPermissions({ metadata = [] }: Features): Permission[] {
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

function logPermissions({ logs = [] }: Features): Permission[] {
  return logs.flatMap(({ rule, place, namespaces = [undefined], name }) => {
    const need: Need = {
      what: `rule "${rule}": logs of containers`,
      without: `rule "${rule}" cannot show logs`,
      required: true,
      ...(place !== undefined && { place }),
    }
    const of = { group: '', resource: 'pods/log', needs: [need], ...(name !== undefined && { name }) }
    return namespaces.map((namespace) => ({ ...of, namespace, verb: 'get' as const }))
  })
}

function identityPermissions({ watches }: Features): Permission[] {
  if (watches.length === 0) return []
  const need: Need = {
    what: 'distinguishes this cluster from another one (optional)',
    without:
      'a cluster that moves to another address starts from the beginning, and another one at its address is not noticed',
    required: false,
  }
  const name = 'kube-system'
  return [{ namespace: name, group: '', resource: 'namespaces', name, verb: 'get', needs: [need] }]
}

function definitionPermissions({ watches }: Features): Permission[] {
  const custom = watches.filter((watch) => watch.custom)
  return custom.map((watch) => {
    const { group, resource } = watch
    const need = needOf(watch, {
      what: `${titleOf(watch)}: notices that the kind itself is deleted (optional)`,
      without:
        'when the kind itself is deleted, the deletion of its objects is reported only when it is back',
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

function leasePermissions({ leaseNamespace: namespace }: Features): Permission[] {
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

/** The permissions for leases, in their namespace only. */
export const LEASE_RIGHTS = {
  group: 'coordination.k8s.io',
  resource: 'leases',
  verbs: ['get', 'list', 'create', 'update', 'delete'],
} as const

/** Returns each permission once; a wider permission replaces those that it includes. */
function mergePermissions(permissions: readonly Permission[]): Permission[] {
  const merged: Permission[] = []
  // The widest come first, so that a permission is compared with those that may include it.
  for (const permission of permissions.toSorted((a, b) => widthOf(b) - widthOf(a))) {
    const wider = merged.findIndex((it) => includes(it, permission))
    if (wider === -1) merged.push(permission)
    else merged[wider] = { ...merged[wider]!, needs: allNeeds(merged[wider]!, permission) }
  }
  return merged.sort(compare)
}

function widthOf({ namespace, name }: Permission): number {
  return (namespace === undefined ? 2 : 0) + (name === undefined ? 1 : 0)
}

function includes(wide: Permission, narrow: Permission): boolean {
  return (
    wide.group === narrow.group &&
    wide.resource === narrow.resource &&
    wide.verb === narrow.verb &&
    (wide.namespace === undefined || wide.namespace === narrow.namespace) &&
    (wide.name === undefined || wide.name === narrow.name)
  )
}

/** In the order of the configuration; shared features come last. */
function allNeeds(a: Permission, b: Permission): Need[] {
  const needs = [...a.needs, ...b.needs]
  const unique = needs.filter(({ what }, i) => needs.findIndex((it) => it.what === what) === i)
  return unique.sort((a, b) => byNumber.compare(a.what, b.what))
}

function compare(a: Permission, b: Permission): number {
  return (
    byText(a.namespace ?? '', b.namespace ?? '') ||
    byText(a.group, b.group) ||
    byText(a.resource, b.resource) ||
    byText(a.name ?? '', b.name ?? '') ||
    VERBS.indexOf(a.verb) - VERBS.indexOf(b.verb)
  )
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** `watch[10]` comes behind `watch[2]`. */
const byNumber = new Intl.Collator('en', { numeric: true })

interface Need {
  /** `watch[0]: Deployment`, or a feature: `leases`. */
  what: string
  /** Where the configuration asks for it: `kubeherald.yaml:5:5`. */
  place?: string
  /** What does not work without the permission. */
  without: string
  /** False when kubeherald works without it, only less well. */
  required: boolean
}

/** One verb on one resource. */
export interface Permission {
  /** Undefined: in all namespaces, or of objects that are in none. */
  namespace: string | undefined
  /** '' for the core group. */
  group: string
  /** The plural, as in a path; with a subresource, as in `pods/log`. */
  resource: string
  verb: Verb
  /** This object alone. */
  name?: string
  needs: readonly Need[]
}

export type Verb = (typeof VERBS)[number]

/** In the order in which rules list them. */
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'delete'] as const

/**
 * The object that a field selector names, as the API server reads it: RBAC can then give `list` and `watch` of that object
 * alone. Undefined when it names none.
 */
export function objectNameOf(fieldSelector: string): string | undefined {
  for (const term of fieldSelector.split(',')) {
    const name = /^\s*metadata\.name\s*==?\s*([^\s!=\\/%]+)\s*$/.exec(term)?.[1]
    if (name !== undefined) return name === '.' || name === '../..' ? undefined : name
  }
  return undefined
}

/** The missing permissions on one resource. */
export interface MissingPermissions {
  /** `cannot list and watch pods in namespace shop: needed by watch[0] at kubeherald.yaml:5:5, …`. */
  sentence: string
  /** Without it something does not work at all. */
  required: boolean
}

/** Returns the SelfSubjectAccessReview for a permission; every user may create one. */
export function reviewOf({ namespace, group, resource, verb, name }: Permission): object {
  const [main, subresource] = resource.split('/')
  const resourceAttributes = {
    ...(namespace !== undefined && { namespace }),
    group,
    resource: main,
    ...(subresource !== undefined && { subresource }),
    verb,
    ...(name !== undefined && { name }),
  }
  return {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  }
}

/** Describes missing permissions, one sentence for each resource; required ones come first. */
export function describeMissing(permissions: readonly Permission[]): MissingPermissions[] {
  const resources = Map.groupBy(permissions, ({ namespace, group, resource, name }) =>
    JSON.stringify([namespace, group, resource, name]),
  )
  const missing = [...resources.values()].map((same): MissingPermissions => {
    const { needs } = same[0]!
    const verbs = same.map(({ verb }) => verb)
    const last = verbs.pop()!
    const listed = verbs.length === 0 ? last : `${verbs.join(', ')} and ${last}`
    return {
      sentence: `cannot ${listed} ${describeResource(same[0]!)}: ${describeNeeds(needs)}`,
      required: needs.some((need) => need.required),
    }
  })
  return missing.sort((a, b) => Number(b.required) - Number(a.required))
}

function describeResource({ namespace, group, resource, name }: Permission): string {
  if (resource === 'namespaces' && name !== undefined) return `namespace ${name}`
  const title = group === '' ? resource : `${resource}.${group}`
  const object = name === undefined ? title : `${title} "${name}"`
  return namespace === undefined ? `${object} in the cluster` : `${object} in namespace ${namespace}`
}

function describeNeeds(all: readonly Need[]): string {
  const needs = [...all].sort((a, b) => Number(b.required) - Number(a.required))
  const places = needs.flatMap(({ what, place }) => (place ? [`${what.split(':')[0]} at ${place}`] : []))
  // `rule "a" cannot match`, `rule "b" cannot match` → `rule "a", rule "b" cannot match`
  const split = [...new Set(needs.map((need) => need.without))].map(
    (it) => /^(\S+(?: "[^"]*")?) (cannot \w+)$/.exec(it)?.slice(1) ?? ['', it],
  )
  const consequences = [...Map.groupBy(split, ([, predicate]) => predicate)].map(([predicate, some]) =>
    [few(some.flatMap(([subject]) => subject || [])), predicate].filter(Boolean).join(' '),
  )
  return [
    ...(places.length > 0 ? [`needed by ${few(places)}`] : []),
    `without it ${consequences.join('; ')}`,
  ].join('; ')
}

const MAX_NAMED = 3

function few(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  return (more <= 1 ? names : [...names.slice(0, MAX_NAMED), `${more} more`]).join(', ')
}
