import { CATALOGUE, type ServedResource } from './catalogue.ts'

export const DISCOVERY_TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Aggregated discovery (KEP-3352) of `/api` or `/apis`. */
export function discoveryOf(path: '/api' | '/apis'): object {
  const served = CATALOGUE.filter(({ group }) => (group === '') === (path === '/api'))
  const groups = Map.groupBy(served, ({ group }) => group)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: [...groups].map(([name, resources]) => groupOf(name, resources)),
  }
}

function groupOf(name: string, resources: readonly ServedResource[]): object {
  const versions = Map.groupBy(resources, ({ version }) => version)
  return {
    metadata: name === '' ? {} : { name },
    versions: [...versions].map(([version, those]) => ({
      version,
      resources: those.map(describe),
      freshness: 'Current',
    })),
  }
}

function describe({ plural, kind, namespaced, singular, shortNames, ...it }: ServedResource): object {
  // A real server names group and version only where they come from a CustomResourceDefinition.
  const { group, version } = it.custom ? it : { group: '', version: '' }
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: ['get', 'list', 'watch'],
    ...(shortNames.length > 0 && { shortNames }),
  }
}
