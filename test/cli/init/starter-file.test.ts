import { expect, test } from 'vitest'
import { createScenario } from '../../../src/cli/dry-run/scenario.ts'
import { starterFile } from '../../../src/cli/init/starter-file.ts'
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
