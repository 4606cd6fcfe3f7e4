import { readFileSync, writeFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Shard } from '../../src/model/change.ts'
import { isInShard, shardSelectorOf } from '../../src/watch/plan/shards.ts'
import { type Kubernetes, startKubernetes } from '../servers/kubernetes.ts'
import { waitFor } from '../wait-for.ts'
import { type Bed, startBed } from './bed.ts'
import { differences, exactly } from './compare.ts'
import { startKubeherald } from './kubeherald.ts'
import { CONFIG_MAPS, churn, manifest } from './workload.ts'

const OFFERED = '--feature-gates=ShardedListAndWatch=true'
const IN_FOUR = '[{ kind: ConfigMap, namespaces: default, shards: 4 }]'
const SHARDS = (of: number) =>
  Array.from({ length: of }, (_, i) => `configmaps in default (shard ${i + 1}/${of})`)
const EVENTS = '/api/v1/namespaces/default/events'

/** Of the API server; those of now count when it starts anew. The last test changes them. */
const flags = [OFFERED]
let kubernetes: Kubernetes

beforeAll(async () => {
  kubernetes = await startKubernetes({ flags })
})

afterAll(() => kubernetes[Symbol.asyncDispose]())

test('four shards tell every change once and in order, each object in one of them, and what a downtime left', async () => {
  await using bed = await startBed({ kubernetes, watch: IN_FOUR })
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 120, parallel: 24, deleteEvery: 4 })
  const history = await bed.allArrived()
  expect(differences(history, bed.arrivals())).toEqual(exactly())
  await titlesAre(bed, SHARDS(4))
  const indexes = await indexesOf(bed)
  for (const [index, uids] of indexes.entries()) {
    expect(uids.every((uid) => isInShard(uid, { index, of: 4 }))).toBe(true)
    expect(uids.length).toBeGreaterThan(5)
  }
  expect(indexes.flat().toSorted()).toEqual((await uidsThere(bed)).toSorted())
  expect((await pagedUids(bed, { index: 1, of: 4 })).toSorted()).toEqual(indexes[1]!.toSorted())
  expect((await bed.kubeherald.status()).ledger.balanced).toBe(true)
  // The server sent each shard its own objects and no others.
  expect(bed.kubeherald.log()).not.toContain('other shards')
  await tellsDowntime(bed)
})

/** The net differences of a downtime after a compaction, once each. */
async function tellsDowntime(bed: Bed): Promise<void> {
  const { kubernetes, kubeherald } = bed
  const names = (prefix: string) => Array.from({ length: 12 }, (_, i) => `${prefix}-${i}`)
  const each = (prefix: string, act: (name: string) => Promise<unknown>) =>
    Promise.all(names(prefix).map(act))
  const create = (name: string) => kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, name, 0))
  const change = (name: string) =>
    kubernetes.request('PATCH', `${CONFIG_MAPS}/${name}`, manifest(CONFIG_MAPS, name, 1))
  const remove = (name: string) => kubernetes.request('DELETE', `${CONFIG_MAPS}/${name}`)
  for (const prefix of ['changed', 'deleted', 'recreated', 'untouched']) await each(prefix, create)
  await bed.allArrived()
  expect(await kubeherald.stop()).toBe(0)
  const before = bed.hook.requests.length
  await each('changed', change)
  await each('deleted', remove)
  await each('recreated', remove)
  await each('recreated', create)
  await each('created', create)
  await kubernetes.compact()
  await kubeherald.start()
  const told = () =>
    bed
      .arrivals()
      .slice(before)
      .map(({ type, key }) => `${type} ${key.split('/').at(-1)}`)
  const expected = [
    ...names('changed').map((name) => `MODIFIED ${name}`),
    ...names('deleted').map((name) => `DELETED ${name}`),
    ...names('recreated').flatMap((name) => [`ADDED ${name}`, `DELETED ${name}`]),
    ...names('created').map((name) => `ADDED ${name}`),
  ].toSorted()
  await waitFor(() => told().length >= expected.length, {
    timeoutMs: 30_000,
    what: () => `${told().length} of ${expected.length}`,
  })
  await create('the-end')
  await waitFor(() => told().includes('ADDED the-end'), { what: 'a change after the restart' })
  expect(told().toSorted()).toEqual([...expected, 'ADDED the-end'].toSorted())
  expect((await indexesOf(bed)).flat().toSorted()).toEqual((await uidsThere(bed)).toSorted())
}

test('a kind whose watches the server does not split, as Events, is watched whole', async () => {
  await using bed = await startBed({ kubernetes })
  const { kubeherald, hook } = bed
  const event = (name: string) => {
    const involvedObject = { kind: 'Pod', namespace: 'default', name: 'web' }
    return kubernetes.request('POST', EVENTS, {
      metadata: { name },
      involvedObject,
      reason: name,
      type: 'Warning',
    })
  }
  await event('before')
  await restartWith(bed, '[{ kind: Event, namespaces: default, shards: 4 }]')
  expect(kubeherald.log()).toContain('does not split this watch')
  await titlesAre(bed, ['events in default'])
  const { stdout, code } = await kubeherald.command('check')
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /watches events in default, in 4 shards\n.*warning: the API server does not split events in default/,
  )
  await event('after')
  await waitFor(() => hook.requests.length > 0, { what: 'the event' })
  expect(hook.requests.map(({ body }) => JSON.parse(body).name)).toEqual(['after'])
})

