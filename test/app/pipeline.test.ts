import { expect, test } from 'vitest'
import { ConfigSnapshots, createConfigSnapshot } from '../../src/app/config-snapshot.ts'
import { evaluatorOf } from '../../src/app/evaluation.ts'
import type { Source, Transition } from '../../src/model/change.ts'
import { sinkLoader } from '../../src/sink-types.ts'
import { scanObject } from '../../src/watch/decode/scan.ts'
import { loadText, withRules } from '../config/load-text.ts'

const RESOURCE = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
const SOURCE = { key: 'pods', title: 'pods', resource: RESOURCE, clusterUid: 'u' } as Source

async function snapshotOf(rule: string) {
  const loaded = await loadText(withRules(`  - ${rule}\n`))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return createConfigSnapshot(loaded.config, { load: sinkLoader(), onMatch() {}, onRuleError() {} })
}

function added(): Transition {
  const controller = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'web-abc',
    uid: 'y',
    controller: true,
  }
  const metadata = {
    name: 'web-1',
    namespace: 'shop',
    uid: 'x',
    resourceVersion: '5',
    ownerReferences: [controller],
  }
  const object = scanObject(Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata })))
  const names = { uid: 'x', resourceVersion: '5', namespace: 'shop', name: 'web-1', labelsJson: '{}' }
  return { type: 'ADDED', ...names, observedAtMs: 1, synthesized: false, object } as Transition
}

test('a commit is evaluated by one configuration, although a reload comes before its last attempt', async () => {
  const byOwner = await snapshotOf(
    '{ name: by-owner, when: { kind: Pod, owner: Deployment/web }, to: screen }',
  )
  const byNamespace = await snapshotOf(
    '{ name: by-namespace, when: { kind: Pod, namespace: shop }, to: screen }',
  )
  const snapshots = new ConfigSnapshots(byOwner)
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
  const surroundings = {
    namespaceLabels: () => undefined,
    object: () => undefined,
    ownersOf: () => [deployment],
  }
  const parts = {
    cluster: 'c',
    salt: Buffer.from('s'),
    enrichment: { surroundings },
    onMalformed(_source: Source, _transition: Transition, error: unknown) {
      throw error
    },
  }
  const begun = evaluatorOf(snapshots.current, parts)
  snapshots.exchange(byNamespace)
  const rulesOf = ({ evaluate }: typeof begun) =>
    evaluate(SOURCE, [added()]).deliveries.map(({ rule }) => rule)
  expect(rulesOf(begun)).toEqual(['by-owner'])
  expect(rulesOf(evaluatorOf(snapshots.current, parts))).toEqual(['by-namespace'])
})
