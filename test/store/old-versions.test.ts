import { expect, test } from 'vitest'
import { SOURCE } from './objects.ts'
import { came, image, KEEPS, startOldBed } from './old-bed.ts'
import { never } from './store-bed.ts'

/** The same objects, in another version of their API. */
const V2 = { ...SOURCE, resource: { ...SOURCE.resource, version: 'v2' } }
const inV2 = (name: string, version: number, image: string) =>
  came(version === 1 ? 'ADDED' : 'MODIFIED', name, version, { apiVersion: 'v2', spec: { image } })

test('an object as another version of the API had it is not the state before', async () => {
  await using it = await startOldBed()
  await it.begun(came('ADDED', 'a', 1, image('v1')))
  const session = await it.open(KEEPS, V2)
  await session.commit([inV2('a', 2, 'v1')], '2', never)
  await session.commit([inV2('a', 3, 'v2')], '3', never)
  const changes = (await it.deliveries()).map(({ event }) => event.changes)
  expect(changes).toMatchObject([undefined, [{ path: 'spec.image', old: 'v1', new: 'v2' }]])
})

test('a list stores unchanged objects again as the present version of the API has them, also after one that was interrupted', async () => {
  await using it = await startOldBed()
  await it.begun(came('ADDED', 'a', 1, image('v1')), came('ADDED', 'b', 1, image('v1')))
  const interrupted = await it.open(KEEPS, V2)
  await interrupted.beginList('different', never)
  await interrupted.list([inV2('a', 1, 'v1')], never)
  const session = await it.open(KEEPS, V2)
  await session.beginList('different', never)
  await session.list([inV2('a', 1, 'v1'), inV2('b', 1, 'v1')], never)
  await session.endList('5', never)
  await session.commit([inV2('a', 6, 'v2'), inV2('b', 7, 'v2')], '7', never)
  const changes = (await it.deliveries()).map(({ event }) => event.changes)
  const change = [{ path: 'spec.image', old: 'v1', new: 'v2' }]
  expect(changes).toMatchObject([change, change])
})

test('a list in the version of the one before it unpacks no unchanged object', async () => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 1, image('v1')))
  const stored = (await it.reader.hgetBuffer(it.hash, 'uid-of-a')) as Buffer
  // Unpacked, it could not be read, and would be stored again.
  const unreadable = Buffer.concat([stored.subarray(0, 4), Buffer.alloc(40)])
  await it.reader.hset(it.hash, { 'uid-of-a': unreadable })
  await session.beginList('different', never)
  await session.list([came('ADDED', 'a', 1, image('v1'))], never)
  await session.endList('5', never)
  expect(await it.reader.hgetBuffer(it.hash, 'uid-of-a')).toEqual(unreadable)
})
