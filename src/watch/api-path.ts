import type { Resource } from '../event.ts'

/** `v1`, `apps/v1`. */
export function apiVersionOf({ group, version }: Resource): string {
  return group === '' ? version : `${group}/${version}`
}

/** The API path of a resource's objects, or of one of them. */
export function pathOf(resource: Resource, namespace: string, name?: string): string {
  const root =
    resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}${scope}/${resource.plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}
