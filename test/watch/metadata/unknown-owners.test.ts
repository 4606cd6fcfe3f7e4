import { expect, test } from 'vitest'
import type { Change, Source, Transition } from '../../../src/model/change.ts'
import { compileRules } from '../../../src/rules/compile.ts'
import { createLimits } from '../../../src/rules/limits/limits.ts'
import { MemoryLimits } from '../../../src/rules/limits/memory.ts'
import { normalise } from '../../../src/watch/decode/normalise.ts'
import { scanObject } from '../../../src/watch/decode/scan.ts'
import { MetadataCache } from '../../../src/watch/metadata/cache.ts'
import { createCacheStore } from '../../../src/watch/metadata/cache-store.ts'
import { surroundingsOf } from '../../../src/watch/metadata/related-metadata.ts'
import { POD } from '../../rules/events.ts'

const SET = { group: 'apps', version: 'v1', kind: 'ReplicaSet', plural: 'replicasets', namespaced: true }
const never = new AbortController().signal
const START_MS = Date.parse('2026-11-21T10:00:00.000Z')

function sourceOf(resource: Source['resource']): Source {
  return {
    ...{ key: resource.plural, title: resource.plural, resource, namespace: '', initial: 'now' },
    ...{ labelSelector: '', fieldSelector: '', clusterUid: 'c', spelling: resource.kind, custom: false },
  }
}

const controlledBy = (kind: string, name: string, uid: string) => [
  { apiVersion: 'apps/v1', kind, name, uid, controller: true },
]

function objectOf(name: string, uid: string, ownerReferences: object[]) {
  const metadata = { namespace: 'shop', name, uid, resourceVersion: '1', ownerReferences }
  return scanObject(Buffer.from(JSON.stringify({ metadata })))!
}

/** Rules that follow pods of the Deployment web, with what is known of ReplicaSets. */
async function startBed(rule: { for?: number; resolve?: true }) {
  const rules = [{ name: 'r', when: { kind: 'Pod', owner: 'Deployment/web' }, to: ['s'], ...rule }]
  const cache = new MetadataCache({
    maxObjects: 100,
    clock: { now: () => START_MS },
    onEvict() {},
    onExclude() {},
  })
  const store = createCacheStore(cache, { now: () => START_MS })
  const sets = await store.open(sourceOf(SET), never)
  const surroundings = surroundingsOf(cache, ({ kind }) => kind === 'ReplicaSet')
  const match = compileRules(rules, {
    onError(_, error) {
      throw error
    },
    limitsOf: () => 'states',
  })
  const memory = new MemoryLimits(createLimits(rules))
  const told: string[] = []
  function pass(seconds: number) {
    for (const { atMs, outcome } of memory.advance(START_MS + seconds * 1_000))
      for (const { event, notice } of outcome.deliveries)
        told.push(`${(atMs - START_MS) / 1_000} ${event.name} ${notice?.kind ?? 'told'}`)
  }
  return {
    told,
    pass,
    /** The ReplicaSet is known from now on to be of this Deployment. */
    async know(set: string, deployment: string) {
      const object = objectOf(set, `uid-${set}`, controlledBy('Deployment', deployment, `uid-${deployment}`))
      await sets.commit([{ type: 'ADDED', object, observedAtMs: 0 } satisfies Change], '2', never)
    },
    /** A change of the pod, which this ReplicaSet has. */
    pod(seconds: number, set: string) {
      pass(seconds)
      const nowMs = START_MS + seconds * 1_000
      const object = objectOf('web-x', 'uid-pod', controlledBy('ReplicaSet', set, `uid-${set}`))
      const { uid, resourceVersion, namespace, name, labelsJson } = object
      const transition: Transition = {
        ...{ uid, resourceVersion, namespace, name, labelsJson, object },
        ...{ type: 'MODIFIED', observedAtMs: nowMs, synthesized: false },
      }
      const event = normalise(sourceOf(POD), transition, {
        cluster: 'c',
        salt: Buffer.alloc(1),
        surroundings,
      })
      const { deliveries } = memory.apply([{ event, matches: match(event).limited }], nowMs)
      for (const it of deliveries) told.push(`${seconds} ${it.event.name} ${it.notice?.kind ?? 'told'}`)
    },
  }
}

test('what waits goes on to wait while its owner is not known, and is told in time', async () => {
  const it = await startBed({ for: 120_000 })
  await it.know('one', 'web')
  it.pod(0, 'one')
  it.pod(60, 'unknown')
  it.pass(1_000)
  expect(it.told).toEqual(['120 web-x told'])
})

test('what waits ends when the owner is known, and is another', async () => {
  const it = await startBed({ for: 120_000 })
  await it.know('one', 'web')
  it.pod(0, 'one')
  it.pod(60, 'two')
  await it.know('two', 'other')
  it.pod(90, 'two')
  it.pass(1_000)
  expect(it.told).toEqual([])
})

test('what was told is told to be over when the owner is known to be another, and not while it is not known', async () => {
  const it = await startBed({ resolve: true })
  await it.know('one', 'web')
  it.pod(0, 'one')
  it.pod(60, 'two')
  it.pass(90)
  expect(it.told).toEqual(['0 web-x told'])
  await it.know('two', 'other')
  it.pod(100, 'two')
  expect(it.told).toEqual(['0 web-x told', '100 web-x resolved'])
})

test('what begins while its owner is not known begins with the first change at which it is', async () => {
  const it = await startBed({ for: 60_000 })
  it.pod(0, 'one')
  await it.know('one', 'web')
  it.pod(30, 'one')
  it.pass(1_000)
  expect(it.told).toEqual(['90 web-x told'])
})
