import { expect, test } from 'vitest'
import type { ChangeType } from '../../src/model/event.ts'
import { emptyPlan } from '../../src/store/commit/commit-plan.ts'
import { KnownEntries } from '../../src/store/commit/index-entries.ts'
import { change, SOURCE, sendAll } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

test('an object that a session takes to be new, and that the index has, is enqueued no second time', async () => {
  await using it = await startStoreBed()
  const first = await it.watching()
  await first.commit([change('ADDED', 'a', 2), change('ADDED', 'b', 3)], '3', never)
  const next = await it.newStore().open(SOURCE, never)
  await next.commit([change('ADDED', 'b', 3), change('ADDED', 'c', 4)], '4', never)
  expect(await it.enqueued()).toEqual(['ADDED a@2', 'ADDED b@3', 'ADDED c@4'])
  await next.commit([change('ADDED', 'a', 5)], '5', never)
  expect(await it.enqueued()).toEqual(['ADDED a@2', 'ADDED b@3', 'ADDED c@4', 'MODIFIED a@5'])
})

test('what a session wrote it need not read again, until the index says otherwise', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2)], '2', never)
  const reads = async () => {
    const stats = await it.reader.info('commandstats')
    const of = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
    return { hmget: of('hmget'), scripts: of('evalsha') }
  }
  const before = await reads()
  await session.commit([change('MODIFIED', 'a', 3)], '3', never)
  expect(await reads()).toEqual({ hmget: before.hmget + 1, scripts: before.scripts + 1 })
  await session.commit([change('DELETED', 'a', 4)], '4', never)
  expect(await it.enqueued()).toEqual(['ADDED a@2', 'MODIFIED a@3', 'DELETED a@4'])
})

test('only objects of which nothing is known are read, and no more than some thousands are remembered', () => {
  const known = new KnownEntries()
  expect(known.assume([change('ADDED', 'a', 2)])).toEqual(new Map([['uid-of-a', null]]))
  expect(known.assume([change('ADDED', 'a', 2), change('MODIFIED', 'b', 3)])).toBeUndefined()
  for (let i = 0; i < 5_000; i++) known.written({ ...emptyPlan(), indexSet: [`uid-of-o${i}`, `entry ${i}`] })
  expect(known.assume([change('MODIFIED', 'o0', 2)])).toBeUndefined()
  expect(known.assume([change('MODIFIED', 'o4999', 2)])).toEqual(new Map([['uid-of-o4999', 'entry 4999']]))
  known.written({ ...emptyPlan(), forget: 'all' })
  expect(known.assume([change('MODIFIED', 'o4999', 2)])).toBeUndefined()
})

test('an entry of the index is small however many labels its object has, and a deletion that a list finds then has none', async () => {
  const labels = (bytes: number) => JSON.stringify({ [`a${'b'.repeat(bytes)}`]: 'c' })
  const labelled = (type: ChangeType, name: string, version: number, labelsJson: string) => {
    const { object, ...rest } = change(type, name, version)
    return { ...rest, object: { ...object, labelsJson } }
  }
  const deleted: [name: string, labelsJson: string][] = []
  await using it = await startStoreBed({
    decide(source, transitions) {
      for (const { type, name, labelsJson } of transitions)
        if (type === 'DELETED') deleted.push([name, labelsJson])
      return sendAll(source, transitions)
    },
  })
  const session = await it.watching()
  const [many, some] = [labels(1_000_000), labels(4_000)]
  await session.commit([labelled('ADDED', 'many', 2, many), labelled('ADDED', 'some', 2, some)], '2', never)
  await session.commit([labelled('MODIFIED', 'many', 3, many)], '3', never)
  const bytes = await it.reader.hstrlen(it.keys.index(SOURCE.key), 'uid-of-many')
  expect(bytes).toBeLessThan(20_000)
  await session.beginList('different', never)
  await session.endList('4', never)
  expect(deleted.toSorted()).toEqual([
    ['many', '{}'],
    ['some', some],
  ])
})

test('large entries are not remembered, and forgotten where a small one was', () => {
  const known = new KnownEntries()
  const large = 'x'.repeat(16_000)
  known.written({ ...emptyPlan(), indexSet: ['uid-of-a', 'small', 'uid-of-b', large] })
  expect(known.assume([change('MODIFIED', 'a', 2)])).toEqual(new Map([['uid-of-a', 'small']]))
  expect(known.assume([change('MODIFIED', 'b', 2)])).toBeUndefined()
  known.written({ ...emptyPlan(), indexSet: ['uid-of-a', large] })
  expect(known.assume([change('MODIFIED', 'a', 3)])).toBeUndefined()
})
