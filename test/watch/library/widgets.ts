import type { ServerResponse } from 'node:http'
import { configMap, failure, type ScriptedApi } from '../../servers/scripted-api.ts'

const RESOURCE = {
  resource: 'widgets',
  responseKind: { group: 'example.com', version: 'v1', kind: 'Widget' },
  scope: 'Namespaced',
  singularResource: 'widget',
  verbs: ['get', 'list', 'watch'],
}
const NAMES = { kind: 'Widget', plural: 'widgets', singular: 'widget' }
const DEFINITION = {
  metadata: { name: 'widgets.example.com' },
  spec: { group: 'example.com', names: NAMES, scope: 'Namespaced' },
}

/** Whether there is a CustomResourceDefinition, and whether the API server serves the resource. */
interface Availability {
  isDefined: boolean
  isServed: boolean
}

export const THERE: Availability = { isDefined: true, isServed: true }
export const DEFINED: Availability = { isDefined: true, isServed: false }
export const GONE: Availability = { isDefined: false, isServed: false }

/** A custom resource that comes and goes. */
export interface Widgets {
  /** Where the resource is not served any more, its watches end. */
  become(availability: Availability): void
}

/** Serves widgets of these names in every namespace, and ConfigMaps as usual. */
export function serveWidgets(api: ScriptedApi, names: readonly string[], begin: Availability): Widgets {
  let state = begin
  const watches = new Set<ServerResponse>()
  const json = (response: ServerResponse, status: number, body: object) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  api.intercept = ({ path, isWatch, query }, response) => {
    if (path === '/apis') {
      const group = {
        metadata: { name: 'example.com' },
        versions: [{ version: 'v1', resources: [RESOURCE] }],
      }
      json(response, 200, { kind: 'APIGroupDiscoveryList', items: state.isServed ? [group] : [] })
    } else if (path.endsWith('/customresourcedefinitions'))
      json(response, 200, {
        metadata: { resourceVersion: '10' },
        items: state.isDefined ? [DEFINITION] : [],
      })
    else if (path.endsWith(`/${DEFINITION.metadata.name}`) && state.isDefined) json(response, 200, DEFINITION)
    else if (!path.endsWith('/widgets')) return false
    else if (!state.isServed) json(response, 404, failure(404, 'NotFound'))
    else if (query.has('sendInitialEvents')) json(response, 422, failure(422, 'Invalid'))
    else if (isWatch) {
      watches.add(response)
      response.writeHead(200).flushHeaders()
    } else {
      const items = names.map((name) => ({
        ...configMap(name, 5),
        kind: 'Widget',
        apiVersion: 'example.com/v1',
      }))
      json(response, 200, { metadata: { resourceVersion: '10' }, items })
    }
    return true
  }
  return {
    become(availability) {
      state = availability
      if (!state.isServed) for (const it of watches) it.end()
    },
  }
}
