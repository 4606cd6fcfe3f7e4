import { expect, test } from 'vitest'
import { createGapLog } from '../crash/gaps.ts'
import { verdictOf } from '../crash/verdict.ts'
import { waitFor } from '../wait-for.ts'
import { installWidgets, startBed } from './bed.ts'
import { differences } from './compare.ts'
import { CONFIG_MAPS, churn, manifest, WIDGETS } from './workload.ts'

test('acceptance 4, case 13: the API server is killed twice under writes and nothing is missing', async () => {
  await using bed = await startBed()
  const { kubernetes } = bed
  const gaps = createGapLog(bed, [CONFIG_MAPS])
  for (let round = 0; round < 2; round++) {
    // Writes that the dying server did not answer are known from etcd, not from the writer.
    const load = churn(kubernetes, [CONFIG_MAPS], {
      count: 400,
      parallel: 8,
      prefix: `round-${round}`,
    }).catch(() => {})
    const before = bed.hook.requests.length
    await waitFor(() => bed.hook.requests.length > before + 50, { what: 'the load to flow' })
    await gaps.open()
    await kubernetes.killApiServer()
    await load
    await kubernetes.startApiServer()
    await gaps.restarted()
  }
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'after', 0))
  await waitFor(() => bed.arrivals().some(({ key }) => key.endsWith('/after')), {
    timeoutMs: 60_000,
    what: 'the newest change',
  })
  // Lanes promise each other no order: others may still have changes.
  await waitFor(async () => (await bed.kubeherald.status()).ledger.sinks.hook.pending === 0, {
    what: 'the lanes to be empty',
  })
  // A restarted server's history may begin after our position (410): only in such a gap may changes arrive as one.
  const history = await bed.history()
  const { summary, ...verdict } = verdictOf(history, bed.arrivals(), await gaps.close())
  expect(verdict, summary).toEqual({ lost: [], unexpected: [], outOfOrder: [] })
  expect(differences(history, bed.arrivals()).repeated).toEqual([])
  expect((await bed.kubeherald.status()).ledger.balanced).toBe(true)
})

test('acceptance 4, case 20: an etcd restored to an older snapshot is noticed, and the difference arrives', async () => {
  await using bed = await startBed()
  const { kubernetes } = bed
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'stays', 0))
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'reverts', 0))
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'comes-back', 0))
  await waitFor(() => bed.hook.requests.length === 3, { what: 'three changes' })
  const snapshot = await kubernetes.snapshot()
  await kubernetes.request('PATCH', `${CONFIG_MAPS}/reverts`, manifest(CONFIG_MAPS, 'reverts', 1))
  await kubernetes.request('DELETE', `${CONFIG_MAPS}/comes-back`)
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'vanishes', 0))
  for (let i = 0; i < 30; i++) {
    await kubernetes.request('PATCH', `${CONFIG_MAPS}/vanishes`, manifest(CONFIG_MAPS, 'vanishes', i + 1))
  }
  await waitFor(() => bed.hook.requests.length >= 36, { timeoutMs: 60_000, what: '36 changes' })
  const before = bed.hook.requests.length
  await kubernetes.restore(snapshot)
  await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, 'new-life', 0))
  const since = () =>
    bed
      .arrivals()
      .slice(before)
      .map(({ type, key }) => `${type} ${key.split('/').at(-1)}`)
      .sort()
  const expected = ['ADDED comes-back', 'ADDED new-life', 'DELETED vanishes', 'MODIFIED reverts']
  await waitFor(() => since().length >= expected.length, {
    timeoutMs: 60_000,
    what: () => `the difference; so far ${since()}`,
  })
  expect(since()).toEqual(expected)
})

test('acceptance 4, cases 15-17: a CRD that is installed late, updated, deleted and recreated is followed without a restart', async () => {
  await using bed = await startBed({
    watch: '[widgets.stable.example.com]',
    prefixes: ['stable.example.com/widgets'],
  })
  const { kubernetes } = bed
  const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.stable.example.com'
  const create = (name: string) => kubernetes.request('POST', WIDGETS, manifest(WIDGETS, name, 0))
  const change = (name: string, step: number) =>
    kubernetes.request('PATCH', `${WIDGETS}/${name}`, manifest(WIDGETS, name, step))
  const came = (name: string) => () =>
    bed.arrivals().some(({ type, key }) => `${type} ${key.split('/').at(-1)}` === name)
  const arrived = (name: string) => waitFor(came(name), { timeoutMs: 60_000, what: name })

  await installWidgets(kubernetes)
  await create('first')
  await arrived('ADDED first')
  await change('first', 1)
  await arrived('MODIFIED first')

  const definition = (await kubernetes.request('GET', crd)) as any
  definition.spec.versions[0].schema.openAPIV3Schema.description = 'changed'
  await kubernetes.request('PUT', crd, definition)
  await create('second')
  await arrived('ADDED second')

  await kubernetes.request('DELETE', crd)
  await arrived('DELETED first')
  await arrived('DELETED second')

  await waitFor(
    () =>
      kubernetes.request('GET', crd).then(
        () => false,
        () => true,
      ),
    { what: 'the CRD to be gone' },
  )
  await installWidgets(kubernetes)
  await create('third')
  await arrived('ADDED third')

  const names = bed.arrivals().map(({ type, key }) => `${type} ${key.split('/').at(-1)}`)
  expect(names.sort()).toEqual([
    'ADDED first',
    'ADDED second',
    'ADDED third',
    'DELETED first',
    'DELETED second',
    'MODIFIED first',
  ])
})
