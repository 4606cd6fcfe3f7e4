import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Change } from '../../src/model/change.ts'
import type { ClusterEvent, RelatedMetadata } from '../../src/model/event.ts'
import { type JournalBounds, type JournalRecord, journalContents } from '../../src/model/journal-record.ts'
import {
  type JournalParts,
  journalExtent,
  MOST_TRIMMED,
  readJournal,
} from '../../src/store/commit/journal.ts'
import { type ReplayParts, replay } from '../../src/store/commit/journal-replay.ts'
import { normalise } from '../../src/watch/decode/normalise.ts'
import { scanObject } from '../../src/watch/decode/scan.ts'
import { waitFor } from '../wait-for.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

const CONTEXT = { cluster: 'test', salt: Buffer.from('salt') }
const DAY_MS = 86_400_000

function journal(bounds: Partial<JournalBounds> = {}): JournalParts {
  return {
    bounds: () => ({ keepMs: DAY_MS, maxBytes: 1e6, ...bounds }),
    contentsOf: (source, transition) => journalContents(normalise(source, transition, CONTEXT)),
  }
}

/** A change whose object has this in it. */
function filled(name: string, version: number, data: string): Change {
  const made = change('MODIFIED', name, version)
  const object = JSON.parse(made.object.bytes.toString()) as Record<string, unknown>
  const bytes = Buffer.from(JSON.stringify({ ...object, data: { data } }))
  return { ...made, object: scanObject(bytes) ?? made.object }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  return Array.fromAsync(items)
}

const shown = (it: JournalRecord) => `${it.type} ${it.name}@${it.resourceVersion}`
const events = (records: AsyncIterable<JournalRecord>, more: Partial<ReplayParts> = {}) =>
  all(
    replay(records, {
      scan: scanObject,
      normalise: (source, transition, surroundings) =>
        normalise(source, transition, { ...CONTEXT, surroundings }),
      ...more,
    }),
  )

test('each change is in the journal once, as rules saw it, in its order', async () => {
  await using it = await startStoreBed({ journal: journal() })
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2), change('ADDED', 'b', 3)], '3', never)
  await session.commit(
    [change('ADDED', 'b', 3), filled('a', 4, 'x\n"y"'), change('DELETED', 'b', 5)],
    '5',
    never,
  )
  const records = await all(readJournal(it.reader, it.keys))
  expect(records.map(shown)).toEqual(['ADDED a@2', 'ADDED b@3', 'MODIFIED a@4', 'DELETED b@5'])
  expect(records[2]?.source).toMatchObject({ key: SOURCE.key, resource: SOURCE.resource })
  const told = await it.deliveries()
  const replayed = await events(readJournal(it.reader, it.keys))
  expect(replayed.map(({ id }) => id)).toEqual(told.map(({ event }) => event.id))
  expect(replayed.map(({ objectJson }) => objectJson.toString())).toEqual(
    told.map(({ objectJson }) => objectJson.toString()),
  )
})

test('a replay knows what an object was before', async () => {
  await using it = await startStoreBed({ journal: journal() })
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2), filled('a', 3, 'one'), filled('a', 4, 'two')], '4', never)
  const [added, first, second] = await events(readJournal(it.reader, it.keys))
  expect(added?.changes).toBeUndefined()
  expect(pathsOf(first)).toContain('data.data')
  expect(second?.changes).toMatchObject([{ path: 'data.data', old: 'one', new: 'two' }])
  const forgetful = await events(readJournal(it.reader, it.keys), { maxBytes: 10 })
  expect(forgetful.at(-1)?.changes).toBeUndefined()
})

test('a replay from a time on knows what objects were before that time, and tells of what it does not know', async () => {
  await using it = await startStoreBed({ journal: journal() })
  const session = await it.watching()
  const at = (atMs: number, it: ReturnType<typeof filled>) => ({ ...it, observedAtMs: atMs })
  const commits = [
    at(1_000, filled('b', 2, 'trimmed away')),
    at(1_000, filled('a', 3, 'one')),
    at(2_000, filled('a', 4, 'two')),
    at(2_000, filled('b', 5, 'x')),
  ]
  await session.commit(commits, '5', never)
  const unknown: string[] = []
  const [, ...records] = await all(readJournal(it.reader, it.keys))
  const replayed = await events(listed(records), {
    sinceMs: 2_000,
    onUnknown: ({ kind }) => unknown.push(kind),
  })
  expect(replayed.map(({ name, changes }) => [name, changes?.[0]?.old])).toEqual([
    ['a', 'one'],
    ['b', undefined],
  ])
  expect(unknown).toEqual(['ConfigMap'])
})

