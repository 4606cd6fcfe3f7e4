import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startEnrichment } from '../../src/app/metadata-informers.ts'
import { needsOfConfig } from '../../src/app/metadata-needs.ts'
import type { Change } from '../../src/model/change.ts'
import { headerOf } from '../../src/model/event.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { normalise } from '../../src/watch/decode/normalise.ts'
import { readFrame } from '../../src/watch/decode/scan.ts'
import { writeFiles } from './bundle.ts'
import { benchPod } from './pod.ts'

// Remembers the metadata of all pods of a feed, and reads Events about them with it and without. Arguments: the feed's URL,
// how many pods it has. Prints what an object costs, how many requests there were, and the seconds of both readings.
const [url = '', countText = '0'] = process.argv.slice(2)
const count = Number(countText)
const EVENTS = 40_000
/** Most Events are about few pods, again and again. */
const TROUBLED = 1_000
const BATCH = 100
const SALT = Buffer.from('salt')
const signal = new AbortController().signal
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const files = writeFiles(url, 'redis://127.0.0.1:1', '{ type: stdout }')
const metrics = createMetrics()
const client = connectCluster({ kubeconfig: files.kubeconfig, env: {}, userAgent: 'bench' })
const enrichment = startEnrichment({ client, metrics, log: silentLog, clock: Date })
const rule = { name: 'team', when: { kind: 'Event', regarding: { kind: 'Pod', labels: 'team' } } }
const needs = needsOfConfig({ rules: [rule], watch: [{ kind: 'Event' }] })
const usedBytes = async () => {
  for (let i = 0; i < 5; i++) {
    collect()
    await new Promise(setImmediate)
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
const before = await usedBytes()
const startedMs = performance.now()
await enrichment.prepare(needs)
const seededMs = performance.now() - startedMs
enrichment.use(needs, 10 * count)
const bytes = ((await usedBytes()) - before) / count
const requests = (await metrics.apiRequests.get()).values.reduce((sum, { value }) => sum + value, 0)
const objects = (await metrics.registry.getSingleMetric('kubeherald_enrich_objects')?.get())?.values[0]?.value

const resource = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
const source = {
  ...{ key: 'events', title: 'events', resource, namespace: '', labelSelector: '', fieldSelector: '' },
  ...{ initial: 'now' as const, clusterUid: 'bench', spelling: 'Event', custom: false },
}
const lines = Array.from({ length: EVENTS }, (_, i) => frameOf(i))
for (let i = 0; i < 2; i++) {
  await read(false)
  await read(true)
}
const runs = []
for (let i = 0; i < 5; i++) runs.push({ without: await read(false), with: await read(true) })
console.log(JSON.stringify({ seconds: seededMs / 1_000, bytes, requests, objects, runs }))
files.remove()
process.exit(0)

/** Seconds of CPU for all of them: frame, event, header; with what is known of the pod where that is asked for. */
async function read(enriched: boolean): Promise<number> {
  collect()
  const started = process.cpuUsage()
  const around = enriched ? { surroundings: enrichment.surroundings, owners: true } : {}
  let seen = 0
  for (let at = 0; at < lines.length; at += BATCH) {
    const changes: Change[] = lines.slice(at, at + BATCH).flatMap((line) => {
      const frame = readFrame(line)
      return frame.kind === 'change' ? [{ type: frame.type, object: frame.object, observedAtMs: 0 }] : []
    })
    if (enriched) await enrichment.awaitMetadata(source, changes, signal)
    for (const { type, object } of changes) {
      const { uid, resourceVersion, namespace, name, labelsJson } = object
      const identity = {
        uid,
        resourceVersion,
        namespace,
        name,
        labelsJson,
        observedAtMs: 0,
        synthesized: false,
      }
      const event = normalise(source, { type, ...identity, object }, { cluster: 'b', salt: SALT, ...around })
      headerOf(event)
      if (!enriched || event.regardingLabels?.['team']) seen++
    }
  }
  if (seen !== EVENTS) throw new Error(`of ${EVENTS} Events ${seen} were read`)
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1_000_000
}

function frameOf(i: number): Buffer {
  const { metadata } = benchPod(((i % TROUBLED) * 47) % count)
  const { name, namespace, uid } = metadata
  const object = {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: { name: `${name}.${i}`, namespace, uid: `event-${i}`, resourceVersion: String(i + 1) },
    involvedObject: { kind: 'Pod', namespace, name, uid, apiVersion: 'v1', resourceVersion: '1' },
    reason: 'BackOff',
    message: `Back-off restarting failed container app in pod ${name}_${namespace}(${uid})`,
    source: { component: 'kubelet', host: 'node-1' },
    firstTimestamp: '2026-11-21T08:00:00Z',
    lastTimestamp: '2026-11-21T08:10:00Z',
    count: i,
    type: 'Warning',
    eventTime: null,
    reportingComponent: 'kubelet',
    reportingInstance: 'node-1',
  }
  return Buffer.from(JSON.stringify({ type: 'ADDED', object }))
}
