import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { Change } from '../../src/model/change.ts'
import { RelistDiffLostError } from '../../src/store/commit/relist-diff.ts'
import { waitFor } from '../wait-for.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Pages of a list, made one after the other as a server sends them. */
function* pages(from: number, to: number, size = 500): Generator<Change[]> {
  for (let start = from; start < to; start += size) {
    const length = Math.min(size, to - start)
    yield Array.from({ length }, (_, i) => change('ADDED', `object-${start + i}`, start + i + 1))
  }
}

test('case 46: 100,000 objects are seeded and listed anew, and the process stays the same size', async () => {
  await using it = await startStoreBed()
  const session = await it.newStore().open(SOURCE, never)
  const used = () => {
    collectGarbage()
    return process.memoryUsage().heapUsed + process.memoryUsage().external
  }
  const before = used()
  let most = 0
  const step = async (page: readonly Change[], take: (page: readonly Change[]) => Promise<void>) => {
    await take(page)
    if (page[0]?.object.name.endsWith('0000')) most = Math.max(most, used())
  }
  await session.beginSeed(never)
  for (const page of pages(0, 100_000)) await step(page, (some) => session.seed(some, never))
  await session.endList('100000', never)
  await session.beginList('different', never)
  for (const page of pages(1_500, 100_000)) await step(page, (some) => session.list(some, never))
  await session.endList('100001', never)
  expect(new Set(await it.enqueued()).size).toBe(1_500)
  expect((await it.enqueued()).every((line) => line.startsWith('DELETED'))).toBe(true)
  expect(await it.reader.hlen(it.keys.index(SOURCE.key))).toBe(98_500)
  expect(most - before).toBeLessThan(16 * 1024 * 1024)
})

test('a Redis that is full while names are copied loses no deletion', async () => {
  await using it = await startStoreBed()
  const session = await it.seeded([...pages(0, 20)].flat())
  const copying = it.proxy.hold('hscan')
  const begun = session.beginList('different', never)
  await copying.seen
  await it.server.command('CONFIG', 'SET', 'maxmemory', '1')
  copying.release()
  await waitFor(() => it.refusals.outOfMemory > 0, { what: 'the copy to be refused' })
  await it.server.command('CONFIG', 'SET', 'maxmemory', '0')
  await begun
  await session.endList('30', never)
  expect(await it.enqueued()).toHaveLength(20)
})

test('names that are lost during a list make it begin anew instead of forgetting deletions', async () => {
  await using it = await startStoreBed()
  const session = await it.seeded([change('ADDED', 'gone', 1), change('ADDED', 'there', 2)])
  await session.beginList('different', never)
  const unseen = await it.reader.keys(`${it.keys.unseen(SOURCE.key)}*`)
  await it.reader.del(unseen)
  await expect(session.list([change('ADDED', 'there', 2)], never)).rejects.toThrow(RelistDiffLostError)
  await expect(session.endList('9', never)).rejects.toThrow(RelistDiffLostError)
  const next = await it.newStore().open(SOURCE, never)
  expect(next.checkpoint?.phase).toBe('listing')
  await next.beginList('different', never)
  await next.list([change('ADDED', 'there', 2)], never)
  await next.endList('9', never)
  expect(await it.enqueued()).toEqual(['DELETED gone@1 synthesized'])
})

test('a list that is over leaves no names behind, and one that is given up leaves them for a day only', async () => {
  await using it = await startStoreBed()
  const session = await it.seeded([change('ADDED', 'a', 1)])
  await session.beginList('different', never)
  const [unseen = ''] = await it.reader.keys(`${it.keys.unseen(SOURCE.key)}*`)
  expect(await it.reader.pttl(unseen)).toBeGreaterThan(80_000_000)
  await session.list([change('ADDED', 'a', 1)], never)
  expect(await it.reader.pttl(unseen)).toBeGreaterThan(80_000_000)
  await session.endList('2', never)
  expect(await it.reader.exists(unseen)).toBe(0)
})

test('the next session removes the names that an interrupted list left, and not those of its own', async () => {
  await using it = await startStoreBed()
  const unseen = () => it.reader.keys(`${it.keys.unseen(SOURCE.key)}*`)
  const first = await it.seeded([change('ADDED', 'gone', 1), change('ADDED', 'there', 2)])
  await first.beginList('different', never)
  expect(await unseen()).toHaveLength(1)
  const second = await it.newStore().open(SOURCE, never)
  expect(await unseen()).toEqual([])
  await second.beginList('different', never)
  expect(await unseen()).toHaveLength(1)
})

test('a session that was replaced while it cleaned up takes no names from the list of its successor', async () => {
  await using it = await startStoreBed()
  const first = await it.seeded([change('ADDED', 'gone', 1), change('ADDED', 'there', 2)])
  await first.beginList('different', never)
  const cleaning = it.proxy.hold(it.keys.unseen(SOURCE.key))
  const second = it.newStore().open(SOURCE, never)
  await cleaning.seen
  const third = await it.newStore().open(SOURCE, never)
  await third.beginList('different', never)
  cleaning.release()
  await second
  await third.list([change('ADDED', 'there', 2)], never)
  await third.endList('9', never)
  expect(await it.enqueued()).toEqual(['DELETED gone@1 synthesized'])
})

test('a streamed list may bring a name several times: its old object is deleted once', async () => {
  await using it = await startStoreBed()
  const session = await it.seeded([change('ADDED', 'a', 1, 'first')])
  await session.beginList('different', never)
  await session.list(
    [
      change('ADDED', 'a', 5, 'second'),
      change('DELETED', 'a', 6, 'second'),
      change('ADDED', 'a', 7, 'third'),
    ],
    never,
  )
  await session.endList('8', never)
  expect(await it.enqueued()).toEqual([
    'DELETED a@1 synthesized',
    'ADDED a@5 synthesized',
    'DELETED a@6 synthesized',
    'ADDED a@7 synthesized',
  ])
})

