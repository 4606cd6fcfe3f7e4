import type { ServerResponse } from 'node:http'
import { configMap, failure, type ScriptedApi } from '../servers/scripted-api.ts'

const NAMES = { kind: 'Widget', plural: 'widgets', singular: 'widget', shortNames: ['wdg'] }
const RESOURCE = {
  resource: NAMES.plural,
  responseKind: { group: 'example.com', version: 'v1', kind: NAMES.kind },
  scope: 'Namespaced',
  singularResource: NAMES.singular,
  verbs: ['get', 'list', 'watch'],
  shortNames: NAMES.shortNames,
}
const DEFINITION = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    names: NAMES,
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true }],
  },
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

interface WidgetsOptions {
  begin: Availability
  /** The widgets of a namespace. */
  namesIn(namespace: string): readonly string[]
  mayListDefinitions?: boolean
  /** Another group, of an aggregated API that does not answer. */
  silentGroup?: object
}

/** Serves widgets at resourceVersion 10, each of version 5; everything else as usual. */
export function serveWidgets(
  api: ScriptedApi,
  { begin, namesIn, mayListDefinitions = true, silentGroup }: WidgetsOptions,
): Widgets {
  let state = begin
  const watches = new Set<ServerResponse>()
  const json = (response: ServerResponse, status: number, body: object) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const listOf = (items: readonly object[]) => ({ metadata: { resourceVersion: '10' }, items })
  api.intercept = ({ path, isWatch, query }, response) => {
    if (path === '/apis') {
      const group = {
        metadata: { name: 'example.com' },
        versions: [{ version: 'v1', resources: [RESOURCE] }],
      }
      json(response, 200, {
        kind: 'APIGroupDiscoveryList',
        items: [...(state.isServed ? [group] : []), ...(silentGroup ? [silentGroup] : [])],
      })
    } else if (path.endsWith('/customresourcedefinitions')) {
      if (mayListDefinitions) json(response, 200, listOf(state.isDefined ? [DEFINITION] : []))
      else json(response, 403, failure(403, 'Forbidden'))
    } else if (path.includes('customresourcedefinitions')) {
      const isKnown = state.isDefined && path.endsWith(`/${DEFINITION.metadata.name}`)
      if (isKnown) json(response, 200, DEFINITION)
      else json(response, 404, failure(404, 'NotFound'))
    } else if (!path.endsWith('/widgets')) return false
    else if (!state.isServed) json(response, 404, failure(404, 'NotFound'))
    else if (query.has('sendInitialEvents'))
      json(response, 422, failure(422, 'Invalid', {}, 'sendInitialEvents is forbidden'))
    else if (isWatch) {
      watches.add(response)
      response.writeHead(200).flushHeaders()
    } else {
      const namespace = path.split('/').at(-2) ?? ''
      const items = namesIn(namespace).map((name) => ({
        ...configMap(name, 5, { namespace }),
        kind: NAMES.kind,
        apiVersion: 'example.com/v1',
      }))
      json(response, 200, listOf(items))
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
