import { expect, test, vi } from 'vitest'
import { eventInJournal } from '../../../src/app/dry-run/journal-events.ts'
import type { Change } from '../../../src/model/change.ts'
import { journalContents } from '../../../src/model/journal-record.ts'
import { normalise } from '../../../src/watch/decode/normalise.ts'
import { scanObject } from '../../../src/watch/decode/scan.ts'
import { change } from '../../store/objects.ts'
import { never, startStoreBed } from '../../store/store-bed.ts'

/** The search for one event in a journal that is too long to be read for each request. */

const CONTEXT = { cluster: 'test', salt: Buffer.from('salt') }
const SNAPSHOT = { needs: {} } as Parameters<typeof eventInJournal>[2]
const DAY_MS = 86_400_000

function filled(version: number, data: string): Change {
  const made = change('MODIFIED', 'wanted', version)
  const object = JSON.parse(made.object.bytes.toString()) as object
  const bytes = Buffer.from(JSON.stringify({ ...object, data: { data } }))
  return { ...made, object: scanObject(bytes) ?? made.object }
}

async function startJournal() {
  await using stack = new AsyncDisposableStack()
  const bed = stack.use(
    await startStoreBed({
      journal: {
        bounds: () => ({ keepMs: DAY_MS, maxBytes: 1e8 }),
        contentsOf: (source, transition) => journalContents(normalise(source, transition, CONTEXT)),
      },
    }),
  )
  const session = await bed.watching()
  let version = 1
  const commit = async (make: (version: number) => Change) => {
    version++
    await session.commit([make(version)], String(version), never)
    return version
  }
  const noise = async (count: number) => {
    for (let i = 0; i < count; i++) await commit((at) => change('MODIFIED', `other-${i}`, at))
  }
  const reads = [vi.spyOn(bed.reader, 'xrangeBuffer'), vi.spyOn(bed.reader, 'xrevrangeBuffer')]
  const moved = stack.move()
  return {
    ...{ session, commit, noise },
    reads: () => reads.reduce((sum, { mock }) => sum + mock.calls.length, 0),
    find: (id: string, options: Partial<Parameters<typeof eventInJournal>[3]> = {}) =>
      eventInJournal({ redis: bed.reader, keys: bed.keys, ...CONTEXT }, id, SNAPSHOT, {
        signal: never,
        withinMs: Number.POSITIVE_INFINITY,
        ...options,
      }),
    idOf: async (at: number) =>
      (await bed.deliveries()).find(({ event }) => event.resourceVersion === String(at))?.event.id ?? '',
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}

test('an event is read from its time backwards, with the state of its object before it', async () => {
  await using it = await startJournal()
  await it.commit((at) => filled(at, 'long ago'))
  await it.noise(300)
  await it.commit((at) => filled(at, 'one'))
  await it.noise(3)
  const id = await it.idOf(await it.commit((at) => filled(at, 'two')))
  const { event } = await it.find(id, { aboutMs: Date.now() })
  expect(event?.id).toBe(id)
  expect(event?.changes).toMatchObject([{ path: 'data.data', old: 'one', new: 'two' }])
  expect(it.reads()).toBeLessThan(6)
})

test('an event that a restored etcd brought back is found by its own id', async () => {
  await using it = await startJournal()
  const first = await it.commit((at) => filled(at, 'one'))
  const second = await it.commit((at) => filled(at, 'two'))
  await it.session.beginList('different', never)
  await it.session.list([filled(first, 'one')], never)
  const id = (await it.idOf(second)).replace(`/${second}/`, `/${first}~${second}/`)
  const { event } = await it.find(id)
  expect(event?.id).toBe(id)
  expect(event?.changes).toMatchObject([{ path: 'data.data', old: 'two', new: 'one' }])
})

test('an event that was committed long after it was observed is found, as after an interruption of Redis', async () => {
  await using it = await startJournal()
  await it.commit((at) => filled(at, 'one'))
  await it.noise(30)
  const id = await it.idOf(await it.commit((at) => filled(at, 'two')))
  await it.noise(30)
  for (const untilMs of [undefined, Date.now()]) {
    const { event } = await it.find(id, { aboutMs: Date.now() - 600_000, untilMs })
    expect(event?.changes).toMatchObject([{ old: 'one', new: 'two' }])
  }
})

test('an event that the journal does not have is not sought before its time', async () => {
  await using it = await startJournal()
  const id = await it.idOf(await it.commit((at) => filled(at, 'one')))
  await it.noise(300)
  const absent = id.replace(/\w+$/, 'DELETED')
  const found = await it.find(absent, { aboutMs: Date.now() + 600_000 })
  expect(found).toEqual({ event: undefined, isComplete: true })
  expect(it.reads()).toBeLessThan(6)
})

test('an event whose object the journal has not before it has no changes', async () => {
  await using it = await startJournal()
  await it.noise(20)
  const id = await it.idOf(await it.commit((at) => filled(at, 'one')))
  const { event, isComplete } = await it.find(id)
  expect([event?.id, event?.changes, isComplete]).toEqual([id, undefined, true])
})

test('a search that ends before the beginning of the journal is not complete', async () => {
  await using it = await startJournal()
  const id = await it.idOf(await it.commit((at) => filled(at, 'one')))
  await it.noise(50)
  expect(await it.find(id, { withinMs: 0 })).toEqual({ event: undefined, isComplete: false })
  expect((await it.find(id)).event?.id).toBe(id)
  expect(await it.find(id.replace(/\w+$/, 'DELETED'))).toEqual({ event: undefined, isComplete: true })
})
