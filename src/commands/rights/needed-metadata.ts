import type { MetadataNeed } from '../../enrich/needs.ts'
import { needsOfConfig } from '../../needs.ts'
import type { ResolvedMetadata } from '../../rights/needed.ts'
import { builtInKinds } from '../../rules/built-in-kinds.ts'
import type { Catalogue } from '../../watch/discovery.ts'
import { isPattern } from '../../watch/plan.ts'
import { resolveKind } from '../../watch/resolve.ts'
import { resourceWithoutCluster } from './offline-kind.ts'
import type { Unresolved } from './watched-resources.ts'

export interface NeededMetadata {
  metadata: ResolvedMetadata[]
  /** Kinds of `enrich`, or of a rule, that only a cluster can resolve, and those that this one does not have. */
  unresolved: { kind: string; rules: readonly string[]; why: Unresolved }[]
}

/** Which resources rules ask for besides what is watched. */
export function neededMetadata(
  config: Parameters<typeof needsOfConfig>[0],
  placeOf: (rule: number) => string | undefined,
  catalogue?: Catalogue,
): NeededMetadata {
  const result: NeededMetadata = { metadata: [], unresolved: [] }
  const places = new Map(config.rules.map(({ name }, index) => [name, placeOf(index)]))
  for (const need of needsOfConfig(config).metadata) {
    const found = resolve(need, catalogue)
    if ('why' in found) {
      result.unresolved.push({ kind: need.kind, rules: need.rules, why: found.why })
      continue
    }
    const { namespaces, name } = need
    const everywhere = !found.namespaced || namespaces?.some(isPattern)
    result.metadata.push({
      rules: need.rules.map((rule) => {
        const place = places.get(rule)
        return { name: rule, ...(place !== undefined && { place }) }
      }),
      group: found.group,
      resource: found.resource,
      namespaces: everywhere ? undefined : namespaces,
      ...(name !== undefined && { name }),
    })
  }
  return result
}

function resolve({ kind }: MetadataNeed, catalogue: Catalogue | undefined) {
  const known = resourceWithoutCluster(kind)
  if (known) {
    const { group, resource } = known
    const builtIn = builtInKinds.find((it) => it.group === group && it.plural === resource)
    return { group, resource, namespaced: builtIn?.namespaced ?? namespacedIn(catalogue, known) }
  }
  if (!catalogue) return { why: 'needs-cluster' as const }
  const resolution = resolveKind(kind, catalogue)
  if (resolution.kind === 'ambiguous') return { why: resolution.candidates }
  if (resolution.kind !== 'found') return { why: 'unknown' as const }
  const { group, plural: resource, namespaced } = resolution.resource
  return { group, resource, namespaced }
}

/** Without a cluster most custom resources are. */
function namespacedIn(
  catalogue: Catalogue | undefined,
  { group, resource }: { group: string; resource: string },
) {
  return catalogue?.resources.find((it) => it.group === group && it.plural === resource)?.namespaced ?? true
}
