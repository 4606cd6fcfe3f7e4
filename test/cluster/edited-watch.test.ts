import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { type Bed, startBed } from './bed.ts'
import { mountConfigMap } from './config-map.ts'
import type { HistoryEntry } from './etcd-history.ts'
import { startKubeherald } from './kubeherald.ts'
import { configOf } from './reload-parts.ts'
import { CONFIG_MAPS, churn } from './workload.ts'

/** Edits of what a watch selects, on a real API server. */

const OTHER = CONFIG_MAPS.replace('default', 'other')
const EDITS = 6
/** Several changes while a watch is being replaced, and not as many as go. */
const LOAD = { count: 20, deleteEvery: 2, pauseMs: 40 }
const RULES = '[{ name: all, when: { name: "!kube-*" }, to: [hook] }]'
const SELECTIONS = [
  '[{ kind: ConfigMap }]',
  '[{ kind: ConfigMap, namespaces: [default, other] }]',
  '[{ kind: ConfigMap, namespaces: [def*] }]',
  '[{ kind: ConfigMap, namespaces: [default], labels: app }]',
  '[{ kind: ConfigMap, namespaces: [default] }]',
]

test('a watch whose selection is edited again and again under load, with kills: each object is told from its beginning to its end, once', async () => {
  await using bed = await startBed({ watch: SELECTIONS[4] as string, rules: RULES })
  const { kubeherald, kubernetes } = bed
  const config = mountConfigMap(kubeherald)
  let loading = true
  const load = (async () => {
    for (let i = 0; loading; i++)
      await churn(kubernetes, [CONFIG_MAPS], { ...LOAD, parallel: 4, prefix: `load-${i}` })
  })()
  load.catch(() => {})
  // Each selection once, and the first again; two of the edits come with a kill.
  for (let i = 0; i < EDITS; i++) {
    const text = configOf(bed, { watch: SELECTIONS[i % SELECTIONS.length] as string, rules: RULES })
    if (i % 3 !== 2) await config.reload(text)
    else {
      config.swap(text)
      kubeherald.signal('SIGHUP')
      await kubeherald.kill()
      await kubeherald.start()
    }
    await isWatching(bed)
  }
  loading = false
  await load
  const lives = await expectWholeLives(bed)
  console.log(`${EDITS} edits under ${[...lives.values()].flat().length} changes of ${lives.size} objects`)
})

test('of two processes one reloads some seconds before the other, again and again: each object is told from its beginning to its end, once', async () => {
  await using bed = await startBed({ watch: SELECTIONS[4] as string, rules: RULES })
  const { kubeherald, kubernetes, redis, hook } = bed
  await using other = await startKubeherald({
    kubeconfig: kubernetes.kubeconfig,
    config: configOf(bed, { watch: SELECTIONS[4] as string, rules: RULES }),
  })
  const configs = [mountConfigMap(kubeherald), mountConfigMap(other)]
  let loading = true
  const load = (async () => {
    for (let i = 0; loading; i++)
      await churn(kubernetes, [CONFIG_MAPS], { ...LOAD, parallel: 2, prefix: `load-${i}` })
  })()
  load.catch(() => {})
  for (let i = 0; i < 6; i++) {
    const text = configOf({ ...bed, redis, hook }, { watch: SELECTIONS[i % 3] as string, rules: RULES })
    await configs[i % 2]?.reload(text)
    await pause(1_000 * (i % 4))
    await configs[(i + 1) % 2]?.reload(text)
    await isWatching(bed, 1)
  }
  loading = false
  await load
  await expectWholeLives(bed)
})

