import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startDemoCluster } from '../../src/demo/cluster.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { discover, resolveKind } from '../../src/watch/client/discovery.ts'
import { startProgram } from '../servers/process.ts'
import { waitFor } from '../wait-for.ts'
import { get, seeded, watch } from './parts.ts'

const start = (seed = 1) => startDemoCluster({ random: seeded(seed), clock: Date })

test('a watch applied to its list gives what the cluster has', async () => {
  await using demo = await start()
  const path = `${demo.url}/api/v1/pods`
  const { body } = await get(path)
  const objects = new Map<string, unknown>(
    body.items.map((it: any) => [it.metadata.uid, it.metadata.resourceVersion]),
  )
  await using seen = await watch(`${path}?watch=true&resourceVersion=${body.metadata.resourceVersion}`)
  await waitFor(() => seen.frames.length >= 4, { what: 'four changes of pods' })
  const later = await get(path)
  const upTo = Number(later.body.metadata.resourceVersion)
  for (const { type, object } of seen.frames) {
    const { uid, resourceVersion } = object.metadata
    if (Number(resourceVersion) > upTo) continue
    if (type === 'DELETED') objects.delete(uid)
    else objects.set(uid, resourceVersion)
  }
  const now = new Map(later.body.items.map((it: any) => [it.metadata.uid, it.metadata.resourceVersion]))
  expect(objects).toEqual(now)
})

test('something has changed a moment after the start', async () => {
  await using demo = await start()
  const position = async () => (await get(`${demo.url}/api/v1/events`)).body.metadata.resourceVersion
  const before = await position()
  await waitFor(async () => (await position()) !== before, { timeoutMs: 3_000, what: 'a change' })
})

test('the watch code finds its kinds by their usual names', async () => {
  await using demo = await start()
  const client = connectCluster({ kubeconfig: demo.kubeconfig, env: {}, userAgent: 'test' })
  const catalogue = await discover(client, AbortSignal.timeout(5_000))
  await client.close()
  const spellings = [
    'Event',
    'po',
    'deployments.apps',
    'apps/v1/Deployment',
    'databases.stable.example.com',
    'db',
  ]
  for (const spelling of spellings) {
    expect(resolveKind(spelling, catalogue), spelling).toMatchObject({ kind: 'found' })
  }
  expect(resolveKind('Database', catalogue)).toMatchObject({
    resource: { group: 'stable.example.com', version: 'v1', plural: 'databases', namespaced: true },
  })
})

test('each one is a cluster of its own', async () => {
  await using one = await start(1)
  await using other = await start(2)
  const uid = async (url: string) => (await get(`${url}/api/v1/namespaces/kube-system`)).body.metadata.uid
  expect(await uid(one.url)).not.toBe(await uid(other.url))
})

test('nothing is left of it when it is closed, whoever was watching', async () => {
  const demo = await start()
  await using seen = await watch(`${demo.url}/api/v1/pods?watch=true`)
  await waitFor(() => seen.frames.length > 0, { what: 'a frame' })
  await demo.close()
  await waitFor(() => seen.ended(), { what: 'the end of the watch' })
  await expect(get(`${demo.url}/version`)).rejects.toThrow()
  expect(existsSync(demo.kubeconfig)).toBe(false)
})

test('the process ends by itself after closing', async () => {
  const program = `
    const { startDemoCluster } = await import(${JSON.stringify(new URL('../../src/demo/cluster.ts', import.meta.url).href)})
    const demo = await startDemoCluster({ random: Math.random, clock: Date })
    const answer = await fetch(demo.url + '/api/v1/pods?watch=true')
    await answer.body.getReader().read()
    await demo.close()`
  const running = startProgram(process.execPath, ['--input-type=module', '-e', program])
  await waitFor(() => running.ended(), { what: () => `the end of the process; it said ${running.output()}` })
  expect(running.exitCode()).toBe(0)
})
