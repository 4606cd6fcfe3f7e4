import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Source } from '../../src/model/change.ts'
import { compilePattern } from '../../src/rules/pattern.ts'
import { collectionPath } from '../../src/watch/list/list.ts'
import { planSources } from '../../src/watch/plan/plan.ts'
import { hashOf, isInShard, shardSelectorOf } from '../../src/watch/plan/shards.ts'
import { shardsOf } from '../../src/watch/plan/split.ts'

const PODS = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
  singular: 'pod',
  shortNames: [],
  preferred: true,
}

const planned = (...entries: Parameters<typeof planSources>[0]) =>
  planSources(entries, { resources: [PODS], silentGroups: [] }, 'cluster', compilePattern).sources

// Published vectors of FNV-1a, 64 bits.
test.each([
  ['', 0xcbf29ce484222325n],
  ['a', 0xaf63dc4c8601ec8cn],
  ['foobar', 0x85944171f73967e8n],
])('the hash of "%s" is that of FNV-1a', (text, hash) => {
  expect(hashOf(text)).toBe(hash)
})

test('shards are asked for as the API server documents them', () => {
  expect([0, 1, 2, 3].map((index) => shardSelectorOf({ index, of: 4 }))).toEqual([
    "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000')",
    "shardRange(object.metadata.uid, '0x4000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x8000000000000000', '0xc000000000000000')",
    "shardRange(object.metadata.uid, '0xc000000000000000', '0x10000000000000000')",
  ])
})

test.each([2, 3, 7, 16])('every uid is in one of %i shards, and each shard has its part', (of) => {
  const counts = Array.from({ length: of }, () => 0)
  for (let i = 0; i < 4_000; i++) {
    const uid = randomUUID()
    const shards = counts.keys().filter((index) => isInShard(uid, { index, of }))
    const [only, ...more] = [...shards]
    expect(more).toEqual([])
    counts[only!]!++
  }
  const fair = 4_000 / of
  expect(Math.min(...counts)).toBeGreaterThan(fair * 0.6)
  expect(Math.max(...counts)).toBeLessThan(fair * 1.4)
})

test('each shard is a source of its own, with its part of the collection', () => {
  const sources = planned({ kind: 'Pod', namespaces: ['shop', 'pay'], shards: 2 }).flatMap(shardsOf)
  expect(sources.map(({ title }) => title)).toEqual([
    'pods in shop (shard 1/2)',
    'pods in shop (shard 2/2)',
    'pods in pay (shard 1/2)',
    'pods in pay (shard 2/2)',
  ])
  expect(new Set(sources.map(({ key }) => key)).size).toBe(4)
  const query = new URLSearchParams(collectionPath(sources[1] as Source, {}).split('?')[1])
  expect(query.get('shardSelector')).toBe(shardSelectorOf({ index: 1, of: 2 }))
})

test('other numbers of shards are other sources, and the whole is another one still', () => {
  const keys = [undefined, 2, 3, 4].flatMap((shards) =>
    planned({ kind: 'Pod', ...(shards && { shards }) })
      .flatMap(shardsOf)
      .map(({ key }) => key),
  )
  expect(new Set(keys).size).toBe(1 + 2 + 3 + 4)
})

test('entries that are one watch are split into the greater number of shards', () => {
  const entries = [{ kind: 'Pod', shards: 2 }, { kind: 'pods' }, { kind: 'v1/Pod', shards: 4 }]
  expect(planned(...entries).map(({ shards }) => shards)).toEqual([4])
})