test('as long as it may not be read, it is not decided whether a watch is split', async () => {
  await using bed = await startBed({ kubernetes })
  await using kubeherald = await startKubeherald({
    kubeconfig: kubernetes.kubeconfigOf('plain'),
    config: `
cluster: plain
redis: { url: "${bed.redis.url}" }
watch: ${IN_FOUR}
sinks: { out: { type: stdout } }
rules: [{ name: all, to: [out] }]`,
    unready: true,
  })
  const check = await kubeherald.command('check')
  expect(check.stdout).toContain('error: cannot list and watch configmaps in namespace default')
  const phases = async () =>
    (await kubeherald.status()).instances.flatMap(({ watches }: any) =>
      watches.map(({ title, phase, lastError = '' }: any) => `${title} ${phase} ${lastError.slice(0, 3)}`),
    )
  await waitFor(async () => (await phases()).includes('configmaps in default failing 403'), {
    what: 'the watch to say that it is forbidden',
  })
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' }
  const subjects = [{ kind: 'User', name: 'plain', apiGroup: 'rbac.authorization.k8s.io' }]
  await kubernetes.request('POST', `${rbac}/roles`, { metadata: { name: 'reader' }, rules })
  await kubernetes.request('POST', `${rbac}/rolebindings`, {
    metadata: { name: 'reader' },
    roleRef,
    subjects,
  })
  await waitFor(() => kubeherald.ready(), { timeoutMs: 30_000, what: 'the watch to be ready' })
  await titlesAre({ kubeherald }, SHARDS(4))
})

test('what is split stays split and exact on a server that does not split, and what is not stays whole', async () => {
  await using bed = await startBed({ kubernetes, watch: IN_FOUR })
  const { kubeherald, hook } = bed
  const load = (prefix: string) => churn(kubernetes, [CONFIG_MAPS], { count: 24, parallel: 12, prefix })
  await titlesAre(bed, SHARDS(4))
  await load('split')
  await bed.allArrived()
  flags.pop()
  await restart(bed)
  await titlesAre(bed, SHARDS(4))
  await load('still-split')
  await bed.allArrived()
  expect(kubeherald.log()).toMatch(/does not split this watch any more[\s\S]*objects of other shards/)

  // Another number of shards begins anew, now without shards.
  await restartWith(bed, IN_FOUR.replace('4', '3'))
  expect(kubeherald.log()).toContain('does not split this watch (feature gate ShardedListAndWatch)')
  await titlesAre(bed, ['configmaps in default'])
  await load('whole')
  await bed.allArrived()
  flags.push(OFFERED)
  await restart(bed)
  await load('still-whole')
  await bed.allArrived()
  await titlesAre(bed, ['configmaps in default'])
  await waitFor(() => kubeherald.log().includes('could split this watch by now'), { what: 'the hint' })

  // And anew with shards.
  await restartWith(bed, IN_FOUR.replace('4', '2'))
  await titlesAre(bed, SHARDS(2))
  await load('split-anew')
  const history = await bed.allArrived()
  expect(differences(history, bed.arrivals())).toEqual(exactly())
  expect(hook.requests.length).toBe(history.length)
})

/**
 * Starts the API server anew with the flags of now, while kubeherald is down. It forgets the old positions, so each shard
 * lists once more: what came and went meanwhile would be told by none. Waits until every one of them is past that.
 */
async function restart(bed: Bed): Promise<void> {
  const { kubernetes, kubeherald } = bed
  await kubeherald.stop()
  await kubernetes.killApiServer()
  await kubernetes.startApiServer()
  await kubeherald.start()
  const prefix = `marker-${bed.hook.requests.length}`
  const create = (_: unknown, i: number) =>
    kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, `${prefix}-${i}`, 0))
  await Promise.all(Array.from({ length: 40 }, create))
  await bed.allArrived()
}

async function restartWith({ kubeherald }: Bed, watch: string): Promise<void> {
  await kubeherald.stop()
  const text = readFileSync(kubeherald.configFile, 'utf8')
  writeFileSync(kubeherald.configFile, text.replace(/^watch: .*$/m, `watch: ${watch}`))
  await kubeherald.start()
}

/** Processes tell what they watch every few seconds. */
async function titlesAre(
  { kubeherald }: Pick<Bed, 'kubeherald'>,
  expected: readonly string[],
): Promise<void> {
  let titles: string[] = []
  const same = async () => {
    const { instances } = await kubeherald.status()
    titles = instances.flatMap(({ watches }: any) => watches.map(({ title }: any) => title)).toSorted()
    return titles.join() === expected.join()
  }
  await waitFor(same, { what: () => `${expected.join()}; it watches ${titles.join()}` })
}

/** The uids that each of four shards knows, in their order. */
async function indexesOf({ redis }: Bed): Promise<string[][]> {
  const client = new Redis(redis.url)
  try {
    const keys = (await client.keys('*:index:*of4')).toSorted()
    return await Promise.all(keys.map((key) => client.hkeys(key)))
  } finally {
    client.disconnect()
  }
}

async function uidsThere({ kubernetes }: Bed): Promise<string[]> {
  const { items } = (await kubernetes.request('GET', CONFIG_MAPS)) as any
  return items.map((item: any) => item.metadata.uid)
}

/** A shard as a list in pages tells it. */
async function pagedUids({ kubernetes }: Bed, shard: Shard): Promise<string[]> {
  const uids: string[] = []
  for (let token = ''; ; ) {
    const query = { shardSelector: shardSelectorOf(shard), limit: '7', ...(token && { continue: token }) }
    const page = (await kubernetes.request('GET', `${CONFIG_MAPS}?${new URLSearchParams(query)}`)) as any
    uids.push(...page.items.map((item: any) => item.metadata.uid))
    token = page.metadata.continue ?? ''
    if (!token) return uids
  }
}
