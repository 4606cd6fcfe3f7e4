import { expect, test } from 'vitest'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { type Bed, startBed } from './bed.ts'
import { differences, exactly } from './compare.ts'
import { CONFIG_MAPS, churn, manifest } from './workload.ts'

/** Order by name: an object that is created again under the name of a deleted one follows that one's deletion. */

const NAMES = 20
const ROUNDS = 3

test('an object that is deleted and created again under load arrives in etcd’s order of its name', async () => {
  await using bed = await startBed()
  await Promise.all([recreate(bed.kubernetes), load(bed.kubernetes)])
  await expectEtcdsOrder(bed)
})

test('an object that is deleted and created again during an outage of the webhook arrives in etcd’s order of its name', async () => {
  await using bed = await startBed()
  bed.hook.answer(() => ({ status: 503 }))
  await Promise.all([recreate(bed.kubernetes), load(bed.kubernetes)])
  bed.hook.answer(() => ({ status: 200 }))
  await expectEtcdsOrder(bed)
})

/** Creates each name, and deletes and creates it again at once, several times. */
async function recreate({ request }: Kubernetes): Promise<void> {
  const names = Array.from({ length: NAMES }, (_, i) => `recreated-${i}`)
  const create = (name: string, step: number) =>
    request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, name, step))
  await Promise.all(names.map((name) => create(name, 0)))
  for (let round = 1; round <= ROUNDS; round++) {
    await Promise.all(
      names.map(async (name) => {
        await request('DELETE', `${CONFIG_MAPS}/${name}`)
        await create(name, round)
      }),
    )
  }
}

const load = (kubernetes: Kubernetes) =>
  churn(kubernetes, [CONFIG_MAPS], { count: 60, parallel: 8, prefix: 'load' })

async function expectEtcdsOrder(bed: Bed): Promise<void> {
  const history = await bed.allArrived(90_000)
  const recreated = history.filter(({ key }) => key.includes('/recreated-'))
  expect(recreated).toHaveLength(NAMES * (1 + 2 * ROUNDS))
  const { repeated: _, ...found } = differences(history, bed.arrivals())
  const { repeated: __, ...nothing } = exactly()
  expect(found).toEqual(nothing)
  const { ledger } = await bed.kubeherald.status()
  expect(ledger.balanced).toBe(true)
  expect(ledger.sinks.hook).toMatchObject({ enqueued: history.length, dead: 0 })
}
