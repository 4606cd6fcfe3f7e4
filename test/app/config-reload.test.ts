import { expect, test } from 'vitest'
import { type ConfigSnapshot, ConfigSnapshots, createConfigSnapshot } from '../../src/app/config-snapshot.ts'
import { evaluatorOf } from '../../src/app/evaluation.ts'
import type { Source, Transition } from '../../src/model/change.ts'
import { sinkLoader } from '../../src/sink-types.ts'
import { scanObject } from '../../src/watch/decode/scan.ts'
import { loadText, withRules } from '../config/load-text.ts'
import { clusterEvent } from '../rules/events.ts'

const RESOURCE = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
const SOURCE = { key: 'pods', title: 'pods', resource: RESOURCE, clusterUid: 'u' } as Source

async function snapshotOf(rule: string, before?: ConfigSnapshot) {
  const loaded = await loadText(withRules(`  - ${rule}\n`))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const handlers = { load: sinkLoader(), onMatch() {}, onRuleError() {} }
  return createConfigSnapshot(loaded.config, { ...handlers, ...(before && { before }) })
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

test('after a reload that removes `debounce` or its rule, this process evaluates what waits', async () => {
  const first = await snapshotOf('{ name: r, when: { kind: Pod }, debounce: { quiet: 30s }, to: screen }')
  expect([first.lostDebounces, first.evaluatedRules]).toEqual([new Set(), new Set(['r'])])
  const second = await snapshotOf('{ name: r, when: { kind: Pod }, to: screen }', first)
  expect([second.lostDebounces, second.hasLimits]).toEqual([new Set(['r']), true])
  // A newer event is compared with the one that waits.
  expect(second.match(clusterEvent())).toMatchObject({ sends: [], limited: [{ rule: 'r', entered: true }] })
  const third = await snapshotOf('{ name: s, when: { kind: Pod }, to: screen }', second)
  const fourth = await snapshotOf('{ name: s, when: { kind: Pod }, to: screen }', third)
  for (const { lostDebounces, evaluatedRules, ruleNames } of [third, fourth])
    expect([lostDebounces, evaluatedRules, ruleNames]).toEqual([
      new Set(['r']),
      new Set(['s', 'r']),
      new Set(['s']),
    ])
  expect(fourth.hasLimits).toBe(false)
  // After a start nothing is known about the configuration before.
  expect((await snapshotOf('{ name: s, when: { kind: Pod }, to: screen }')).lostDebounces).toEqual(
    new Set(['s']),
  )
})
