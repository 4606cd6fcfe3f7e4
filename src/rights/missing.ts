import type { Need, Right, Verb } from './right.ts'

/** Rights on one thing that are missing, for people. */
export interface Missing {
  /** `cannot list and watch pods in namespace shop: needed by watch[0] at kubeherald.yaml:5:5, …`. */
  sentence: string
  /** Without it something cannot run at all. */
  required: boolean
}

/** The question whether one has a right (SelfSubjectAccessReview), which everybody may ask. */
export function reviewOf({ namespace, group, resource, verb, name }: Right): object {
  const resourceAttributes = {
    ...(namespace !== undefined && { namespace }),
    group,
    resource,
    verb,
    ...(name !== undefined && { name }),
  }
  return {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  }
}

/** Says what is missing, one sentence for each thing; what stops a watch comes first. */
export function tellMissing(rights: readonly Right[]): Missing[] {
  const things = Map.groupBy(rights, ({ namespace, group, resource, name }) =>
    JSON.stringify([namespace, group, resource, name]),
  )
  const told = [...things.values()].map((same): Missing => {
    const needs = same[0]!.needs
    const required = needs.some((need) => need.required)
    return {
      sentence: `cannot ${joined(same.map(({ verb }) => verb))} ${thingOf(same[0]!)}: ${reasonOf(needs)}`,
      required,
    }
  })
  return told.sort((a, b) => Number(b.required) - Number(a.required))
}

function thingOf({ namespace, group, resource, name }: Right): string {
  if (resource === 'namespaces' && name !== undefined) return `namespace ${name}`
  const title = group === '' ? resource : `${resource}.${group}`
  const object = name === undefined ? title : `${title} "${name}"`
  return namespace === undefined ? `${object} in the cluster` : `${object} in namespace ${namespace}`
}

function reasonOf(needs: readonly Need[]): string {
  const places = needs.flatMap(({ what, place }) => (place ? [`${headOf(what)} at ${place}`] : []))
  const without = [...new Set(needs.map((need) => need.without))].join('; ')
  return [...(places.length > 0 ? [`needed by ${places.join(', ')}`] : []), `without it ${without}`].join(
    '; ',
  )
}

/** `watch[0]` of `watch[0]: Deployment`. */
function headOf(what: string): string {
  return what.split(':')[0]!
}

function joined(verbs: readonly Verb[]): string {
  const last = verbs.at(-1)!
  return verbs.length === 1 ? last : `${verbs.slice(0, -1).join(', ')} and ${last}`
}
