import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { differences, exactly } from './compare.ts'
import { CONFIG_MAPS, churn, DEPLOYMENTS, WIDGETS } from './workload.ts'

const COLLECTIONS = [CONFIG_MAPS, DEPLOYMENTS, WIDGETS]
const THREE_KINDS = {
  crd: true,
  watch: '[{ kind: ConfigMap, namespaces: default }, Deployment, widgets.stable.example.com]',
  prefixes: ['configmaps', 'deployments', 'stable.example.com/widgets'],
}

test('acceptance 1: every change of 5,000 objects of three kinds arrives once, in order per object, and the ledger balances', async () => {
  await using bed = await startBed(THREE_KINDS)
  await churn(bed.kubernetes, COLLECTIONS, { count: 1_667, parallel: 48 })
  const history = await bed.allArrived()
  expect(differences(history, bed.arrivals())).toEqual(exactly())
  const ledger = await bed.kubeherald.settled()
  expect(ledger.balanced).toBe(true)
  expect(ledger.sinks.hook).toMatchObject({
    enqueued: history.length,
    delivered: history.length,
    dead: 0,
    pending: 0,
  })
})

test('acceptance 2: ten kill -9 under load lose nothing, keep the order and enqueue exactly once', async () => {
  await using bed = await startBed(THREE_KINDS)
  let working = true
  const load = churn(bed.kubernetes, COLLECTIONS, { count: 900, parallel: 16 }).finally(() => {
    working = false
  })
  for (let kills = 0; kills < 10; kills++) {
    const before = bed.hook.requests.length
    const progressed = () => !working || bed.hook.requests.length > before + 20
    await waitFor(progressed, { timeoutMs: 60_000, what: 'progress before a kill' })
    await bed.kubeherald.kill()
    await bed.kubeherald.start()
  }
  await load
  const history = await bed.allArrived()
  const { repeated, ...rest } = differences(history, bed.arrivals())
  expect(rest).toEqual({ missing: [], unexpected: [], outOfOrder: [] })
  expect(repeated.length).toBeLessThan(history.length / 2)
  const ledger = await bed.kubeherald.settled()
  expect(ledger.balanced).toBe(true)
  expect(ledger.sinks.hook.enqueued).toBe(history.length)
})
