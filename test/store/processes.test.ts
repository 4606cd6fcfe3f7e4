import { expect, test } from 'vitest'
import { arrivalIn } from '../cluster/compare.ts'
import { startKubeherald } from '../cluster/kubeherald.ts'
import { type ReceivedRequest, type Receiver, startReceiver } from '../servers/receiver.ts'
import { waitFor } from '../wait-for.ts'
import { numbered, startLaneBed } from './lane-bed.ts'

/** Delivering processes that die or freeze in the middle of a lane. */

const versionOf = (request: ReceivedRequest) => Number(arrivalIn(request).resourceVersion)
const taken = (hook: Receiver) => hook.requests.filter(({ status }) => status === 200).map(versionOf)
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

function startWorker(redisUrl: string, hook: Receiver) {
  return startKubeherald({
    args: ['--role', 'deliver'],
    config: `
cluster: test
redis: { url: "${redisUrl}" }
watch: [ConfigMap]
sinks: { hook: { type: webhook, url: "${hook.url}" } }
rules: [{ name: all, to: [hook] }]`,
  })
}

test('queue.md: a worker that is frozen beyond its lock settles nothing when it wakes, and spoils no order', async () => {
  await using it = await startLaneBed()
  await using hook = await startReceiver()
  await it.put('hook/0', ...numbered('a', 1_000))
  // The answer reaches a process that is frozen by then; when it wakes, it believes that all is well.
  hook.answer((request) => ({ status: 200, delayMs: versionOf(request) === 50 ? 2_000 : 5 }))
  await using frozen = await startWorker(it.server.url, hook)
  const asked = (version: number) => hook.requests.filter((request) => versionOf(request) === version).length
  await waitFor(() => asked(50) === 1, { what: 'the request in which it freezes' })
  frozen.signal('SIGSTOP')
  hook.answer(() => ({ status: 200, delayMs: 5 }))
  await using _other = await startWorker(it.server.url, hook)
  await waitFor(() => asked(60) > 0, { timeoutMs: 25_000, what: 'another worker to take the lane over' })
  expect((await it.ledger()).sinks['hook']?.delivered).toBeLessThan(1_000)
  frozen.signal('SIGCONT')
  await waitFor(() => asked(51) > 1 || taken(hook).length >= 1_000, {
    timeoutMs: 60_000,
    what: 'the frozen worker to go on',
  })
  await it.drained('hook')
  await waitFor(() => frozen.ready(), { what: 'the frozen worker to be well' })
  expect([...new Set(taken(hook))]).toEqual(upTo(1_000))
  // What was sent and not settled when it froze, and the rest of the batch that it went on with.
  expect(hook.requests.length - 1_000).toBeLessThanOrEqual(2 * 128)
  const ledger = await it.ledger()
  expect(ledger.sinks['hook']).toMatchObject({ enqueued: 1_000, delivered: 1_000, dead: 0, pending: 0 })
  expect(ledger.balanced).toBe(true)
})

test('queue.md: a job whose worker is killed twice is delivered by the third, in order, and gives no dead letter', async () => {
  await using it = await startLaneBed()
  await using hook = await startReceiver()
  await it.put('hook/0', ...numbered('a', 40))
  hook.answer((request) => (versionOf(request) === 10 ? { hang: true } : { status: 200 }))
  await using worker = await startWorker(it.server.url, hook)
  for (let kills = 1; kills <= 2; kills++) {
    const hangs = () => hook.requests.filter(({ status }) => status === 0).length === kills
    await waitFor(hangs, { timeoutMs: 25_000, what: `the lane to be worked on, time ${kills}` })
    await worker.kill()
    await worker.start()
  }
  hook.answer(() => ({ status: 200 }))
  await it.drained('hook')
  expect([...new Set(taken(hook))]).toEqual(upTo(40))
  const ledger = await it.ledger()
  expect(ledger.sinks['hook']).toMatchObject({ enqueued: 40, delivered: 40, dead: 0 })
  expect(ledger.balanced).toBe(true)
})
