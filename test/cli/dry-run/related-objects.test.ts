import { expect, test } from 'vitest'
import { createRelatedObjects } from '../../../src/cli/dry-run/scenario.ts'

const owned = (kind: string, name: string, owner?: { kind: string; name: string }) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: {
    name,
    namespace: 'shop',
    uid: `uid-of-${name}`,
    labels: { app: name, constructor: 'x' },
    ...(owner && { ownerReferences: [{ ...owner, uid: `uid-of-${owner.name}`, controller: true }] }),
  },
})

test('controllers are climbed up to the top, by uid or else by name', () => {
  const known = createRelatedObjects()
  known.add(owned('Deployment', 'web'))
  known.add(owned('ReplicaSet', 'web-1', { kind: 'Deployment', name: 'web' }))
  known.add(owned('Pod', 'web-1-x', { kind: 'ReplicaSet', name: 'web-1' }))
  const names = (owners: readonly { kind?: string; name?: string }[] | undefined) =>
    owners?.map(({ kind, name }) => `${kind}/${name}`)
  expect(names(known.object({ uid: 'uid-of-web-1-x' })?.owners)).toEqual([
    'ReplicaSet/web-1',
    'Deployment/web',
  ])
  expect(names(known.object({ kind: 'Pod', namespace: 'shop', name: 'web-1-x' })?.owners)).toHaveLength(2)
  expect(names(known.ownersOf([{ kind: 'ReplicaSet', name: 'web-1' }], 'shop'))).toEqual([
    'ReplicaSet/web-1',
    'Deployment/web',
  ])
  expect(known.object({ uid: 'uid-of-web' })).toMatchObject({ labels: { app: 'web' }, owners: [] })
  expect(known.object({ kind: 'Pod', namespace: 'other', name: 'web-1-x' })).toBeUndefined()
})

test('objects that own each other in a circle end', () => {
  const known = createRelatedObjects()
  known.add(owned('Gadget', 'a', { kind: 'Gadget', name: 'b' }))
  known.add(owned('Gadget', 'b', { kind: 'Gadget', name: 'a' }))
  expect(known.object({ uid: 'uid-of-a' })?.owners.length).toBeLessThanOrEqual(10)
})

test('labels of namespaces have no prototype', () => {
  const known = createRelatedObjects()
  known.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels: { team: 'a', n: 1 } } })
  expect(known.namespaceLabels('shop')).toEqual({ team: 'a' })
  expect(known.namespaceLabels('shop')?.['constructor']).toBeUndefined()
  expect(known.namespaceLabels('other')).toBeUndefined()
})
