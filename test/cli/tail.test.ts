import { expect, test, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { createDryRun, type EventResult } from '../../src/app/dry-run/dry-run.ts'
import { createScenario } from '../../src/cli/dry-run/scenario.ts'
import { createRecoveryNote, neverBegan } from '../../src/cli/dry-run/tail.ts'
import { createTailEnd } from '../../src/cli/dry-run/tail-end.ts'
import { readDryConfiguration } from '../../src/cli/load-config/configuration.ts'
import { startDemoCluster } from '../../src/demo/cluster.ts'
import type { ChangeType } from '../../src/model/event.ts'
import type { WatchStatus } from '../../src/model/status.ts'
import { startRedis } from '../servers/redis.ts'
import { startScriptedApi } from '../servers/scripted-api.ts'
import { scanned } from '../store/objects.ts'
import { waitFor } from '../wait-for.ts'
import { kubeconfigFor } from '../watch/bed.ts'
import { configuration, openDesk } from './cli.ts'
import { runHere } from './here.ts'

function status(phase: WatchStatus['phase'], more: Partial<WatchStatus> = {}): WatchStatus {
  const base = { key: 'pods', title: 'pods', resourceVersion: '', lastContactMs: 0, aliveUntilMs: 0 }
  return { ...base, phase, ready: true, ...more } as WatchStatus
}

test('tail refuses filters that nothing could pass', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration())
  expect(await runHere(desk, 'tail', '--kind', 'podd')).toMatchObject({
    code: 2,
    stderr: 'kubeherald: --kind podd: no entry of "watch" is for it; did you mean "Pod"?\n',
  })
  expect(await runHere(desk, 'tail', '--namespace', '/[/')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^kubeherald: --namespace \/\[\/: .*\n$/),
  })
})

test('tail fails when it ends by itself and has seen nothing of the cluster', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration())
  const cluster = { name: 'x', cluster: { server: 'https://127.0.0.1:9' } }
  const context = { name: 'x', context: { cluster: 'x', user: 'x' } }
  desk.env['KUBECONFIG'] = desk.write(
    'kubeconfig',
    JSON.stringify({
      'current-context': 'x',
      clusters: [cluster],
      contexts: [context],
      users: [{ name: 'x' }],
    }),
  )
  const { code, stderr } = await runHere(desk, 'tail', '--for', '1s')
  expect(code).toBe(1)
  expect(stderr).toMatch(/\nkubeherald: nothing was seen: no watch has begun: .*ECONNREFUSED.*\n$/)
})

test('that watches go on again is said once, when all of them do', () => {
  const said: string[] = []
  const look = createRecoveryNote((line) => said.push(line))
  look([status('listing', { ready: false }), status('watching')])
  look([status('watching'), status('watching')])
  expect(said).toEqual([])
  look([status('reconnecting'), status('watching')])
  look([status('listing'), status('watching')])
  expect(said).toEqual([])
  look([status('watching'), status('waiting-for-kind')])
  look([status('watching'), status('watching')])
  expect(said).toEqual(['all watches go on'])
})

test('a watch that began once is enough to have seen something', () => {
  expect(neverBegan([status('reconnecting'), status('resolving', { ready: false })])).toBeUndefined()
  expect(neverBegan([status('resolving', { ready: false })])).toBe('nothing was seen: no watch has begun')
})

test('tail reads on when its output was taken: what nobody reads neither fills its memory nor is idle', async () => {
  await using cluster = await demo()
  using desk = openDesk({ KUBECONFIG: cluster.kubeconfig })
  desk.write('kubeherald.yaml', PODS.replace('{ kind: Pod, initial: emit }', 'Pod'))
  Object.defineProperty(process.stdout, 'writableNeedDrain', { configurable: true, value: true })
  try {
    const running = runHere(desk, 'tail', '--all', '--idle', '1s')
    const printed = () => vi.mocked(process.stdout.write).mock.calls.length
    await waitFor(() => vi.isMockFunction(process.stdout.write) && printed() > 0, { what: 'a change' })
    const heldMs = performance.now()
    const before = printed()
    // The first of them has been printed by the second one, if it is.
    for (let i = 0; i < 2; i++) {
      const change = await changed(cluster.url)
      await waitFor(async () => (await changed(cluster.url)) > change, {
        timeoutMs: 20_000,
        what: 'a change',
      })
    }
    await waitFor(() => performance.now() - heldMs > 2_000, { what: 'the idle time' })
    expect(await Promise.race([running, 'runs'])).toBe('runs')
    expect(printed()).toBe(before)
    Object.defineProperty(process.stdout, 'writableNeedDrain', { configurable: true, value: false })
    process.stdout.emit('drain')
    await waitFor(() => printed() > before, { what: 'what came meanwhile' })
    process.stdout.emit('error', Object.assign(new Error('closed'), { code: 'EPIPE' }))
    expect(await running).toMatchObject({ code: 0 })
  } finally {
    Reflect.deleteProperty(process.stdout, 'writableNeedDrain')
  }
})

