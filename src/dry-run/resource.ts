import type { Resource } from '../event.ts'
import { nearest } from '../nearest.ts'
import { type BuiltInKind, builtInKinds } from '../rules/built-in-kinds.ts'
import { pluralOf } from '../rules/kind.ts'

export type FoundResource = { resource: Resource } | { fault: string; hint?: string }

/** What kind of object this is, without a cluster: built-in kinds are known, of others the usual plural is taken. */
export function resourceOf(
  apiVersion: string | undefined,
  kind: string,
  namespace: string | undefined,
): FoundResource {
  if (apiVersion === undefined) return builtIn(kind)
  const slash = apiVersion.indexOf('/')
  const group = slash === -1 ? '' : apiVersion.slice(0, slash)
  const version = apiVersion.slice(slash + 1)
  const known = builtInKinds.find((it) => it.kind === kind && it.group === group)
  if (known) return { resource: { ...resourceIn(known), version } }
  return {
    resource: { group, version, kind, plural: pluralOf(kind), namespaced: namespace !== undefined },
  }
}

/** Of kinds that are in several groups, the core group's is meant, as in kubectl. */
function builtIn(kind: string): FoundResource {
  const known = builtInKinds.filter((it) => it.kind === kind)
  const chosen = known.find(({ group }) => group === '') ?? known[0]
  if (chosen) return { resource: resourceIn(chosen) }
  const near = nearest(
    kind,
    builtInKinds.map((it) => it.kind),
  )
  const hint = near === undefined ? 'such as apiVersion: stable.example.com/v1' : `did you mean "${near}"?`
  return { fault: `"${kind}" is no built-in kind: it needs an apiVersion`, hint }
}

function resourceIn({ kind, plural, group, namespaced }: BuiltInKind): Resource {
  return { group, version: group === 'autoscaling' ? 'v2' : 'v1', kind, plural, namespaced }
}
