import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { LAYOUT } from '../../src/store/redis/layout.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { readLayout } from './layout-log.ts'
import { startLine } from './line-bed.ts'

// Several servers each; a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** What a process of this layout left behind (written by write-layout.ts), and what every version with the layout must make of it. */
const STATE = new URL(`../fixtures/layout/${LAYOUT}.jsonl`, import.meta.url)

test('the pipeline goes on from what a process of this layout left behind', async () => {
  await using server = await startRedis()
  const redis = openRedis(server.url, 'work', silentLog)
  await readLayout(redis, readFileSync(STATE, 'utf8'))
  await using line = await startLine({ redis: `{ url: "${server.url}" }`, resourceVersion: '17' })
  expect(await redis.get('{kubeherald:test}:schema')).toBe(String(LAYOUT))
  redis.disconnect()
  // The watch goes on from its position, without a list.
  expect(line.api.watches()[0]?.query.get('resourceVersion')).toBe('17')
  expect(line.api.lists()).toEqual([])
  // What waited is delivered; what changes now is told with what it was before.
  line.frame('MODIFIED', 'a', 18)
  line.frame('DELETED', 'b', 19)
  const told = ['MODIFIED a@16', 'ADDED b@17', 'MODIFIED a@18', 'DELETED b@19']
  await waitFor(() => line.told().length === 4 && line.chatted().length === 4, {
    what: () => `${told}, not ${line.told()}`,
  })
  expect(line.told().toSorted()).toEqual(told.toSorted())
  expect(line.chatted().join('\n')).toMatch(/16\b.*18\b/)
  // Dead letters go on their way again, and the ledger counts from where it stood.
  const { stdout } = await line.kubeherald.command('dead-letters', 'retry', '--all')
  expect(stdout).toContain('2 dead letters')
  await waitFor(() => line.told().includes('ADDED poison@12'), { what: 'the dead letter' })
  const settled = async () => (await line.kubeherald.status()).ledger
  await waitFor(async () => (await settled()).sinks.hook.pending === 0, { what: 'the lanes to be empty' })
  const { balanced, sinks } = await settled()
  expect(balanced).toBe(true)
  expect(sinks.hook).toMatchObject({ enqueued: 9, delivered: 9, dead: 0 })
  expect(await line.kubeherald.stop()).toBe(0)
})

test('a process that runs ends, with what to do, when a newer one converted the keys; one that starts is refused', async () => {
  await using server = await startRedis()
  await using line = await startLine({ redis: `{ url: "${server.url}" }` })
  await server.command('SET', '{kubeherald:test}:schema', String(LAYOUT + 1))
  await waitFor(() => line.kubeherald.log().includes('kubeherald stopped'), { what: 'the end' })
  expect(line.kubeherald.log()).toContain(`the keys in Redis have layout ${LAYOUT + 1} now`)
  const again = await line.kubeherald.command('run')
  expect(again.code).toBe(2)
  expect(again.stderr).toContain(
    `layout ${LAYOUT + 1}, this version of kubeherald knows layout ${LAYOUT}: run the version`,
  )
  const status = await line.kubeherald.command('status')
  expect(status.code).toBe(1)
  expect(status.stderr).toContain('run the version that wrote them')
})