test('an Event has no previous object in a replay, as it has none in a commit', async () => {
  await using it = await startStoreBed({ journal: journal() })
  const session = await it.watching()
  await session.commit([filled('a', 2, 'one'), filled('a', 3, 'two')], '3', never)
  const records = await all(readJournal(it.reader, it.keys))
  const resource = { ...SOURCE.resource, kind: 'Event', plural: 'events' }
  const unknown: string[] = []
  const replayed = await events(
    listed(records.map((record) => ({ ...record, source: { ...record.source, resource } }))),
    { onUnknown: ({ kind }) => unknown.push(kind) },
  )
  expect(replayed.map(({ kind, oldObject }) => [kind, oldObject])).toEqual([
    ['Event', undefined],
    ['Event', undefined],
  ])
  expect(unknown).toEqual([])
})

async function* listed<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}

const pathsOf = (event: ClusterEvent | undefined) => (event?.changes ?? []).map(({ path }) => path).join(' ')

test('what was known around a change is known in its replay', async () => {
  const owners = [{ kind: 'Deployment', name: 'web' }]
  const surroundings: RelatedMetadata = {
    namespaceLabels: () => ({ team: 'pay' }),
    object: () => ({ labels: { app: 'web' }, owners }),
    ownersOf: () => owners,
  }
  await using it = await startStoreBed({
    journal: {
      ...journal(),
      contentsOf: (source, transition) =>
        journalContents(normalise(source, transition, { ...CONTEXT, surroundings })),
    },
  })
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2)], '2', never)
  const [event] = await events(readJournal(it.reader, it.keys))
  expect(event).toMatchObject({ namespaceLabels: { team: 'pay' }, owners })
})

test('where the owners were not looked up, the controller that the object names is known in its replay', async () => {
  await using it = await startStoreBed({
    journal: {
      ...journal(),
      contentsOf: (source, transition) =>
        journalContents(normalise(source, transition, { ...CONTEXT, owners: false })),
    },
  })
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u' }
  const made = change('ADDED', 'a', 2)
  const object = JSON.parse(made.object.bytes.toString()) as { metadata: object }
  const metadata = { ...object.metadata, ownerReferences: [{ ...owner, controller: true }] }
  const bytes = Buffer.from(JSON.stringify({ ...object, metadata }))
  const session = await it.watching()
  await session.commit([{ ...made, object: scanObject(bytes) ?? made.object }], '2', never)
  const [event] = await events(readJournal(it.reader, it.keys))
  expect(event?.owners).toMatchObject([{ kind: 'Deployment', name: 'web' }])
})

test('who wrote an object is known in its replay, though its managedFields are gone', async () => {
  await using it = await startStoreBed({ journal: journal() })
  const made = change('MODIFIED', 'a', 2)
  const object = JSON.parse(made.object.bytes.toString()) as { metadata: object }
  const managedFields = [{ manager: 'kubectl-edit', time: '2026-11-21T09:00:00Z' }]
  const bytes = Buffer.from(JSON.stringify({ ...object, metadata: { ...object.metadata, managedFields } }))
  const session = await it.watching()
  await session.commit([{ ...made, object: scanObject(bytes) ?? made.object }], '2', never)
  const [event] = await events(readJournal(it.reader, it.keys))
  expect(event?.manager).toBe('kubectl-edit')
  expect(event?.object).not.toHaveProperty('metadata.managedFields')
})

test('what a relist found missing is in the journal, too', async () => {
  await using it = await startStoreBed({ journal: journal() })
  const session = await it.seeded([change('ADDED', 'gone', 1)])
  await session.beginList('newer', never)
  await session.endList('9', never)
  const [record] = await all(readJournal(it.reader, it.keys))
  expect(record).toMatchObject({ type: 'DELETED', name: 'gone', synthesized: true })
  expect(JSON.parse(record?.objectJson.toString() ?? '')).toMatchObject({ metadata: { name: 'gone' } })
})

