import { groupOf, watchedKindOf } from '../../config/watched-kind.ts'
import { builtInKinds } from '../../rules/built-in-kinds.ts'

/** What RBAC calls a kind. */
export interface KnownResource {
  group: string
  /** The plural. */
  resource: string
  custom: boolean
}

/**
 * What a spelling surely means, without a cluster: a built-in kind, or a custom resource that is written as its plural and
 * its group. Undefined when only a cluster can tell.
 */
export function resourceWithoutCluster(spelling: string): KnownResource | undefined {
  const watched = watchedKindOf(spelling)
  if (!watched) return undefined
  const { builtIn } = watched
  const known = builtIn.find(({ group }) => group === '') ?? builtIn[0]
  if (known) return { group: known.group, resource: known.plural, custom: false }
  const { word, qualifier } = watched.spelling
  const group = groupOf(qualifier ?? '')
  // `Database` is a kind, `database` may be one in lower case, `db` a short name: their plurals are anyone's guess.
  const isPlural = /^[a-z][-a-z0-9]*s\./.test(spelling)
  return isPlural && group.includes('.') ? { group, resource: word, custom: true } : undefined
}

/** Is this resource defined by a CustomResourceDefinition? Aggregated APIs cannot be told from those by their names. */
export function mayBeCustom({ group, plural }: { group: string; plural: string }): boolean {
  return group.includes('.') && !builtInKinds.some((it) => it.group === group && it.plural === plural)
}