test('an empty page changes nothing', async () => {
  await using it = await startStoreBed()
  const session = await it.seeded([change('ADDED', 'a', 1)])
  await session.beginList('different', never)
  await session.list([], never)
  await session.list([change('ADDED', 'a', 1)], never)
  await session.endList('2', never)
  expect(await it.enqueued()).toEqual([])
})

test('a first list with `initial: emit` tells everything, once, though it is cut off in the middle', async () => {
  await using it = await startStoreBed()
  const first = await it.newStore().open(SOURCE, never)
  await first.beginList('different', never)
  const [head = [], tail = []] = [...pages(0, 20, 10)]
  await first.list(head, never)
  const second = await it.newStore().open(SOURCE, never)
  expect(second.checkpoint?.phase).toBe('listing')
  await second.beginList('different', never)
  await second.list(head, never)
  await second.list(tail, never)
  await second.endList('20', never)
  expect(await it.enqueued()).toEqual(
    Array.from({ length: 20 }, (_, i) => `ADDED object-${i}@${i + 1} synthesized`),
  )
})

test('a seed that is cut off begins anew and stays silent', async () => {
  await using it = await startStoreBed()
  const first = await it.newStore().open(SOURCE, never)
  await first.beginSeed(never)
  await first.seed([change('ADDED', 'was-there', 1)], never)
  const second = await it.newStore().open(SOURCE, never)
  expect(second.checkpoint?.phase).toBe('seeding')
  await second.beginSeed(never)
  await second.seed([change('ADDED', 'a', 2)], never)
  await second.endList('3', never)
  expect(await it.enqueued()).toEqual([])
  expect(await it.reader.hkeys(it.keys.index(SOURCE.key))).toEqual(['uid-of-a'])
})

test('changes of more bytes than one transaction takes are split, and the position moves with the last part', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  const large = (i: number): Change => {
    const it = change('ADDED', `o${i}`, i + 2)
    return { ...it, object: { ...it.object, bytes: Buffer.from(`{"data":"${'x'.repeat(3_000_000)}"}`) } }
  }
  const before = session.checkpoint?.sequence ?? 0
  await session.commit([large(0), large(1), large(2), large(3)], '5', never)
  expect(await it.enqueued()).toHaveLength(4)
  expect(session.checkpoint).toMatchObject({ resourceVersion: '5', sequence: before + 4 })
})

test('a transaction takes a thousand small changes, and of large ones a megabyte', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  const sized = (name: string, version: number, bytes: number): Change => {
    const it = change('ADDED', name, version)
    return { ...it, object: { ...it.object, bytes: Buffer.from(`{"data":"${'x'.repeat(bytes)}"}`) } }
  }
  const before = session.checkpoint?.sequence ?? 0
  const small = Array.from({ length: 400 }, (_, i) => sized(`s${i}`, i + 2, 6_000))
  await session.commit(small, '402', never)
  expect(session.checkpoint?.sequence).toBe(before + 1)
  const large = Array.from({ length: 6 }, (_, i) => sized(`l${i}`, i + 403, 500_000))
  await session.commit(large, '409', never)
  expect(session.checkpoint).toMatchObject({ resourceVersion: '409', sequence: before + 4 })
  expect(await it.enqueued()).toHaveLength(406)
})

test('names that were lost on their way and arrive late make no object a deleted one', async () => {
  await using it = await startStoreBed()
  const all = ['a', 'b', 'c'].map((name, i) => change('ADDED', name, i + 2))
  const session = await it.seeded(all)
  const held = it.proxy.hold('default/a', { cut: true })
  const begin = session.beginList('different', never)
  await held.seen
  await begin
  await session.list(all, never)
  const scripts = async () =>
    Number(/cmdstat_eval:calls=(\d+)/.exec(await it.reader.info('commandstats'))?.[1])
  const before = await scripts()
  held.release()
  await waitFor(async () => (await scripts()) > before, { what: 'the late names to arrive' })
  await session.endList('9', never)
  expect(await it.enqueued()).toEqual([])
})

test('a Redis that begins anew while names are copied goes through its hashes in another order; no deletion is lost', async () => {
  await using it = await startStoreBed()
  const session = await it.seeded([...pages(0, 6_000)].flat())
  const first = it.proxy.hold('hscan')
  const begun = session.beginList('different', never)
  await first.seen
  const second = it.proxy.hold('hscan')
  first.release()
  await second.seen
  await it.server.kill()
  await it.server.restart()
  second.release()
  await begun
  for (const page of pages(0, 1_000)) await session.list(page, never)
  await session.endList('9000', never)
  expect(new Set(await it.enqueued()).size).toBe(5_000)
})

test('a command that was to make room for the names and arrives late takes none of them away', async () => {
  await using it = await startStoreBed()
  const session = await it.seeded([...pages(0, 3_000)].flat())
  const late = it.proxy.hold('UNLINK', { cut: true })
  const begun = session.beginList('different', never)
  await late.seen
  const first = it.proxy.hold('hscan')
  await first.seen
  const second = it.proxy.hold('hscan')
  first.release()
  await second.seen
  const calls = async () => {
    const stats = await it.reader.info('commandstats')
    const counts = stats.matchAll(/cmdstat_(?:evalsha|eval):calls=(\d+)/g)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }
  const before = await calls()
  late.release()
  await waitFor(async () => (await calls()) > before, { what: 'the late command' })
  second.release()
  await begun
  await session.endList('9000', never)
  expect(await it.enqueued()).toHaveLength(3_000)
})
