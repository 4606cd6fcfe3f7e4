import { expect, test } from 'vitest'
import { kindRows } from '../../src/cli/kinds/kinds.ts'
import { countOf } from '../../src/cli/kinds/object-count.ts'
import { startDemoCluster } from '../../src/demo/cluster.ts'
import type { DiscoveredResource } from '../../src/watch/client/discovery.ts'
import { openDesk } from './cli.ts'
import { runHere } from './here.ts'

test('kinds lists what can be watched, with --count the number of objects', async () => {
  await using cluster = await startDemoCluster({ random: Math.random, clock: Date })
  using desk = openDesk({ KUBECONFIG: cluster.kubeconfig })
  const { code, stdout, stderr } = await runHere(desk, 'kinds', '--count', '-o', 'json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const kinds = JSON.parse(stdout) as { name: string; objects: number }[]
  expect(kinds.find(({ name }) => name === 'deployments.apps')).toEqual({
    name: 'deployments.apps',
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    shortNames: ['deploy'],
    namespaced: true,
    objects: expect.any(Number),
  })
  expect(kinds.find(({ name }) => name === 'nodes')?.objects).toBeGreaterThan(1)
  const table = await runHere(desk, 'kinds')
  expect(table.stdout).toMatch(/^NAME +KIND +API VERSION +SHORT NAMES +NAMESPACED$/m)
  expect(table.stdout).toMatch(/^databases\.stable\.example\.com +Database /m)
})

test('a kubeconfig that a configuration names counts', async () => {
  await using cluster = await startDemoCluster({ random: Math.random, clock: Date })
  using desk = openDesk()
  expect(await runHere(desk, 'kinds')).toMatchObject({ code: 2, stdout: '' })
  desk.write('kubeherald.yaml', `kubernetes: { kubeconfig: "${cluster.kubeconfig}" }\nrules: broken`)
  expect(await runHere(desk, 'kinds')).toMatchObject({ code: 0 })
})

test('of several versions the preferred one is shown', () => {
  const version = (name: string, preferred: boolean) =>
    ({ group: 'g', plural: 'things', version: name, preferred }) as DiscoveredResource
  const rows = kindRows({ resources: [version('v1beta1', false), version('v1', true)] })
  expect(rows.map(({ resource }) => resource.version)).toEqual(['v1'])
})

test.each([
  [{ metadata: {}, items: [] }, 0],
  [{ metadata: { continue: 'x', remainingItemCount: 41 }, items: [{}] }, 42],
  // An API that knows no limit.
  [{ items: [{}, {}, {}] }, 3],
  // There are more, and the server gives no number.
  [{ metadata: { continue: 'x' }, items: [{}] }, undefined],
])('%j has %j objects', (list, count) => {
  expect(countOf(list)).toBe(count)
})
