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

const MOST_NAMED = 3

/** What cannot run at all comes first; of many a few are named. */
function reasonOf(all: readonly Need[]): string {
  const needs = [...all].sort((a, b) => Number(b.required) - Number(a.required))
  const places = needs.flatMap(({ what, place }) => (place ? [`${headOf(what)} at ${place}`] : []))
  const without = consequences(needs.map((need) => need.without)).join('; ')
  return [
    ...(places.length > 0 ? [`needed by ${few(places).join(', ')}`] : []),
    `without it ${without}`,
  ].join('; ')
}

/** `rule "a" cannot match`, `rule "b" cannot match` → `rule "a", rule "b" cannot match`. */
function consequences(sentences: readonly string[]): string[] {
  const split = [...new Set(sentences)].map(
    (it) => /^(\S+(?: "[^"]*")?) (cannot \w+)$/.exec(it) ?? [it, '', it],
  )
  const byPredicate = Map.groupBy(split, ([, , predicate]) => predicate)
  return [...byPredicate].map(([predicate, some]) => {
    const subjects = some.map(([, subject]) => subject).filter(Boolean)
    return [few(subjects).join(', '), predicate].filter(Boolean).join(' ')
  })
}

function few(names: readonly (string | undefined)[]): (string | undefined)[] {
  const more = names.length - MOST_NAMED
  return more <= 1 ? [...names] : [...names.slice(0, MOST_NAMED), `${more} more`]
}

/** `watch[0]` of `watch[0]: Deployment`. */
function headOf(what: string): string {
  return what.split(':')[0]!
}

function joined(verbs: readonly Verb[]): string {
  const last = verbs.at(-1)!
  return verbs.length === 1 ? last : `${verbs.slice(0, -1).join(', ')} and ${last}`
}
