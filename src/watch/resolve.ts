import type { Resource } from '../event.ts'
import type { Catalogue, DiscoveredResource } from './discovery.ts'

export type Resolution =
  | { kind: 'found'; resource: Resource }
  | { kind: 'ambiguous'; candidates: string[] }
  | { kind: 'absent' }
  /** A group that did not answer may have it. */
  | { kind: 'unsure' }

/**
 * Finds what a spelling means: `Deployment`, `deployments`, `deploy`, `deployments.apps`, `deployments.v1.apps`,
 * `apps/v1/Deployment`, `apps/Deployment`, `v1/Pod`. Built-in groups win over custom ones, and the core group over all,
 * as in kubectl; two custom groups with the same kind are ambiguous.
 */
export function resolveKind(spelling: string, catalogue: Catalogue): Resolution {
  const matches = catalogue.resources.filter((resource) => spells(spelling, resource))
  const groups = [...new Set(matches.map(({ group }) => group))]
  const group = chooseGroup(groups)
  if (group === undefined) {
    if (groups.length === 0)
      return { kind: catalogue.silentGroups.some((it) => mayBeOf(spelling, it)) ? 'unsure' : 'absent' }
    return { kind: 'ambiguous', candidates: groups.map((it) => fullName(matches, it)) }
  }
  const inGroup = matches.filter((resource) => resource.group === group)
  const chosen = inGroup.find(({ preferred }) => preferred) ?? inGroup[0]
  if (!chosen) return { kind: 'absent' }
  const { version, kind, plural, namespaced } = chosen
  return { kind: 'found', resource: { group, version, kind, plural, namespaced } }
}

/** True when a spelling names this resource in any version. */
export function namesResource(spelling: string, resource: DiscoveredResource): boolean {
  const version = spelling.includes('/') ? spelling.split('/').at(-2) : spelling.split('.')[1]
  return spells(spelling, resource) || spells(spelling, { ...resource, version: version ?? '' })
}

/** Does a spelling name this group, or none? */
function mayBeOf(spelling: string, group: string): boolean {
  const parts = spelling.split('/')
  if (parts.length > 1) return parts[0] === group
  return !spelling.includes('.') || spelling.endsWith(`.${group}`)
}

/** `deployments.apps`, or `pods` in the core group. */
export function titleOf({ plural, group }: Pick<Resource, 'plural' | 'group'>): string {
  return group === '' ? plural : `${plural}.${group}`
}

function chooseGroup(groups: readonly string[]): string | undefined {
  if (groups.length <= 1) return groups[0]
  if (groups.includes('')) return ''
  const builtIn = groups.filter((group) => !group.includes('.') || group.endsWith('.k8s.io'))
  return builtIn.length === 1 ? builtIn[0] : undefined
}

function fullName(matches: readonly DiscoveredResource[], group: string): string {
  const { plural = '' } = matches.find((resource) => resource.group === group) ?? {}
  return titleOf({ plural, group })
}

function spells(spelling: string, resource: DiscoveredResource): boolean {
  if (spelling.includes('/')) return spellsPath(spelling.split('/'), resource)
  const dot = spelling.indexOf('.')
  if (dot === -1) return namesKind(spelling, resource)
  const rest = spelling.slice(dot + 1)
  return (
    namesKind(spelling.slice(0, dot), resource) &&
    (rest === resource.group || rest === `${resource.version}.${resource.group}`)
  )
}

/** `group/version/Kind`, `group/Kind`, or `version/Kind` of the core group. */
function spellsPath(parts: readonly string[], resource: DiscoveredResource): boolean {
  const kind = parts.at(-1) ?? ''
  if (!namesKind(kind, resource)) return false
  if (parts.length === 3) return parts[0] === resource.group && parts[1] === resource.version
  if (parts.length !== 2) return false
  return parts[0] === resource.group || (resource.group === '' && parts[0] === resource.version)
}

function namesKind(word: string, { kind, plural, singular, shortNames }: DiscoveredResource): boolean {
  const lower = word.toLowerCase()
  return lower === kind.toLowerCase() || lower === plural || lower === singular || shortNames.includes(lower)
}
