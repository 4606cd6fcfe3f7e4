import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fileCheckpoint } from '../../../src/watch/library/file-checkpoint.ts'
import type { CheckpointStore } from '../../../src/watch/library/types.ts'
import { configMap, failure } from '../../servers/scripted-api.ts'
import { waitFor } from '../../wait-for.ts'
import { collect, label, startLibraryBed, startLibraryProgram } from './bed.ts'

function memoryCheckpoint(): CheckpointStore & { saved: string | undefined } {
  return {
    saved: undefined,
    async load() {
      return this.saved
    },
    async save(checkpoint) {
      this.saved = checkpoint
    },
  }
}

test('a program that starts again goes on at its position, without what it has processed', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const path = join(it.dir, 'position.json')
  const first = it.open({ checkpoint: fileCheckpoint(path) })
  const before = collect(first)
  await it.watching('10')
  it.api.current()?.frame('MODIFIED', configMap('a', 11))
  await before.arrived(2)
  await first.close()
  expect(readdirSync(it.dir).toSorted()).toEqual(['kubeconfig', 'position.json'])

  it.api.resourceVersion = '13'
  it.api.script((connection) => {
    connection.frame('MODIFIED', configMap('a', 11))
    connection.frame('DELETED', configMap('a', 12))
  })
  const second = it.open({ checkpoint: fileCheckpoint(path) })
  const after = collect(second)
  await second.synced
  expect(before.labels()).toEqual(['ADDED a@5 synthesized', 'MODIFIED a@11'])
  expect(after.labels()).toEqual(['DELETED a@12'])
  expect(it.api.lists()).toHaveLength(1)
})

test('a program that starts again between deletions of one revision gets the rest of them', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5), configMap('b', 6)] })
  const checkpoint = memoryCheckpoint()
  const first = it.open({ checkpoint })
  const before = collect(first)
  await it.watching('10')
  it.api.resourceVersion = '20'
  it.api.current()?.frame('DELETED', configMap('a', 20))
  await before.arrived(3)
  // It counts as processed as soon as the next one is requested.
  await waitFor(() => !checkpoint.saved?.includes('uid-of-a'), { what: 'the deletion to be saved' })
  await first.close()
  it.api.script((watch) => {
    if (Number(watch.request.query.get('resourceVersion')) >= 20) return
    watch.frame('DELETED', configMap('a', 20))
    watch.frame('DELETED', configMap('b', 20))
  })
  const second = it.open({ checkpoint })
  const after = collect(second)
  await second.synced
  expect(after.labels()).toEqual(['DELETED b@20'])
})

test('after a 410 at the start the net difference to the checkpoint comes', async () => {
  await using it = await startLibraryBed({
    objects: [configMap('changed', 5), configMap('gone', 6), configMap('same', 7)],
  })
  const checkpoint = memoryCheckpoint()
  const first = it.open({ checkpoint })
  void collect(first)
  await first.synced
  await first.close()
  it.api.objects = [configMap('changed', 15), configMap('same', 7)]
  it.api.resourceVersion = '20'
  it.api.script((connection) => connection.frame('ERROR', failure(410, 'Expired')))
  const second = it.open({ checkpoint })
  const { labels } = collect(second)
  await second.synced
  expect(labels()).toEqual(['MODIFIED changed@15 synthesized', 'DELETED gone@6 synthesized'])
})

test('a change counts as processed when the next one is requested: after break it comes again, after the signal it does not', async () => {
  await using it = await startLibraryBed({ objects: ['a', 'b', 'c', 'd'].map((name) => configMap(name, 5)) })
  const checkpoint = memoryCheckpoint()
  const names: string[] = []
  for await (const { name } of it.open({ checkpoint })) {
    names.push(name)
    if (name === 'b') break
  }
  const stop = new AbortController()
  for await (const { name } of it.open({ checkpoint, signal: stop.signal })) {
    names.push(name)
    if (name === 'c') stop.abort()
  }
  const last = it.open({ checkpoint })
  const { seen } = collect(last)
  await last.synced
  expect([...names, ...seen.map(({ name }) => name)]).toEqual(['a', 'b', 'b', 'c', 'd'])
})

test('remove forgets the position: the next start begins with what exists', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const checkpoint = memoryCheckpoint()
  const first = it.open({ checkpoint })
  void collect(first)
  await first.synced
  await first.remove('ConfigMap')
  await first.close()
  expect(checkpoint.saved).not.toContain('configmaps')
  const second = it.open({ checkpoint })
  const { labels } = collect(second)
  await second.synced
  expect(labels()).toEqual(['ADDED a@5 synthesized'])
})

test('remove frees what a former start has left of a watch, by its options, too', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const checkpoint = memoryCheckpoint()
  const own = { kind: 'ConfigMap', namespaces: ['default'] }
  const first = it.open({ checkpoint, kinds: [own] })
  void collect(first)
  await first.synced
  await first.close()
  expect(checkpoint.saved).toContain('configmaps')
  const second = it.open({ checkpoint, kinds: ['Event'] })
  void collect(second)
  await second.synced
  expect(await second.remove(own)).toBe(false)
  await second.close()
  expect(checkpoint.saved).not.toContain('configmaps')
})

test('another cluster at the address begins with what exists there', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const checkpoint = memoryCheckpoint()
  const first = it.open({ checkpoint })
  void collect(first)
  await first.synced
  await first.close()
  it.api.clusterUid = 'another'
  const second = it.open({ checkpoint })
  const { labels } = collect(second)
  await second.synced
  expect(labels()).toEqual(['ADDED a@5 synthesized'])
})

