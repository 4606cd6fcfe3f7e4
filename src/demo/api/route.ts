import { CATALOGUE, type ServedResource } from './catalogue.ts'
import { Refusal } from './status.ts'

/** What a path means. */
export type Target =
  | { kind: 'discovery'; path: '/api' | '/apis' }
  | { kind: 'version' }
  | { kind: 'health' }
  | { kind: 'collection'; resource: ServedResource; namespace: string }
  | { kind: 'object'; resource: ServedResource; namespace: string; name: string }

/** Reads a path; undefined for one that no part of an API server answers. Throws Refusal for an unknown resource. */
export function targetOf(pathname: string): Target | undefined {
  const path = pathname.length > 1 ? pathname.replace(/\/$/, '') : pathname
  if (path === '/api' || path === '/apis') return { kind: 'discovery', path }
  if (path === '/version') return { kind: 'version' }
  if (['/healthz', '/livez', '/readyz'].includes(path)) return { kind: 'health' }
  const [, root, ...parts] = path.split('/').map(decode)
  if (root === 'api') return resourceTarget('', parts)
  const [group = '', ...rest] = parts
  return root === 'apis' && isServed(group) ? resourceTarget(group, rest) : undefined
}

function isServed(group: string): boolean {
  return group !== '' && CATALOGUE.some((resource) => resource.group === group)
}

function resourceTarget(group: string, [version, ...parts]: readonly string[]): Target {
  const inVersion = CATALOGUE.filter((it) => it.group === group && it.version === version)
  const find = (plural: string | undefined, namespaced?: boolean) =>
    inVersion.find((it) => it.plural === plural && (namespaced ?? it.namespaced) === it.namespaced)
  // `/namespaces/shop` is an object, `/namespaces/shop/pods` a collection.
  const scoped = parts[0] === 'namespaces' && parts.length > 2
  const namespace = scoped ? (parts[1] ?? '') : ''
  const [plural, name, ...rest] = scoped ? parts.slice(2) : parts
  const resource = scoped ? find(plural, true) : find(plural)
  if (!resource || rest.length > 0) throw unknownResource()
  if (name === undefined) return { kind: 'collection', resource, namespace }
  if (resource.namespaced && !scoped) throw unknownResource()
  return { kind: 'object', resource, namespace, name }
}

function unknownResource(): Refusal {
  return new Refusal(404, 'NotFound', 'the server could not find the requested resource', {})
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
