import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import type { StatusReport } from '../../src/store/ledger.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { arrivalOf, differences, exactly } from './compare.ts'
import { currentRevision, etcdHistory } from './etcd-history.ts'
import type { Kubeherald } from './kubeherald.ts'
import {
  grantLeases,
  grantWatches,
  type Lease,
  leasesOf,
  NAMESPACES,
  shared,
  startReplica,
} from './replicas.ts'
import { manifest } from './workload.ts'

/** §7.2 wants 60; longer than the lease is what matters. */
const FREEZE_SECONDS = Number(process.env['DRILL_FREEZE_SECONDS'] ?? 20)
/** The machine that runs the tests has other things to do. */
const SLACK_MS = 4_000
/** Each namespace changes more often than the shortest gap that is measured is long. */
const LOAD_PAUSE_MS = 300

test('acceptance: three replicas share the watches, and survive kill, freeze, stop and join under load', async () => {
  await using kubernetes = await borrowKubernetes()
  await using redis = await startRedis()
  await using hook = await startReceiver()
  await grantWatches(kubernetes)
  await grantLeases(kubernetes)
  const bed = { kubernetes, redis, hook }
  await using a = await startReplica(bed, 'pod-a')
  await using b = await startReplica(bed, 'pod-b')
  await using c = await startReplica(bed, 'pod-c')
  await shared(kubernetes, { 'pod-a': 2, 'pod-b': 2, 'pod-c': 2 })
  await waitFor(async () => (await Promise.all([a, b, c].map((it) => it.ready()))).every(Boolean), {
    what: 'all to be ready',
  })
  // Reports are renewed every 2 s: just after a watch moved, the former holder's still claims it.
  await waitFor(
    async () => isDeepStrictEqual(watched(await a.status()), heldIn(await leasesOf(kubernetes, 'watch'))),
    { what: 'every watch to be open where its lease is' },
  )
  await expectTold(a, await leasesOf(kubernetes, 'watch'))
  const since = (await currentRevision(kubernetes.etcdUrl)) + 1
  await moveAllPositions(kubernetes, hook)
  await using load = startLoad(kubernetes)

  /** How long after `fromMs` (wall clock) the first change of each namespace arrived that came after it. */
  async function gapsAfter(fromMs: number, namespaces: readonly string[]): Promise<number> {
    const gap = (namespace: string) => {
      const first = hook.requests.find(
        ({ atMs, body }) =>
          atMs > fromMs && body.includes(`/namespaces/${namespace}/`) && bornAfter(body, fromMs),
      )
      return first && first.atMs - fromMs
    }
    await waitFor(() => namespaces.every((it) => gap(it) !== undefined), {
      timeoutMs: 60_000,
      what: () => `changes of ${namespaces.filter((it) => gap(it) === undefined)} after ${fromMs}`,
    })
    return Math.max(...namespaces.map((it) => gap(it) ?? 0))
  }
  const heldBy = async (pod: string) =>
    (await leasesOf(kubernetes, 'watch'))
      .filter(({ spec }) => spec.holderIdentity.startsWith(`${pod}_`))
      .map(({ metadata }) => metadata.annotations['kubeherald.dev/watch']?.split(' in ')[1] ?? '')

  const lostByKill = await heldBy('pod-a')
  await a.kill()
  const killMs = await gapsAfter(Date.now(), lostByKill)
  await shared(kubernetes, { 'pod-b': 3, 'pod-c': 3 })
  console.log(`kill -9: its watches ran elsewhere after ${killMs} ms`)
  expect(killMs).toBeLessThan(20_000 + SLACK_MS)

  await a.start()
  const joinMs = await shared(kubernetes, { 'pod-a': 2, 'pod-b': 2, 'pod-c': 2 })
  console.log(`join: even again ${Math.round(joinMs)} ms after the new process was ready`)

  const lostByFreeze = await heldBy('pod-b')
  b.signal('SIGSTOP')
  const frozenMs = Date.now()
  const freezeMs = await gapsAfter(frozenMs, lostByFreeze)
  await shared(kubernetes, { 'pod-a': 3, 'pod-c': 3 })
  console.log(`SIGSTOP: its watches ran elsewhere after ${freezeMs} ms`)
  expect(freezeMs).toBeLessThan(20_000 + SLACK_MS)
  await pause(Math.max(0, frozenMs + FREEZE_SECONDS * 1_000 - Date.now()))
  const before = new Map((await leasesOf(kubernetes, 'watch')).map((it) => [it.metadata.name, it]))
  b.signal('SIGCONT')
  const backMs = await shared(kubernetes, { 'pod-a': 2, 'pod-b': 2, 'pod-c': 2 })
  console.log(`SIGCONT after ${FREEZE_SECONDS} s: even again after ${Math.round(backMs)} ms`)
  const moved = (await leasesOf(kubernetes, 'watch')).filter(
    ({ metadata, spec }) => before.get(metadata.name)?.spec.holderIdentity !== spec.holderIdentity,
  )
  expect(moved.length).toBe(2)
  // What had been under way when it was frozen took nothing from those that work now.
  expect(await Promise.all([a, c].map(fencedBy))).toEqual([0, 0])

  const lostByStop = await heldBy('pod-c')
  const stoppedMs = Date.now()
  const [code, leftMs, stopMs] = await Promise.all([
    c.stop(),
    shared(kubernetes, { 'pod-a': 3, 'pod-b': 3 }),
    gapsAfter(stoppedMs, lostByStop),
  ])
  expect(code).toBe(0)
  console.log(
    `SIGTERM: others held its leases after ${Math.round(leftMs)} ms; the first changes came after ${stopMs} ms`,
  )
  expect(leftMs).toBeLessThan(2_000 + SLACK_MS)
  expect(stopMs).toBeLessThan(2_000 + SLACK_MS)
  await waitFor(async () => (await leasesOf(kubernetes, 'member')).length <= 3, {
    what: 'its lease to be gone',
  })

  await load.stop()
  const happened = async () =>
    (await etcdHistory(kubernetes.etcdUrl, ['configmaps'], since)).filter(
      ({ key }) => key.includes('/shop-') && !key.endsWith('kube-root-ca.crt'),
    )
  const history = await happened()
  const arrivals = () =>
    hook.requests.filter(({ status }) => status === 200).map(({ body }) => arrivalOf(body))
  await waitFor(() => differences(history, arrivals()).missing.length === 0, {
    timeoutMs: 60_000,
    what: () =>
      `all to arrive; missing ${differences(history, arrivals()).missing}\n${[a, b, c].map((it) => it.log().slice(-6_000)).join('\n')}`,
  })
  const { repeated, ...rest } = differences(history, arrivals())
  const { repeated: _, ...nothing } = exactly()
  expect(rest).toEqual(nothing)
  const { ledger } = await a.status()
  // Delivering may repeat what a killed process had in flight; enqueueing never does.
  expect(ledger.sinks.hook.enqueued).toBe(history.length)
  expect(ledger.balanced).toBe(true)
  console.log(`${history.length} changes, each enqueued once; ${repeated.length} delivered twice`)
})