test.each([
  ['granted', [403, 200]],
  ['withdrawn', [200, 403]],
])(
  'a permission to read kube-system that is %s between two starts makes no other cluster',
  async (_, statuses) => {
    await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
    let status: number | undefined
    it.api.intercept = ({ path }, response) => {
      if (status !== 403 || !path.endsWith('/kube-system')) return false
      response.writeHead(403).end(JSON.stringify(failure(403, 'Forbidden')))
      return true
    }
    const checkpoint = memoryCheckpoint()
    status = statuses[0]
    const first = it.open({ checkpoint })
    void collect(first)
    await first.synced
    await first.close()
    status = statuses[1]
    it.api.objects = [configMap('b', 12)]
    it.api.resourceVersion = '20'
    it.api.script((connection) => connection.frame('ERROR', failure(410, 'Expired')))
    const second = it.open({ checkpoint })
    const { labels } = collect(second)
    await second.synced
    expect(labels()).toEqual(['ADDED b@12 synthesized', 'DELETED a@5 synthesized'])
  },
)

test('a checkpoint keeps the identities of a bounded number of addresses', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const checkpoint = memoryCheckpoint()
  const open = async () => {
    const changes = it.open({ checkpoint })
    void collect(changes)
    await changes.synced
    await changes.close()
  }
  await open()
  const [head = '', ...rest] = (checkpoint.saved ?? '').split('\n')
  const { identities, ...others } = JSON.parse(head) as { identities: Record<string, object> }
  const former = Array.from({ length: 50 }, (_, i) => [`address-${i}`, { id: `uid-${i}`, uid: `uid-${i}` }])
  const grown = { ...others, identities: { ...Object.fromEntries(former), ...identities } }
  checkpoint.saved = [JSON.stringify(grown), ...rest].join('\n')
  it.api.resourceVersion = '11'
  it.api.script((connection) => connection.frame('MODIFIED', configMap('a', 11)))
  await open()
  const kept = (JSON.parse(checkpoint.saved.split('\n')[0] ?? '') as typeof grown).identities
  expect(Object.keys(kept).length).toBeLessThan(20)
  expect(kept).toMatchObject(identities)
})

test.each([
  ['a torn file', (text: string) => text.slice(0, text.length / 2)],
  ['a file without its last line', (text: string) => text.split('\n').slice(0, -1).join('\n')],
  ['a file that lacks objects', (text: string) => text.replace(/^\[\[.*$/m, '[]')],
  ['a file of something else', () => '{}'],
  ['an empty file', () => ''],
])('%s is refused, and not taken for a beginning', async (_, broken) => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const path = join(it.dir, 'position.json')
  const first = it.open({ checkpoint: fileCheckpoint(path) })
  void collect(first)
  await first.synced
  await first.close()
  writeFileSync(path, broken(readFileSync(path, 'utf8')))
  const second = it.open({ checkpoint: fileCheckpoint(path) })
  await expect(collect(second).done).rejects.toMatchObject({
    code: 'checkpoint',
    message: expect.stringContaining('delete it'),
  })
})

test('a checkpoint whose load() throws, immediately or later, ends the iteration with its reason', async () => {
  await using it = await startLibraryBed()
  const load = () => {
    throw new Error('no disk')
  }
  for (const store of [
    { load, save: async () => {} },
    { load: async () => load(), save: async () => {} },
  ])
    await expect(collect(it.open({ checkpoint: store })).done).rejects.toMatchObject({
      code: 'checkpoint',
      message: 'the checkpoint cannot be loaded: no disk',
    })
})

test('a checkpoint that cannot be saved is tried again with a warning; at the end it is an error', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const path = join(it.dir, 'missing-folder', 'position.json')
  const changes = it.open({ checkpoint: fileCheckpoint(path) })
  const { done } = collect(changes)
  await waitFor(() => it.warnings.length >= 2, { what: 'two warnings' })
  expect(it.warnings[0]?.error).toContain('missing-folder')
  await expect(changes.close()).rejects.toMatchObject({ code: 'checkpoint' })
  await expect(done).rejects.toMatchObject({ code: 'checkpoint' })
})

test('saves do not overlap, and what changed during one is in the next', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const go = Promise.withResolvers<void>()
  const saved: string[] = []
  let running = 0
  let most = 0
  const checkpoint: CheckpointStore = {
    load: async () => undefined,
    async save(text) {
      most = Math.max(most, ++running)
      await go.promise
      saved.push(text)
      running--
    },
  }
  const changes = it.open({ checkpoint })
  const { arrived } = collect(changes, (change) => label(change))
  await it.watching('10')
  await waitFor(() => running === 1, { what: 'a save' })
  it.api.current()?.frame('ADDED', configMap('b', 11))
  await arrived(2)
  go.resolve()
  await changes.close()
  expect(most).toBe(1)
  expect(saved.at(-1)).toContain('uid-of-b')
})

test('a program that leaves the loop ends by itself: no connection and no timer is left', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5), configMap('b', 6)] })
  const [kubeconfig, path, output] = ['kubeconfig', 'position', 'changes'].map((name) => join(it.dir, name))
  const program = startLibraryProgram(kubeconfig!, path!, output!, '2')
  await waitFor(program.ended, { timeoutMs: 20_000, what: () => `its end; ${program.output()}` })
  expect({ code: program.exitCode(), output: program.output() }).toEqual({ code: 0, output: '' })
  expect(readFileSync(output!, 'utf8').trim().split('\n')).toHaveLength(2)
  // The second one was not confirmed.
  expect(readFileSync(path!, 'utf8')).toContain('uid-of-a')
  expect(readFileSync(path!, 'utf8')).not.toContain('uid-of-b')
})
