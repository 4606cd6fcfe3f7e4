import { expect, test } from 'vitest'
import type { CheckpointStore } from '../../../src/watch/library/types.ts'
import { configMap } from '../../servers/scripted-api.ts'
import { waitFor } from '../../wait-for.ts'
import { DEFINED, GONE, serveWidgets, THERE } from '../widgets.ts'
import { collect, startLibraryBed } from './bed.ts'

const KIND = 'widgets.example.com'
const inNamespace = (namespace: string) => ({ kind: KIND, namespaces: [namespace] })

test('each namespace of a kind that is defined and not served can be added; without its definition the kind is unknown', async () => {
  await using it = await startLibraryBed()
  const widgets = serveWidgets(it.api, { begin: DEFINED, namesIn: () => [] })
  const changes = it.open({ kinds: [] })
  collect(changes)
  await changes.add(inNamespace('shop'))
  await changes.add(inNamespace('pay'))
  expect(await changes.remove(KIND)).toBe(true)
  widgets.become(GONE)
  await expect(changes.add(inNamespace('shop'))).rejects.toMatchObject({ code: 'unknown-kind' })
})

test('two additions of a kind that is not served, at the same time, have the same result', async () => {
  await using it = await startLibraryBed()
  const widgets = serveWidgets(it.api, { begin: DEFINED, namesIn: () => [] })
  const changes = it.open({ kinds: [] })
  collect(changes)
  const addBoth = () =>
    Promise.allSettled([changes.add(inNamespace('shop')), changes.add(inNamespace('pay'))])
  expect(await addBoth()).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }])
  await changes.remove(KIND)
  widgets.become(GONE)
  const unknown = { status: 'rejected', reason: { code: 'unknown-kind' } }
  expect(await addBoth()).toMatchObject([unknown, unknown])
})

test('while the definition of a watched kind is gone, namespaces of it can be added; once it is removed, the kind is unknown', async () => {
  await using it = await startLibraryBed()
  const widgets = serveWidgets(it.api, { begin: THERE, namesIn: () => ['a'] })
  const changes = it.open({ kinds: [] })
  const { labels, arrived } = collect(changes)
  await changes.add(inNamespace('shop'))
  await arrived(1)
  widgets.become(GONE)
  await arrived(2)
  await changes.add(inNamespace('pay'))
  await changes.remove(KIND)
  await expect(changes.add(inNamespace('pay'))).rejects.toMatchObject({ code: 'unknown-kind' })
  widgets.become(THERE)
  await changes.add(inNamespace('pay'))
  await arrived(3)
  expect(labels()).toEqual(['ADDED a@5 synthesized', 'DELETED a@5 synthesized', 'ADDED a@5 synthesized'])
})

test('with initial: skip what exists of a kind that was unknown is not emitted once it can be added', async () => {
  await using it = await startLibraryBed()
  const widgets = serveWidgets(it.api, { begin: GONE, namesIn: () => ['a'] })
  const changes = it.open({ initial: 'skip' })
  const { labels, arrived } = collect(changes)
  await expect(changes.add(KIND)).rejects.toMatchObject({ code: 'unknown-kind' })
  widgets.become(THERE)
  await changes.add(KIND)
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('c', 11))
  await arrived(1)
  expect(labels()).toEqual(['ADDED c@11'])
})

test('removing a watch by its options while its definition is gone frees what the checkpoint has of it, and of no other', async () => {
  await using it = await startLibraryBed()
  const widgets = serveWidgets(it.api, { begin: THERE, namesIn: () => ['a'] })
  let saved = ''
  const checkpoint: CheckpointStore = {
    load: async () => undefined,
    async save(text) {
      saved = text
    },
  }
  const changes = it.open({ kinds: ['shop', 'pay'].map(inNamespace), checkpoint })
  const { arrived } = collect(changes)
  await changes.synced
  widgets.become(GONE)
  await arrived(4)
  await waitFor(() => it.warnings.some(({ watch }) => watch === KIND), { what: 'the kind to be waited for' })
  await changes.remove(inNamespace('shop'))
  await changes.close()
  expect(saved).toContain('widgets.example.com in pay')
  expect(saved).not.toContain('widgets.example.com in shop')
})
