import { expect, test } from 'vitest'
import { type ClusterClient, ClusterError } from '../../src/watch/client/cluster-client.ts'
import { discover } from '../../src/watch/client/discovery.ts'

const { signal } = new AbortController()

/** A client of an API server that has these answers. */
function clientOf(answers: Readonly<Record<string, object>>): ClusterClient {
  return {
    get: async (path: string) => {
      const body = answers[path]
      return { status: body ? 200 : 404, headers: {}, body: Buffer.from(JSON.stringify(body ?? {})) }
    },
  } as unknown as ClusterClient
}

const PODS = { verbs: ['get', 'list', 'watch'], shortNames: ['po'] }

test('subresources without verbs, as KubeVirt has them, hide no other kind of the cluster', async () => {
  const pods = { ...PODS, resource: 'pods', responseKind: { kind: 'Pod' }, scope: 'Namespaced' }
  // kube-apiserver makes up such a parent for a subresource that has none.
  const parent = { resource: 'virtualmachineinstances', responseKind: {}, scope: 'Namespaced', verbs: null }
  const list = (name: string, version: string, resource: object) => ({
    kind: 'APIGroupDiscoveryList',
    items: [{ metadata: { name }, versions: [{ version, resources: [resource] }] }],
  })
  const client = clientOf({
    '/api': list('', 'v1', pods),
    '/apis': list('subresources.kubevirt.io', 'v1', parent),
  })
  expect(await discover(client, signal)).toMatchObject({ resources: [{ kind: 'Pod' }], silentGroups: [] })
})

test('the same from a server without aggregated discovery', async () => {
  const pods = { ...PODS, name: 'pods', kind: 'Pod', namespaced: true }
  const bare = { name: 'expand-vm-spec', kind: '', namespaced: true, verbs: null }
  const group = 'subresources.kubevirt.io'
  const client = clientOf({
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/api/v1': { resources: [pods] },
    '/apis': {
      kind: 'APIGroupList',
      groups: [{ name: group, versions: [{ version: 'v1', groupVersion: `${group}/v1` }] }],
    },
    [`/apis/${group}/v1`]: { resources: [bare] },
  })
  expect(await discover(client, signal)).toMatchObject({ resources: [{ kind: 'Pod' }], silentGroups: [] })
})

test.each([
  ['a page', '<!DOCTYPE html><html>sign in</html>'],
  ['null', 'null'],
  ['nothing', ''],
])('an address that answers with %s is named as no API server', async (_, text) => {
  const get = async () => ({ status: 200, headers: {}, body: Buffer.from(text) })
  const client = { url: 'https://cluster', get } as unknown as ClusterClient
  const error = (await discover(client, signal).catch((it: unknown) => it)) as Error
  expect(error).toBeInstanceOf(ClusterError)
  expect(error.message).toMatch(/\/apis? .*not JSON/)
  expect(error.message).not.toContain('Unexpected')
})
