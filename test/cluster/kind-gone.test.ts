import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { installWidgets, startBed } from './bed.ts'
import { manifest, WIDGETS } from './workload.ts'

const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.stable.example.com'

test('case 17: a CRD that was deleted while kubeherald was stopped takes its objects with it, each told once; it may come back', async () => {
  await using bed = await startBed({
    crd: true,
    watch: '[widgets.stable.example.com, { kind: ConfigMap, namespaces: default }]',
  })
  const { kubernetes, kubeherald } = bed
  const create = (name: string) => kubernetes.request('POST', WIDGETS, manifest(WIDGETS, name, 0))
  const told = () =>
    bed
      .arrivals()
      .map(
        ({ type, key, synthesized }) =>
          `${type} ${key.split('/').at(-1)}${synthesized ? ' synthesized' : ''}`,
      )
  const arrived = (count: number) =>
    waitFor(() => told().length >= count, {
      timeoutMs: 30_000,
      what: () => `${count} changes; there were ${told()}`,
    })
  for (const name of ['one', 'two', 'three']) await create(name)
  await arrived(3)
  await kubeherald.stop()

  await kubernetes.request('DELETE', CRD)
  const gone = () =>
    kubernetes.request('GET', CRD).then(
      () => false,
      () => true,
    )
  await waitFor(gone, { what: 'the CRD to be gone' })
  await kubeherald.start({ unready: true })
  await arrived(6)
  // Twice: what was told of once is not told again by the next start.
  await kubeherald.stop()
  await kubeherald.start({ unready: true })
  const watching = async () =>
    (await kubeherald.status()).instances
      .flatMap(({ watches }: any) => watches)
      .some(({ title, ready }: any) => title === 'configmaps in default' && ready)
  await waitFor(watching, { timeoutMs: 30_000, what: 'the other watch to be ready' })

  await installWidgets(kubernetes)
  await create('one')
  await arrived(7)
  await kubernetes.request('DELETE', `${WIDGETS}/one`)
  await arrived(8)
  // Order is promised for each object, and not between them.
  expect(told().slice(0, 3).toSorted()).toEqual(['ADDED one', 'ADDED three', 'ADDED two'])
  expect(told().slice(3, 6).toSorted()).toEqual([
    'DELETED one synthesized',
    'DELETED three synthesized',
    'DELETED two synthesized',
  ])
  expect(
    told()
      .slice(6)
      .map((name) => name.replace(' synthesized', '')),
  ).toEqual(['ADDED one', 'DELETED one'])
  expect((await kubeherald.status()).ledger.balanced).toBe(true)
})
