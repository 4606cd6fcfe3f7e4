import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { findDefined } from '../../src/watch/client/crd.ts'
import { startScriptedApi } from '../servers/scripted-api.ts'
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
  const kubeconfig = join(files.dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(api.url))
  const client = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
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