test('it holds its bound in bytes after each commit, and the newest stay', async () => {
  await using it = await startStoreBed({ journal: journal({ maxBytes: 20_000 }) })
  const session = await it.watching()
  for (let i = 2; i < 60; i++) {
    await session.commit([filled('a', i, randomBytes(600).toString('base64'))], String(i), never)
    const { bytes, entries } = await journalExtent(it.reader, it.keys)
    expect(bytes).toBeLessThanOrEqual(20_000)
    expect(entries).toBeGreaterThan(0)
  }
  const raw = await it.reader.xrangeBuffer(it.keys.journal, '-', '+')
  const counted = raw.reduce((sum, [, [, payload]]) => sum + (payload?.length ?? 0) + 64, 0)
  expect(await journalExtent(it.reader, it.keys)).toMatchObject({ bytes: counted, entries: raw.length })
  const records = await all(readJournal(it.reader, it.keys))
  expect(records.map(shown).at(-1)).toBe('MODIFIED a@59')
  expect(records.length).toBeLessThan(40)
})

test('what is older than it keeps goes with the next commit, and all of it when nobody writes any more', async () => {
  let keepMs = DAY_MS
  const parts = journal()
  await using it = await startStoreBed({
    journal: { ...parts, bounds: () => ({ keepMs, maxBytes: 1e6 }) },
  })
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2)], '2', never)
  expect(await it.reader.pttl(it.keys.journal)).toBeGreaterThan(DAY_MS - 60_000)
  keepMs = 1
  await session.commit([change('ADDED', 'b', 3)], '3', never)
  await waitFor(async () => (await it.reader.exists(it.keys.journal)) === 0, { what: 'the journal to go' })
  keepMs = DAY_MS
  await it.reader.xadd(it.keys.journal, `${Date.now() - 2 * DAY_MS}-0`, 'z', 'old')
  await session.commit([change('ADDED', 'c', 4)], '4', never)
  expect((await all(readJournal(it.reader, it.keys))).map(shown)).toEqual(['ADDED c@4'])
})

test('what has become very much too old, or too much, goes over several commits: none of them holds Redis up for long', async () => {
  await using it = await startStoreBed({ journal: journal() })
  const session = await it.watching()
  const pipeline = it.reader.pipeline()
  const oldMs = Date.now() - 2 * DAY_MS
  for (let i = 0; i < 2.5 * MOST_TRIMMED; i++) pipeline.xadd(it.keys.journal, `${oldMs + i}-0`, 'z', 'old')
  await pipeline.exec()
  const left: number[] = []
  for (let version = 2; version < 5; version++) {
    await session.commit([change('ADDED', 'a', version)], String(version), never)
    left.push((await journalExtent(it.reader, it.keys)).entries)
  }
  expect(left[0]).toBeGreaterThan(1.4 * MOST_TRIMMED)
  expect(left[1]).toBeGreaterThan(0.4 * MOST_TRIMMED)
  expect(left[2]).toBe(3)
})

test('it is read from a time on', async () => {
  await using it = await startStoreBed({ journal: journal() })
  const session = await it.watching()
  const at = (name: string, version: number, observedAtMs: number) => ({
    ...change('ADDED', name, version),
    observedAtMs,
  })
  const nowMs = Date.now()
  await session.commit([at('a', 2, nowMs - 2_000), at('b', 3, nowMs)], '3', never)
  expect((await all(readJournal(it.reader, it.keys, { sinceMs: nowMs - 1_000 }))).map(shown)).toEqual([
    'ADDED b@3',
  ])
})

test('without a journal nothing of one is written', async () => {
  await using it = await startStoreBed({ journal: { ...journal(), bounds: () => undefined } })
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2)], '2', never)
  expect(await it.reader.keys('*journal*')).toEqual([])
})

test('an object that cannot be read is left out of it, and its commit is done', async () => {
  const parts = journal()
  await using it = await startStoreBed({
    journal: {
      ...parts,
      contentsOf(source, transition) {
        if (transition.name === 'bad') throw new Error('cannot be read')
        return parts.contentsOf(source, transition)
      },
    },
  })
  const session = await it.watching()
  await session.commit([change('ADDED', 'bad', 2), change('ADDED', 'good', 3)], '3', never)
  expect((await all(readJournal(it.reader, it.keys))).map(shown)).toEqual(['ADDED good@3'])
  expect(await it.enqueued()).toHaveLength(2)
})
