import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { configMap, failure, type ScriptedApi } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

const RESOURCE = {
  resource: 'widgets',
  responseKind: { group: 'example.com', version: 'v1', kind: 'Widget' },
  scope: 'Namespaced',
  singularResource: 'widget',
  verbs: ['get', 'list', 'watch'],
  shortNames: [],
}

/** Serves a custom resource, one object in each namespace, until it is taken away with its definition. */
function serveWidgets(api: ScriptedApi): { remove(): void } {
  let served = true
  const json = (response: ServerResponse, status: number, body: object) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  api.intercept = ({ path, isWatch, query }, response) => {
    if (path === '/apis') {
      const group = {
        metadata: { name: 'example.com' },
        versions: [{ version: 'v1', resources: [RESOURCE] }],
      }
      json(response, 200, { kind: 'APIGroupDiscoveryList', items: served ? [group] : [] })
    } else if (path.includes('customresourcedefinitions')) json(response, served ? 200 : 404, {})
    else if (!path.endsWith('/widgets')) return false
    else if (!served) json(response, 404, failure(404, 'NotFound'))
    else if (query.has('sendInitialEvents'))
      json(response, 422, failure(422, 'Invalid', {}, 'sendInitialEvents is forbidden'))
    else if (isWatch) response.writeHead(200).flushHeaders()
    else {
      const namespace = path.includes('/dev/') ? 'dev' : 'prod'
      const widget = {
        ...configMap(`w-${namespace}`, 5, { namespace }),
        kind: 'Widget',
        apiVersion: 'example.com/v1',
      }
      json(response, 200, { metadata: { resourceVersion: '10' }, items: [widget] })
    }
    return true
  }
  return {
    remove() {
      served = false
    },
  }
}

test('case 18: of a kind that went while nobody looked, what is still asked for is told as deleted, and nothing else', async () => {
  let widgets: { remove(): void } | undefined
  const entry = (namespace: string) => [{ kind: 'widgets.example.com', namespaces: [namespace] }]
  await using it = await startWatchBed({
    entries: entry('dev'),
    prepare(api) {
      widgets = serveWidgets(api)
    },
  })
  const seeded = () => waitFor(async () => (await it.position()) === '10', { what: 'the first list' })
  await seeded()
  await it.stop()
  it.start(entry('prod'))
  const both = async () => (await it.reader.keys('*:index:*')).length === 2
  await waitFor(both, { what: 'the list of the other namespace' })
  await it.stop()
  widgets?.remove()
  it.start(entry('prod'))
  await it.arrived(1)
  await waitFor(() => it.statuses().some(({ phase }) => phase === 'waiting-for-kind'), {
    what: 'the kind to be waited for',
  })
  expect(await it.enqueued()).toEqual(['DELETED w-prod@5 synthesized'])
})
