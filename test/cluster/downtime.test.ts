import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { differences, exactly } from './compare.ts'
import { CONFIG_MAPS, manifest } from './workload.ts'

/** More than are on their way to a sink at once. */
const MANY = 30
const SOME = 10

test('acceptance 3, cases 5-8: after a compaction the net differences of the downtime arrive, marked synthesized, and nothing else', async () => {
  await using bed = await startBed()
  const { kubernetes, kubeherald, hook } = bed
  const write = (method: string, name: string, step = 0) =>
    method === 'POST'
      ? kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, name, step))
      : method === 'PUT'
        ? kubernetes.request('PATCH', `${CONFIG_MAPS}/${name}`, manifest(CONFIG_MAPS, name, step))
        : kubernetes.request('DELETE', `${CONFIG_MAPS}/${name}`)
  const each = async (count: number, act: (i: number) => Promise<unknown>) => {
    for (let i = 0; i < count; i += 10)
      await Promise.all(Array.from({ length: Math.min(10, count - i) }, (_, j) => act(i + j)))
  }
  const uid = async (name: string): Promise<string> =>
    ((await kubernetes.request('GET', `${CONFIG_MAPS}/${name}`)) as any).metadata.uid
  await each(MANY, (i) => write('POST', `changed-${i}`))
  await each(MANY, (i) => write('POST', `deleted-${i}`))
  await each(SOME, (i) => write('POST', `recreated-${i}`))
  await each(SOME, (i) => write('POST', `untouched-${i}`))
  await bed.allArrived()
  const oldUids = new Map<string, string>()
  for (let i = 0; i < SOME; i++) oldUids.set(`recreated-${i}`, await uid(`recreated-${i}`))
  expect(await kubeherald.stop()).toBe(0)
  const before = hook.requests.length

  await each(MANY, (i) => write('PUT', `changed-${i}`, 1))
  await each(MANY, (i) => write('PUT', `changed-${i}`, 2))
  await each(MANY, (i) => write('DELETE', `deleted-${i}`))
  await each(MANY, (i) => write('POST', `created-${i}`))
  await each(SOME, (i) => write('DELETE', `recreated-${i}`))
  await each(SOME, (i) => write('POST', `recreated-${i}`, 5))
  await each(10, (i) => write('POST', `came-and-went-${i}`))
  await each(10, (i) => write('DELETE', `came-and-went-${i}`))
  await kubernetes.compact()

  await kubeherald.start()
  const since = () => hook.requests.length - before
  const total = 3 * MANY + 2 * SOME
  await waitFor(() => since() >= total, {
    timeoutMs: 30_000,
    what: () => `${total} differences; ${since()} came`,
  })
  await write('POST', 'the-end')
  await waitFor(() => bed.arrivals().some(({ key }) => key.endsWith('/the-end')), {
    what: 'a change after the restart',
  })

  const arrived = bed.arrivals().slice(before)
  const real = arrived.filter(({ synthesized }) => !synthesized)
  expect(real.map(({ key }) => key)).toEqual(['configmaps/default/the-end'])
  const synthesized = arrived.filter(({ synthesized }) => synthesized)
  const names = (type: string) =>
    synthesized
      .filter((arrival) => arrival.type === type)
      .map(({ key }) => key.slice('configmaps/default/'.length))
      .sort()
  const expected = (...groups: [string, number][]) =>
    groups.flatMap(([prefix, count]) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`)).sort()
  expect(names('MODIFIED')).toEqual(expected(['changed', MANY]))
  expect(names('DELETED')).toEqual(expected(['deleted', MANY], ['recreated', SOME]))
  expect(names('ADDED')).toEqual(expected(['created', MANY], ['recreated', SOME]))
  for (const [name, old] of oldUids) {
    const [first, second] = synthesized
      .filter(({ key }) => key.endsWith(`/${name}`))
      .sort((a, b) => Number(a.uid !== old) - Number(b.uid !== old))
    expect(first).toMatchObject({ uid: old, type: 'DELETED' })
    expect(second).toMatchObject({ type: 'ADDED' })
  }
  expect((await kubeherald.status()).ledger.balanced).toBe(true)
})

test('case 4: what happened while it was down arrives as it happened, where the server still has it', async () => {
  await using bed = await startBed()
  const { kubernetes, kubeherald } = bed
  const write = (method: string, name: string, step: number) =>
    kubernetes.request(
      method,
      method === 'POST' ? CONFIG_MAPS : `${CONFIG_MAPS}/${name}`,
      method === 'DELETE' ? undefined : manifest(CONFIG_MAPS, name, step),
    )
  await write('POST', 'deleted', 0)
  await write('POST', 'recreated', 0)
  await bed.allArrived()
  expect(await kubeherald.stop()).toBe(0)
  for (const step of [1, 2, 3]) await write('PATCH', 'deleted', step)
  await write('DELETE', 'deleted', 4)
  await write('DELETE', 'recreated', 1)
  await write('POST', 'recreated', 2)
  await write('POST', 'came-and-went', 0)
  await write('DELETE', 'came-and-went', 1)
  await kubeherald.start()
  const history = await bed.allArrived()
  expect(history).toHaveLength(10)
  expect(differences(history, bed.arrivals())).toEqual(exactly())
  expect(bed.arrivals().filter(({ synthesized }) => synthesized)).toEqual([])
})