/**
 * Changes an object in each namespace, and waits until it arrives: each watch has a position of now. The API server keeps the changes of
 * the last 75 s and, of older ones, the last 100: a position from before them is too old after a burst, although nothing happened in between.
 */
async function moveAllPositions(kubernetes: Kubernetes, hook: Receiver): Promise<void> {
  for (const namespace of NAMESPACES)
    await kubernetes.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, {
      metadata: { name: 'first' },
    })
  const isThere = (namespace: string) =>
    hook.requests.some(({ body }) => body.includes(`/namespaces/${namespace}/configmaps/first"`))
  await waitFor(() => NAMESPACES.every(isThere), { timeoutMs: 30_000, what: 'a change of each namespace' })
}

/** `kubeherald status` and the metrics say who holds what. */
async function expectTold(process: Kubeherald, leases: readonly Lease[]): Promise<void> {
  const { stdout } = await process.command('status')
  for (const { metadata, spec } of leases) {
    const row = stdout
      .split('\n')
      .filter((it) => it.startsWith(`${metadata.annotations['kubeherald.dev/watch']} `))
    expect(row).toHaveLength(1)
    expect(row[0]).toContain(` watching  ${spec.holderIdentity} `)
  }
  const metrics = await process.metrics()
  const held = [...metrics.matchAll(/^kubeherald_lease_held\{.*\} (\d)$/gm)].map(([, value]) => Number(value))
  expect(held.toSorted()).toEqual([0, 0, 0, 0, 1, 1])
  expect(metrics).toMatch(
    /^kubeherald_lease_transitions_total\{watch="configmaps in .*",transition="acquired"\} 1$/m,
  )
}

async function fencedBy(process: Kubeherald): Promise<number> {
  const counts = [...(await process.metrics()).matchAll(/^kubeherald_commits_fenced_total\{.*\} (\d+)$/gm)]
  return counts.reduce((sum, [, value]) => sum + Number(value), 0)
}

/** Which watches are open, and at whom. */
function watched({ instances }: StatusReport): string[] {
  return instances
    .flatMap(({ watches }) => watches)
    .filter(({ phase }) => phase === 'watching')
    .map(({ title, holder }) => `${title} ${holder}`)
    .toSorted()
}

function heldIn(leases: readonly Lease[]): string[] {
  return leases
    .map(({ metadata, spec }) => `${metadata.annotations['kubeherald.dev/watch']} ${spec.holderIdentity}`)
    .toSorted()
}

/** Was the object of this delivery written after a moment? */
function bornAfter(body: string, fromMs: number): boolean {
  const written = /"written":"(\d+)"/.exec(body)?.[1]
  return Number(written) > fromMs
}

/** Writes to every namespace all the time, until it is stopped. */
function startLoad(kubernetes: { request(method: string, path: string, body?: unknown): Promise<unknown> }) {
  const stop = new AbortController()
  const work = NAMESPACES.map(async (namespace) => {
    const collection = `/api/v1/namespaces/${namespace}/configmaps`
    for (let i = 0; !stop.signal.aborted; i++) {
      const name = `object-${i}`
      const body = (step: number) => {
        const it = manifest('/api/v1/namespaces/default/configmaps', name, step) as Record<string, unknown>
        return { ...it, data: { step: String(step), written: String(Date.now()) } }
      }
      await kubernetes.request('POST', collection, body(0))
      await kubernetes.request('PATCH', `${collection}/${name}`, body(1))
      if (i % 2 === 0) await kubernetes.request('DELETE', `${collection}/${name}`)
      await pause(LOAD_PAUSE_MS)
    }
  })
  const end = async () => {
    stop.abort()
    await Promise.all(work)
  }
  return { stop: end, [Symbol.asyncDispose]: end }
}
