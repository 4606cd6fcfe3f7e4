import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { differences, exactly } from './compare.ts'
import { CONFIG_MAPS, churn, DEPLOYMENTS, WIDGETS } from './workload.ts'

const COLLECTIONS = [CONFIG_MAPS, DEPLOYMENTS, WIDGETS]
/** Of each kind: several times as many changes as are on their way to a sink at once. */
const OBJECTS = 240
const KILLS = 4
const OBJECTS_PER_KILL = 48

const THREE_KINDS = {
  crd: true,
  watch: '[{ kind: ConfigMap, namespaces: default }, Deployment, widgets.stable.example.com]',
  prefixes: ['configmaps', 'deployments', 'stable.example.com/widgets'],
}

test('acceptance 1: every change of hundreds of objects of three kinds arrives once, in order per object, and the ledger balances', async () => {
  await using bed = await startBed(THREE_KINDS)
  await churn(bed.kubernetes, COLLECTIONS, { count: OBJECTS, parallel: 48 })
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

test('acceptance 2: kill -9 under load, again and again, lose nothing, keep the order and enqueue exactly once', async () => {
  await using bed = await startBed(THREE_KINDS)
  for (let kills = 0; kills < KILLS; kills++) {
    const prefix = `before-kill-${kills}`
    const options = { count: OBJECTS_PER_KILL, parallel: 16, prefix }
    const load = churn(bed.kubernetes, COLLECTIONS, options)
    load.catch(() => {})
    const before = bed.hook.requests.length
    await waitFor(() => bed.hook.requests.length > before + 20, { what: 'progress before a kill' })
    await bed.kubeherald.kill()
    expect(differences(await bed.history(), bed.arrivals()).missing).not.toEqual([])
    await bed.kubeherald.start()
    await load
  }
  const history = await bed.allArrived()
  const { repeated, ...rest } = differences(history, bed.arrivals())
  expect(rest).toEqual({ missing: [], unexpected: [], outOfOrder: [] })
  expect(repeated.length).toBeLessThan(history.length / 2)
  const ledger = await bed.kubeherald.settled()
  expect(ledger.balanced).toBe(true)
  expect(ledger.sinks.hook.enqueued).toBe(history.length)
})
