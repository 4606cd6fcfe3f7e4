import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { crdStateOf, findDefined } from '../../src/watch/client/crd.ts'
import { failure, type ScriptedApi, startScriptedApi } from '../servers/scripted-api.ts'
import { kubeconfigFor } from './bed.ts'
import { folder } from './folder.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Applied by kubectl: it keeps up to 256 KiB in an annotation. */
function definition(kind: string): object {
  const plural = `${kind.toLowerCase()}s`
  const metadata = {
    name: `${plural}.example.com`,
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'x'.repeat(250_000) },
  }
  return { metadata, spec: { group: 'example.com', names: { kind, plural }, scope: 'Namespaced' } }
}

function clientOf(api: ScriptedApi, dir: string) {
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(api.url))
  return connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
}

test.each([429, 500, 503])(
  'an API server that answers %i to the read of a definition leaves open whether a kind is defined',
  async (status) => {
    await using api = await startScriptedApi()
    api.intercept = ({ path }, response) => {
      if (!path.startsWith(DEFINITIONS)) return false
      const isOne = path !== DEFINITIONS
      const answer = isOne ? failure(status, 'Unavailable') : { metadata: {}, items: [] }
      response.writeHead(isOne ? status : 200).end(JSON.stringify(answer))
      return true
    }
    using files = folder()
    const client = clientOf(api, files.dir)
    const catalogue = { resources: [], silentGroups: [] }
    const found = findDefined(client, 'widgets.example.com', catalogue, new AbortController().signal)
    await expect(found).rejects.toThrow(String(status))
    await client.close()
  },
)

const NOT_FOUND = failure(404, 'NotFound', { name: 'widgets.example.com', kind: 'customresourcedefinitions' })
const OTHER_NOT_FOUND = failure(404, 'NotFound', { name: 'gateway-prod' })

test.each([
  ['a Status that names it', JSON.stringify(NOT_FOUND), 'none'],
  ['a Status that names something else', JSON.stringify(OTHER_NOT_FOUND), 'unknown'],
  ['text', '404 page not found\n', 'unknown'],
  ['other JSON', '{"reason":"NotFound"}', 'unknown'],
  ['nothing', '', 'unknown'],
])('a definition is known not to exist only by the 404 of an API server: %s', async (_, body, expected) => {
  await using api = await startScriptedApi()
  api.intercept = (_request, response) => {
    response.writeHead(404).end(body)
    return true
  }
  using files = folder()
  const client = clientOf(api, files.dir)
  const resource = {
    group: 'example.com',
    version: 'v1',
    kind: 'Widget',
    plural: 'widgets',
    namespaced: true,
  }
  const state = crdStateOf(client, { resource }, new AbortController().signal).catch(() => 'unknown')
  expect(await state).toBe(expected)
  await client.close()
})

test('a kind is found among definitions of which the metadata alone is larger than one answer may be', async () => {
  await using api = await startScriptedApi()
  const all = Array.from({ length: 99 }, (_, i) => definition(`Other${i}`)).concat(definition('Widget'))
  const nameOf = (it: object) => (it as { metadata: { name: string } }).metadata.name
  api.intercept = ({ path, query }, response) => {
    if (!path.startsWith(DEFINITIONS)) return false
    const from = Number(query.get('continue') ?? 0)
    const to = Math.min(from + Number(query.get('limit') ?? all.length), all.length)
    const list = {
      metadata: { resourceVersion: '10', ...(to < all.length && { continue: String(to) }) },
      items: all.slice(from, to),
    }
    const one = all.find((it) => path.endsWith(`/${nameOf(it)}`))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(one ?? list))
    return true
  }
  using files = folder()
  const client = clientOf(api, files.dir)
  const resources = all.slice(0, 99).map((it) => {
    const [plural = ''] = nameOf(it).split('.')
    const names = { kind: plural, plural, singular: plural, shortNames: [] }
    return { group: 'example.com', version: 'v1', namespaced: true, preferred: true, ...names }
  })
  const catalogue = { resources, silentGroups: [] }
  const found = await findDefined(client, 'Widget', catalogue, new AbortController().signal)
  expect(found).toMatchObject({ resource: { kind: 'Widget', plural: 'widgets' } })
  await client.close()
})
