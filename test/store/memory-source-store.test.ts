import { expect, test } from 'vitest'
import type { Change, SourceSession, Transition } from '../../src/model/change.ts'
import { createMemorySourceStore } from '../../src/store/commit/memory-source-store.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

/** The same steps on both kinds of store. */
async function steps(session: SourceSession): Promise<void> {
  await session.beginSeed(never)
  await session.seed([change('ADDED', 'a', 1), change('ADDED', 'b', 2), change('DELETED', 'b', 2)], never)
  await session.endList('2', never)
  const again: Change[] = [change('ADDED', 'a', 1), change('MODIFIED', 'c', 3), change('MODIFIED', 'a', 4)]
  await session.commit(again, '4', never)
  await session.commit([change('DELETED', 'a', 5), change('DELETED', 'a', 5)], '5', never)
  await session.beginList('newer', never)
  await session.list([change('ADDED', 'c', 9, 'new-uid'), change('ADDED', 'd', 8)], never)
  await session.endList('9', never)
  await session.beginList('different', never)
  await session.list([change('ADDED', 'c', 7, 'new-uid')], never)
  await session.endList('7', never)
  await session.beginList('newer', never)
  await session.endList('7', never, false)
  await session.markAbsent(never)
}

const shown = (it: Pick<Transition, 'type' | 'name' | 'resourceVersion' | 'synthesized'>) =>
  `${it.type} ${it.name}@${it.resourceVersion}${it.synthesized ? ' synthesized' : ''}`

test('a store in memory tells the same as the one on Redis', async () => {
  const told: string[] = []
  const store = createMemorySourceStore({
    onTransitions: (_, transitions) => void told.push(...transitions.map(shown)),
    previous: { stores: () => false, jsonOf: (_, { bytes }) => bytes },
    clock: Date,
  })
  await using redis = await startStoreBed()
  const [inMemory, onRedis] = [await store.open(SOURCE, never), await redis.newStore().open(SOURCE, never)]
  await steps(inMemory)
  await steps(onRedis)
  expect(told).toEqual(await redis.enqueued())
  expect(told).toHaveLength(9)
  expect(inMemory.checkpoint?.phase).toBe(onRedis.checkpoint?.phase)
})

test('it knows what an object was before, and the last state of one that nobody saw go', async () => {
  const told: Transition[] = []
  const store = createMemorySourceStore({
    onTransitions: (_, transitions) => void told.push(...transitions),
    previous: { stores: () => true, jsonOf: (_, { bytes }) => bytes },
    clock: Date,
  })
  const session = await store.open(SOURCE, never)
  await session.beginSeed(never)
  await session.seed([change('ADDED', 'a', 1)], never)
  await session.endList('1', never)
  await session.commit([change('MODIFIED', 'a', 2)], '2', never)
  await session.beginList('newer', never)
  await session.endList('3', never)
  const versions = told.map((it) => JSON.parse(it.old?.()?.toString() ?? '{}').metadata?.resourceVersion)
  expect(told.map(shown)).toEqual(['MODIFIED a@2', 'DELETED a@2 synthesized'])
  expect(versions).toEqual(['1', '2'])
})
