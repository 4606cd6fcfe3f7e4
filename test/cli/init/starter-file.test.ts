import { expect, test } from 'vitest'
import { createScenario } from '../../../src/cli/dry-run/scenario.ts'
import { starterFile } from '../../../src/cli/init/starter-file.ts'
import { allSinks } from '../../../src/sink-types.ts'
import { dryRunOf } from '../import/dry-run-of.ts'

const AT = Date.parse('2026-11-21T09:00:00Z')

/** Returns the rules of the first configuration that send a Warning. */
async function rulesFor(event: object): Promise<(string | undefined)[]> {
  const run = await dryRunOf(starterFile({ facts: undefined, sink: '{ type: stdout }', otherSinks: [] }))
  const scenario = createScenario({ run, cluster: 'test', salt: Buffer.from('salt') })
  const object = { kind: 'Event', type: 'Warning', ...event }
  const result = scenario.change({ type: 'ADDED', object, atMs: AT })
  if (!result.ok) throw new Error(JSON.stringify(result.faults))
  return run.evaluate(result.event, AT).sent.map(({ delivery }) => delivery.rule)
}

const about = (kind: string, apiVersion = 'v1') => ({
  involvedObject: { apiVersion, kind, namespace: 'shop', name: 'web-1' },
})

test.each([
  ['Failed', 'Challenge', 'acme.cert-manager.io/v1'],
  ['Failed', 'Job', 'batch/v1'],
  ['FailedCreate', 'ReplicaSet', 'apps/v1'],
  ['FailedKillPod', 'Pod', 'v1'],
  ['BackOff', 'Workflow', 'argoproj.io/v1alpha1'],
  ['FailedScheduling', 'PodGroup', 'scheduling.volcano.sh/v1beta1'],
  ['Unhealthy', 'Node', 'v1'],
  ['NodeNotReady', 'Machine', 'cluster.x-k8s.io/v1beta2'],
])('a Warning with the reason %s about a %s is sent', async (reason, kind, apiVersion) => {
  expect(await rulesFor({ reason, message: 'it failed', ...about(kind, apiVersion) })).toEqual(['warnings'])
})

test.each([
  ['Failed', 'Failed to pull image "app:2": not found'],
  ['Failed', 'Error: ImagePullBackOff'],
  ['BackOff', 'Back-off pulling image "app:2"'],
  ['Unhealthy', 'Readiness probe failed'],
  ['FailedScheduling', '0/3 nodes are available: 3 Insufficient memory.'],
  ['NodeNotReady', 'Node is not ready'],
])('a Warning with the reason %s about a Pod is left to the sets: %s', async (reason, message) => {
  expect(await rulesFor({ reason, message, ...about('Pod') })).toEqual([])
})

test('a Warning with the reason NodeNotReady about a Node is left to the sets', async () => {
  const message = 'Node w-1 status is now: NodeNotReady'
  expect(await rulesFor({ reason: 'NodeNotReady', message, ...about('Node') })).toEqual([])
})

const NAMESPACES = [
  { name: 'shop', labels: { team: 'shop' } },
  { name: 'pay', labels: { env: 'prod' } },
]

/** Returns a dry run of the file for a sink type with all its examples uncommented. */
async function runWithExamples(type: string) {
  const { example = `{ type: ${type} }` } = await allSinks[type as keyof typeof allSinks]()
  const facts = { cluster: 'test', namespaces: NAMESPACES, resources: new Set<string>() }
  const text = starterFile({ facts, sink: example, otherSinks: [] })
  return dryRunOf(text.replaceAll(/^ {2}# (- name| {2}|[a-z-]+: \{ type)/gm, '  $1'))
}

test('the examples send: to the team, and for production more often', async () => {
  const run = await runWithExamples('stdout')
  const scenario = createScenario({ run, cluster: 'test', salt: Buffer.from('salt') })
  for (const { name, labels } of NAMESPACES) {
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
    expect(scenario.addRelated(object, AT)).toEqual([])
  }
  const sentAt = (namespace: string, minute: number) => {
    const involvedObject = { apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace, name: 'web-1' }
    const metadata = { name: `failed-${minute}`, namespace }
    const object = { kind: 'Event', type: 'Warning', reason: 'FailedCreate', metadata, involvedObject }
    const atMs = AT + minute * 60_000
    const result = scenario.change({ type: 'ADDED', object, atMs })
    if (!result.ok) throw new Error(JSON.stringify(result.faults))
    return run.evaluate(result.event, atMs).sent.map(({ delivery: { rule, sink } }) => `${rule}: ${sink}`)
  }
  expect(sentAt('shop', 0).toSorted()).toEqual(['team-shop: team-shop', 'warnings: chat'])
  expect(sentAt('pay', 1)).toEqual(['production: chat'])
  expect(sentAt('shop', 20)).toEqual([])
  expect(sentAt('pay', 21)).toEqual(['production: chat'])
})

test.each(Object.keys(allSinks))('the examples are valid for a sink of the type %s', async (type) => {
  await expect(runWithExamples(type)).resolves.toBeDefined()
})
