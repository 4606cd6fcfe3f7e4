import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDemoCluster } from '../../src/demo/cluster.ts'
import { openDesk } from './cli.ts'
import { runHere } from './here.ts'

let cluster: Awaited<ReturnType<typeof startDemoCluster>>
beforeAll(async () => {
  cluster = await startDemoCluster({ random: Math.random, clock: Date })
})
afterAll(() => cluster[Symbol.asyncDispose]())

/** Runs `kinds` with several kubeconfigs, as kubectl reads $KUBECONFIG. */
async function kindsWith(...kubeconfigs: (string | { text: string })[]) {
  using desk = openDesk()
  const files = kubeconfigs.map((it, i) =>
    typeof it === 'string' ? it : desk.write(`kubeconfig-${i}.yaml`, it.text),
  )
  desk.env['KUBECONFIG'] = files.join(delimiter)
  return await runHere(desk, 'kinds')
}

const OTHER = {
  clusters: [{ name: 'demo', cluster: { server: 'http://127.0.0.1:9' } }],
  users: [{ name: 'demo', user: {} }],
}

test('of several kubeconfigs those that are there count', async () => {
  const missing = join('/nonexistent', 'kubeconfig.yaml')
  for (const list of [
    [missing, cluster.kubeconfig],
    [cluster.kubeconfig, missing],
  ])
    expect(await kindsWith(...list)).toMatchObject({ code: 0, stderr: '' })
})

test('kubeconfigs that are all missing are named', async () => {
  const missing = join('/nonexistent', 'kubeconfig.yaml')
  const { code, stderr } = await kindsWith(missing, missing)
  expect(code).toBe(2)
  expect(stderr).toContain(`${missing}: there is no such file`)
})

test('of equal names in several kubeconfigs the first counts', async () => {
  const contexts = [{ name: 'demo', context: { cluster: 'demo', user: 'demo' } }]
  const other = { text: JSON.stringify({ ...OTHER, contexts, 'current-context': 'demo' }) }
  expect(await kindsWith(cluster.kubeconfig, other)).toMatchObject({ code: 0, stderr: '' })
})

test('the first kubeconfig that has a current context names it', async () => {
  const other = { text: JSON.stringify({ ...OTHER, clusters: [] }) }
  const without = { text: '{ apiVersion: v1, kind: Config, clusters: [], contexts: [], users: [] }' }
  expect(await kindsWith(without, cluster.kubeconfig)).toMatchObject({ code: 0, stderr: '' })
  expect(await kindsWith(other, cluster.kubeconfig)).toMatchObject({ code: 0, stderr: '' })
})

test('a command of the kubeconfig that is not installed is named', async () => {
  using desk = openDesk()
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'no-such-helper',
    interactiveMode: 'Never',
  }
  desk.env['KUBECONFIG'] = desk.write(
    'kubeconfig.yaml',
    JSON.stringify({
      ...OTHER,
      users: [{ name: 'demo', user: { exec } }],
      contexts: [{ name: 'demo', context: { cluster: 'demo', user: 'demo' } }],
      'current-context': 'demo',
    }),
  )
  const { code, stderr } = await runHere(desk, 'kinds')
  expect(code).toBe(1)
  expect(stderr).toMatch(/no-such-helper.* is not installed/)
})