/** The newest resourceVersion of the cluster's pods. */
async function changed(url: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/pods`)
  const { items } = (await response.json()) as { items: { metadata: { resourceVersion: string } }[] }
  return Math.max(...items.map(({ metadata }) => Number(metadata.resourceVersion)))
}

const demo = () => startDemoCluster({ random: Math.random, clock: Date })
const PODS = `watch: [{ kind: Pod, initial: emit }]
sinks: { screen: { type: stdout } }
rules: [{ name: all, to: screen }]
`

test('tail --until ends with 0 when an event fulfils the expression, sent or not', async () => {
  await using cluster = await demo()
  using desk = openDesk({ KUBECONFIG: cluster.kubeconfig })
  desk.write('kubeherald.yaml', `${PODS.replace('to: screen', 'drop: true')}`)
  const expression = "event.kind == 'Pod' && oldObject == null"
  const { code, stdout, stderr } = await runHere(desk, 'tail', '--until', expression, '--for', '30s')
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(stderr).not.toContain('--until')
})

test('tail ends with 1 when --for or --idle passes before --until is fulfilled; --idle alone is a clean end', async () => {
  await using cluster = await demo()
  using desk = openDesk({ KUBECONFIG: cluster.kubeconfig })
  desk.write('kubeherald.yaml', PODS)
  // No event of the demo is in this namespace.
  const nowhere = ['--namespace', 'nowhere', '-q']
  expect(await runHere(desk, 'tail', ...nowhere, '--until', 'false', '--for', '1s')).toEqual({
    code: 1,
    stdout: '',
    stderr: "kubeherald: no event fulfilled --until 'false'\n",
  })
  expect(await runHere(desk, 'tail', ...nowhere, '--until', 'true', '--idle', '1s')).toMatchObject({
    code: 1,
  })
  expect(await runHere(desk, 'tail', ...nowhere, '--idle', '1s')).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('tail -o yaml prints a document for each delivery', async () => {
  await using cluster = await demo()
  using desk = openDesk({ KUBECONFIG: cluster.kubeconfig })
  desk.write('kubeherald.yaml', PODS)
  const { stdout } = await runHere(desk, 'tail', '-o', 'yaml', '--for', '1s', '-q')
  const documents = parseAllDocuments(stdout).map((it) => it.toJS())
  expect(documents.length).toBeGreaterThan(1)
  expect(documents[0]).toMatchObject({ sink: 'screen', rule: 'all', event: { kind: 'Pod' } })
})

test('tail --since reads the journal when a first list has more objects than wait for it, and then the rest of the list', async () => {
  await using api = await startScriptedApi()
  await using redis = await startRedis()
  api.objects = Array.from({ length: 3_000 }, (_, i) =>
    JSON.parse(scanned(`map-${i}`, i + 1).bytes.toString()),
  )
  api.resourceVersion = '3000'
  using desk = openDesk()
  desk.env['KUBECONFIG'] = desk.write('kubeconfig', kubeconfigFor(api.url))
  desk.write(
    'kubeherald.yaml',
    `cluster: here\nredis: { url: "${redis.url}" }\n${PODS.replace('Pod', 'ConfigMap')}`,
  )
  const untilLast = ['--until', "object.metadata.name == 'map-2999'", '--for', '15s']
  const { code, stderr } = await runHere(desk, 'tail', '--since', '1h', ...untilLast)
  expect(code, stderr).toBe(0)
  // No warning names the watch.
  expect(stderr).not.toContain('configmaps')
}, 60_000)

test('tail --until sees that an Event expires; the rules do not change for that', async () => {
  using desk = openDesk()
  const file = desk.write('kubeherald.yaml', configuration())
  const configured = await readDryConfiguration(file)
  const end = createTailEnd({ until: "event.type == 'DELETED'" }, () => true)
  const run = await createDryRun({ ...configured, config: end.withUntil(configured.config) })
  const scenario = createScenario({ run, cluster: 'test', salt: Buffer.alloc(16) })
  const endsWith = (type: ChangeType) => {
    const object = { kind: 'Event', type: 'Warning', reason: 'R', metadata: { name: 'a', namespace: 'shop' } }
    const change = scenario.change({ object, type, atMs: Date.parse('2026-11-21T09:00:00Z') })
    if (!change.ok) throw new Error(JSON.stringify(change.faults))
    const { result, ends } = end.read(run.evaluate(change.event, Date.now()), 0)
    return { ends, sent: result.sent.length }
  }
  expect(endsWith('ADDED')).toEqual({ ends: false, sent: 1 })
  expect(endsWith('DELETED')).toEqual({ ends: true, sent: 0 })
})

test.each([
  [['--until', 'object.spec.'], /^kubeherald: --until at character \d+: /],
  [['--until', 'objct.spec == 1'], /^kubeherald: --until at character 1: .*objct/],
  [['--idle', 'soon'], /^kubeherald: --idle soon: /],
])('tail %j is a mistake', async (args, message) => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration())
  const { code, stderr } = await runHere(desk, 'tail', ...args)
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})

test('an expression that fails for an event does not end tail; the time without events begins with the watches', () => {
  const end = createTailEnd({ until: 'object.spec.x == 1', idle: '2s' }, ({ kind }) => kind === 'Pod')
  const event = (kind: string, rules: object[]) =>
    ({ event: { kind, name: 'a' }, rules }) as unknown as EventResult
  const failed = { rule: '--until', outcome: 'failed', error: 'no such key: x', sinks: [] }
  expect(end.isIdle(9_000)).toBe(false)
  end.begin(10_000)
  expect(end.read(event('Pod', [failed]), 11_000)).toEqual({ result: event('Pod', []), ends: false })
  expect(end.isIdle(12_999)).toBe(false)
  // It does not pass --kind.
  expect(end.read(event('Node', [{ ...failed, outcome: 'taken', error: undefined }]), 12_999).ends).toBe(
    false,
  )
  expect(end.isIdle(13_000)).toBe(true)
  expect(() => end.requireFulfilled()).toThrow('--until')
  expect(end.read(event('Pod', [{ rule: '--until', outcome: 'taken', sinks: [] }]), 14_000).ends).toBe(true)
  end.requireFulfilled()
})
