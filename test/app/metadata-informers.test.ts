import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { clockUnless, startEnrichment } from '../../src/app/metadata-informers.ts'
import { needsOfConfig } from '../../src/app/metadata-needs.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { scanObject } from '../../src/watch/decode/scan.ts'
import { MetadataCache } from '../../src/watch/metadata/cache.ts'
import { createCacheStore } from '../../src/watch/metadata/cache-store.ts'
import { findObject } from '../../src/watch/metadata/related-metadata.ts'
import { DEFAULT_TIMING } from '../../src/watch/reflector/timing.ts'
import { configMap, startScriptedApi } from '../servers/scripted-api.ts'
import { SOURCE } from '../store/objects.ts'
import { waitFor } from '../wait-for.ts'
import { kubeconfigFor } from '../watch/bed.ts'

const NEVER = new AbortController().signal
const EVENTS = {
  ...{ ...SOURCE, key: 'events', title: 'events' },
  resource: { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true },
}

test('an Event waits for the metadata of a watch that is known to be behind', async () => {
  await using stack = new AsyncDisposableStack()
  const api = stack.use(await startScriptedApi())
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-metadata-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(api.url))
  const client = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
  stack.defer(() => client.close())
  const metrics = createMetrics()
  // It lists long after an Event would have been given up.
  const timing = { ...DEFAULT_TIMING, settleMs: 50, probeAfterMs: 100, stalledMs: 4_000 }
  const enrichment = startEnrichment({ client, metrics, log: silentLog, clock: Date, timing })
  stack.defer(() => enrichment.close())
  const when = { kind: 'Event', regarding: { kind: 'ConfigMap', labels: 'team' } }
  enrichment.use(needsOfConfig({ rules: [{ name: 'owned', when }], watch: [{ kind: 'Event' }] }))
  await waitFor(() => enrichment.statuses().some(({ phase }) => phase === 'watching'), { what: 'the watch' })

  // The watch is open, and silent.
  const uid = '0b1c2d3e-0000-4000-8000-000000000001'
  api.objects = [configMap('settings', 15, { uid, labels: { team: 'pay' } })]
  api.resourceVersion = '20'
  const isBehind = () => enrichment.statuses().some(({ behind }) => (behind?.ms ?? 0) > 100)
  await waitFor(() => isBehind() || api.lists().length > 1, { what: 'the watch to be behind' })
  const regarded = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'settings', uid }
  const event = { ...configMap('event', 1), kind: 'Event', involvedObject: regarded }
  const object = scanObject(Buffer.from(JSON.stringify(event)))!
  await enrichment.awaitMetadata(EVENTS, [{ type: 'ADDED', object, observedAtMs: 0 }], NEVER)
  const { values } = await metrics.enrichMisses.get()
  expect(values.map(({ value }) => value)).toEqual([0])
})

test('a deleted object is remembered while commits wait, and for ten minutes that they do not', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let isHeldUp = true
  const clock = clockUnless(() => isHeldUp)
  try {
    const cache = new MetadataCache({ maxObjects: 100, clock, onEvict() {}, onExclude() {} })
    const session = await createCacheStore(cache, performance).open(EVENTS, NEVER)
    const object = scanObject(Buffer.from(JSON.stringify(configMap('gone', 1, { uid: 'one' }))))!
    await session.commit([{ type: 'ADDED', object, observedAtMs: 0 }], '1', NEVER)
    await session.commit([{ type: 'DELETED', object, observedAtMs: 0 }], '2', NEVER)
    const ref = { kind: 'Event', namespace: 'default', name: 'gone' }
    const isKnown = () => findObject(cache, ref) !== undefined
    vi.advanceTimersByTime(7_200_000)
    // What other objects do forgets nothing either.
    await session.commit([], '3', NEVER)
    expect(isKnown()).toBe(true)
    isHeldUp = false
    vi.advanceTimersByTime(590_000)
    expect(isKnown()).toBe(true)
    vi.advanceTimersByTime(20_000)
    expect(isKnown()).toBe(false)
  } finally {
    clock.stop()
    vi.useRealTimers()
  }
})
