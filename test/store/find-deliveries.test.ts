import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { encodeEntries } from '../../src/store/entry.ts'
import { findDeliveries, newestOf } from '../../src/store/history/find-deliveries.ts'
import { nameOf, packHistory } from '../../src/store/history/history-format.ts'
import { historyTarget, objectTarget } from '../../src/store/history/history-target.ts'
import { readHistory } from '../../src/store/history/read-history.ts'
import { PageSize } from '../../src/store/lanes/page-size.ts'
import { startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

test('a page is small where entries are large, and grows where they are small', () => {
  const page = new PageSize(40)
  const sizes = [1_000, 1_000, 1_000, 2 ** 20, 2 ** 20, 2 ** 24].map((bytesOfOne) => {
    const { count } = page
    page.note(count, count * bytesOfOne)
    return count
  })
  expect(sizes).toEqual([4, 16, 40, 40, 4, 4])
  expect(page.count).toBe(1)
})

test('a search among large deliveries reads a few at a time, and keeps no objects but those it was asked for', async () => {
  await using it = await startLaneBed()
  const { redis, keys } = it
  for (let i = 0; i < 24; i++) {
    const objectJson = Buffer.from(JSON.stringify({ text: randomBytes(2 ** 20).toString('base64') }))
    const event = headerFor('big', String(i), 'MODIFIED', 'uid-big')
    const [entry] = encodeEntries([{ sink: 'hook', rule: 'all', event, objectJson }])
    const stored = ['n', 1, 't', Date.now(), 'z', entry?.payload ?? ''] as const
    await redis.xadd(keys.lane('hook/0'), '*', ...stored)
    await redis.xadd(keys.deadLetters, '*', ...stored, 'sink', 'hook', 'rule', 'all', 'reason', 'rejected')
    await redis.hincrby(keys.pending, 'hook/0', 1)
  }
  const monitor = await redis.monitor()
  const counts: number[] = []
  monitor.on('monitor', (_: string, args: string[]) => {
    const [command = '', key = ''] = args
    const isOfDeliveries = [keys.lane('hook/0'), keys.deadLetters].includes(key)
    if (/^x(rev)?range$/i.test(command) && isOfDeliveries) counts.push(Number(args.at(-1)))
  })
  const { kind, namespace, name } = headerFor('big', '1', 'MODIFIED', 'uid-big')
  const target = historyTarget(`${kind}/${namespace}/${name}`)
  if (!target) throw new Error('the object has no target')
  const found = await findDeliveries(it, target, () => true, { objects: 2 })
  monitor.disconnect()
  for (const deliveries of [found.waiting, found.letters]) {
    expect(deliveries).toHaveLength(24)
    expect(deliveries.filter(({ delivery }) => delivery.objectJson)).toHaveLength(2)
  }
  expect(counts.length).toBeGreaterThan(10)
  expect(Math.max(...counts)).toBeLessThanOrEqual(4)
})

test('an object whose name has the same hash is not in the story of another', async () => {
  await using it = await startLaneBed()
  const { redis, keys } = it
  const own = { kind: 'Deployment', namespace: 'pay', name: 'web' }
  const other = { kind: 'ConfigMap', namespace: 'evil', name: '6qkbvwv' }
  expect(nameOf(other.kind, other.namespace, other.name)).toEqual(nameOf('Deployment', 'pay', 'web'))
  for (const [i, object] of [own, other].entries()) {
    const event = { id: `c/uid-${i}/1/ADDED`, type: 'ADDED' as const, apiVersion: 'v1', ...object }
    const outcome = { outcome: 'delivered' as const, rule: 'all', sinks: ['hook'], attempts: [] }
    await redis.xadd(keys.history, '*', 'z', packHistory([[{ ...outcome, atMs: 1_000 + i, event }]]))
  }
  const target = objectTarget('deploy', 'pay', 'web')
  const found = await findDeliveries(it, target, () => true)
  expect(newestOf(found)?.id).toBe('c/uid-0/1/ADDED')
  const records = await Array.fromAsync(readHistory(redis, keys, { target }))
  expect(records.map(({ event }) => event.name)).toEqual(['web'])
})

test('a digest is in the story of each of its objects', async () => {
  await using it = await startLaneBed()
  const { redis, keys } = it
  const event = { id: 'c/uid-a/1/ADDED', type: 'ADDED' as const, apiVersion: 'v1', kind: 'Node', name: 'a' }
  const objects = ['Node//a', 'Pod/shop/b']
  const record = {
    ...{ outcome: 'delivered' as const, atMs: 1_000, event, rule: 'all', sinks: ['hook'], attempts: [] },
    notice: { kind: 'digest' as const, count: 2, objects },
  }
  await redis.xadd(keys.history, '*', 'z', packHistory([[record]]))
  const targets = [
    objectTarget('no', undefined, 'a'),
    objectTarget('Pod', 'shop', 'b'),
    objectTarget('pods', 'pay', 'b'),
  ]
  const found = await Promise.all(
    targets.map((target) => Array.fromAsync(readHistory(redis, keys, { target }))),
  )
  expect(found.map(({ length }) => length)).toEqual([1, 1, 0])
})