test('incidents of objects that a watch no longer selects end as no longer watched, others go on and end once', async () => {
  const rules = '[{ name: trouble, when: { labels: "state=bad" }, resolve: true, to: hook }]'
  await using bed = await startBed({ watch: SELECTIONS[0] as string, rules })
  const { kubeherald, kubernetes, hook } = bed
  const config = mountConfigMap(kubeherald)
  await kubernetes.request('POST', '/api/v1/namespaces', {
    ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } },
  })
  const write = (method: string, collection: string, name: string, state: string) =>
    kubernetes.request(method, method === 'POST' ? collection : `${collection}/${name}`, {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { state } } },
    })
  await write('POST', CONFIG_MAPS, 'stays', 'bad')
  await write('POST', OTHER, 'leaves', 'bad')
  const told = () =>
    hook.requests
      .map(({ body }) => JSON.parse(body))
      .map(({ name, data }) => `${name} ${data.resolved?.why ?? data.type}`)
  await waitFor(() => told().length === 2, { what: 'both incidents' })
  await config.reload(configOf(bed, { watch: SELECTIONS[4] as string, rules }))
  await waitFor(() => told().length === 3, { what: 'the end of one' })
  expect(told().at(-1)).toBe('leaves unwatched')
  await isWatching(bed)
  await config.reload(configOf(bed, { watch: SELECTIONS[1] as string, rules }))
  await isWatching(bed)
  await config.reload(configOf(bed, { watch: SELECTIONS[0] as string, rules }))
  await isWatching(bed)
  await write('PATCH', CONFIG_MAPS, 'stays', 'good')
  await write('PATCH', OTHER, 'leaves', 'good')
  await write('POST', CONFIG_MAPS, 'last', 'bad')
  // Each object has a lane of its own, and lanes promise each other no order.
  await waitFor(() => told().includes('last ADDED') && told().includes('stays ended'), {
    what: 'what came last',
  })
  expect(told().toSorted()).toEqual(
    ['stays ADDED', 'leaves ADDED', 'leaves unwatched', 'stays ended', 'last ADDED'].toSorted(),
  )
  expect((await kubeherald.status()).ledger).toMatchObject({ balanced: true, verified: true })
})

/** Each object was told from its beginning to its last state; the ledger balances. Returns what happened to each. */
async function expectWholeLives(bed: Bed): Promise<Map<string, HistoryEntry[]>> {
  // No name comes twice.
  const lives = Map.groupBy(await bed.history(), ({ key }) => key)
  const toldOf = () => Map.groupBy(bed.arrivals(), ({ key }) => key)
  const unfinished = () => {
    const told = toldOf()
    return [...lives].flatMap(([key, life]) => {
      const [end, last] = [life.at(-1), told.get(key)?.at(-1)]
      // One that came and went between two lists is told by nobody.
      const isTold =
        end?.type === 'DELETED'
          ? !last || last.type === 'DELETED'
          : last?.resourceVersion === end?.resourceVersion
      return isTold ? [] : [`${key} ends with ${end?.type}@${end?.resourceVersion}, told is ${last?.type}`]
    })
  }
  await waitFor(() => unfinished().length === 0, {
    timeoutMs: 30_000,
    everyMs: 100,
    what: () => `the last state of each object: ${unfinished().slice(0, 5)}`,
  })
  for (const [key, arrivals] of toldOf()) {
    // A kill may repeat what was under way.
    const types = [...new Map(arrivals.map((it) => [it.id, it.type])).values()]
    const inBetween = types.slice(1, -1).filter((type) => type !== 'MODIFIED')
    expect([types[0], inBetween, types.indexOf('ADDED', 1)], `${key}: ${types}`).toEqual(['ADDED', [], -1])
  }
  expect(toldOf().size).toBeGreaterThan(lives.size / 2)
  const ledger = await bed.kubeherald.settled()
  expect(ledger).toMatchObject({ balanced: true, verified: true })
  expect(ledger.sinks.hook.enqueued).toBe(new Set(bed.arrivals().map(({ id }) => id)).size)
  return lives
}

/** Waits until all watches are open, or are another process's. */
async function isWatching({ kubeherald }: Bed, others = 0): Promise<void> {
  const phases = async () => {
    const { instances } = await kubeherald.status()
    const asked = instances.filter(({ pid }: { pid: number }) => others > 0 || pid === kubeherald.pid)
    return asked.flatMap((it: any) => it.watches.map(({ phase }: { phase: string }) => phase))
  }
  await waitFor(
    async () => {
      const all = await phases()
      return (
        all.includes('watching') && all.every((phase: string) => phase === 'watching' || phase === 'standby')
      )
    },
    { timeoutMs: 60_000, what: () => `the watches to be open; it said\n${kubeherald.log().slice(-3_000)}` },
  )
}
