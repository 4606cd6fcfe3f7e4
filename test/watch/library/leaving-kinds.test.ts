import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fileCheckpoint } from '../../../src/watch/library/file-checkpoint.ts'
import type { Changes } from '../../../src/watch/library/types.ts'
import { configMap } from '../../servers/scripted-api.ts'
import { waitFor } from '../../wait-for.ts'
import { GONE, serveWidgets, THERE, type Widgets } from '../widgets.ts'
import { collect, type LibraryBed, startLibraryBed } from './bed.ts'

const KIND = 'widgets.example.com'
const inShop = { kind: KIND, namespaces: ['shop'] }

/** A program that has processed two widgets starts again, after their definition was deleted. `first` runs in its loop, at the first deletion. */
async function startAgain(it: LibraryBed, first: (changes: Changes, widgets: Widgets) => Promise<unknown>) {
  const widgets = serveWidgets(it.api, { begin: THERE, namesIn: () => ['a', 'b'] })
  const options = { kinds: [inShop], checkpoint: fileCheckpoint(join(it.dir, 'position.json')) }
  const before = it.open(options)
  collect(before)
  await before.synced
  await before.close()
  widgets.become(GONE)
  const changes = it.open(options)
  let count = 0
  return { changes, ...collect(changes, () => (count++ === 0 ? first(changes, widgets) : undefined)) }
}

/** Waits until the cluster was asked so many more times which kinds it has. */
async function isLookedFor(it: LibraryBed, times: number): Promise<void> {
  const asked = () => it.api.requests.filter(({ path }) => path === '/apis').length
  const before = asked()
  await waitFor(() => asked() >= before + times, { what: 'the kinds to be asked for' })
}

test('another kind can be added in the loop at a deletion of a kind that went while the program did not run', async () => {
  await using it = await startLibraryBed()
  const { labels, arrived } = await startAgain(it, (changes) => changes.add('ConfigMap'))
  await arrived(2)
  expect(labels()).toEqual(['DELETED a@5 synthesized', 'DELETED b@5 synthesized'])
})

test.each<[string, string | typeof inShop]>([
  ['its name', KIND],
  ['its options', inShop],
])('such a kind can be removed in the loop by %s: no other deletion of it comes', async (_, kind) => {
  await using it = await startLibraryBed({ objects: [configMap('c', 6)] })
  let isRemoved = false
  const { changes, labels, arrived } = await startAgain(it, async (running) => {
    isRemoved = await running.remove(kind)
    await running.add('ConfigMap')
  })
  await arrived(2)
  expect(isRemoved).toBe(true)
  expect(labels()).toEqual(['DELETED a@5 synthesized', 'ADDED c@6 synthesized'])
  await expect(changes.add(kind)).rejects.toMatchObject({ code: 'unknown-kind' })
})

test('synced comes after the deletions of such a kind', async () => {
  await using it = await startLibraryBed()
  let isSynced = false
  let before: boolean | undefined
  const { changes, labels } = await startAgain(it, async (running) => {
    running.synced.then(
      () => (isSynced = true),
      () => {},
    )
    await isLookedFor(it, 2)
    before = isSynced
  })
  await changes.synced
  expect(labels()).toEqual(['DELETED a@5 synthesized', 'DELETED b@5 synthesized'])
  expect(before).toBe(false)
})

test('such a kind that returns meanwhile begins after all of its deletions', async () => {
  await using it = await startLibraryBed()
  const { labels, arrived } = await startAgain(it, async (_, widgets) => {
    widgets.become(THERE)
    await isLookedFor(it, 1)
  })
  await arrived(4)
  expect(labels()).toEqual([
    ...['DELETED a@5 synthesized', 'DELETED b@5 synthesized'],
    ...['ADDED a@5 synthesized', 'ADDED b@5 synthesized'],
  ])
})

test('a kind that goes is waited for, and removed, by each of its spellings', async () => {
  await using it = await startLibraryBed({ objects: [configMap('c', 6)] })
  const widgets = serveWidgets(it.api, {
    begin: THERE,
    namesIn: (namespace) => [`${namespace}-1`, `${namespace}-2`],
  })
  const pay = { kind: KIND, namespaces: ['pay'] }
  const changes = it.open({ kinds: [{ kind: 'Widget', namespaces: ['shop'] }, pay] })
  let isRemoved = false
  const { labels, arrived, done } = collect(changes, async ({ type, namespace }) => {
    if (type !== 'DELETED' || namespace !== 'pay' || isRemoved) return
    // By then it is known that the kind is not served.
    await isLookedFor(it, 2)
    isRemoved = await changes.remove(pay)
    await changes.add('ConfigMap')
  })
  await changes.synced
  await arrived(4)
  widgets.become(GONE)
  await Promise.race([arrived(8), done])
  const later = labels()
    .slice(4)
    .map((it) => it.split('@')[0])
  expect(later.toSorted()).toEqual(['ADDED c', 'DELETED pay-1', 'DELETED shop-1', 'DELETED shop-2'])
})
