import { expect, test } from 'vitest'
import { deliverInOrder, type Message, type Outcome, type Sink } from '../../src/sink/index.ts'
import { FailingLanes } from '../../src/store/lanes/sink-state.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, numbered, scriptedSink, startLaneBed } from './lane-bed.ts'

const LATER: Outcome = { kind: 'later', afterMs: 100 }

test('a sink that paces itself gets the rest when it said, in order, without a failure or a try', async () => {
  await using it = await startLaneBed()
  await it.put('chat/a', ...numbered('a', 12))
  const took: string[] = []
  const comingsMs: number[] = []
  const sink: Sink = {
    async deliver(batch) {
      comingsMs.push(performance.now())
      took.push(...batch.slice(0, 5).map(({ event }) => `${event.name}@${event.resourceVersion}`))
      expect(batch.every(({ attempt }) => attempt === 0)).toBe(true)
      return batch.map((_, i) => (i < 5 ? DELIVERED : LATER))
    },
    async close() {},
  }
  const lanes = it.work({ chat: sink })
  lanes.wake(['chat/a'])
  await it.drained('chat')
  expect(took).toEqual(numbered('a', 12))
  expect(comingsMs).toHaveLength(3)
  expect(comingsMs[1]! - comingsMs[0]!).toBeGreaterThanOrEqual(100)
  expect(lanes.statuses()).toMatchObject([{ healthy: true, quarantined: 0, failingTargets: 0 }])
  expect(lanes.statuses()[0]).not.toHaveProperty('lastError')
  expect((await it.ledger()).balanced).toBe(true)
})

test('what comes after a message that was left for later waits with it', async () => {
  await using it = await startLaneBed()
  await it.put('chat/a', 'a@1', 'b@1', 'a@2', 'b@2')
  let first = true
  const took: string[] = []
  const post = async ({ event }: Message): Promise<Outcome> => {
    const isLater = first && event.name === 'a'
    if (isLater) first = false
    else took.push(`${event.name}@${event.resourceVersion}`)
    return isLater ? LATER : DELIVERED
  }
  const sink: Sink = {
    deliver: (batch, signal) => deliverInOrder(batch, { concurrency: 2 }, post, signal),
    async close() {},
  }
  it.work({ chat: sink }).wake(['chat/a'])
  await it.drained('chat')
  expect(took.filter((name) => name.startsWith('a'))).toEqual(['a@1', 'a@2'])
})

test('a target that fails delays its lane alone, burns no attempt, and is told until it is mended', async () => {
  await using it = await startLaneBed()
  await it.put('chat/closed', ...numbered('a', 3))
  await it.put('chat/open', ...numbered('b', 40))
  let invited = false
  const refusal: Outcome = {
    kind: 'retry',
    reason: 'config',
    detail: 'not_in_channel',
    scope: 'target',
    afterMs: 60_000,
  }
  const sink = scriptedSink(({ event }) => (event.name === 'a' && !invited ? refusal : DELIVERED))
  const lanes = it.work({ chat: sink })
  lanes.wake(['chat/closed', 'chat/open'])
  const isTold = () => {
    const [status] = lanes.statuses()
    return status?.healthy === true && status.failingTargets === 1 && status.lastDeliveredMs !== undefined
  }
  await waitFor(isTold, { what: 'one target to fail while the sink is well' })
  await waitFor(async () => (await it.ledger()).sinks['chat']?.delivered === 40, {
    what: 'the open channel to get everything',
  })
  expect(lanes.statuses()).toMatchObject([{ lastError: 'config: not_in_channel' }])
  expect((await it.ledger()).sinks['chat']).toMatchObject({ delivered: 40, dead: 0, pending: 3 })
  // Its pause is a minute; options that changed end it.
  invited = true
  lanes.tryNow(['chat'])
  await it.drained('chat')
  expect(sink.took.filter((name) => name.startsWith('a'))).toEqual(numbered('a', 3))
  expect(lanes.statuses()).toMatchObject([{ failingTargets: 0 }])
})

test('what waits for a target that fails takes no memory from the others of its sink', async () => {
  await using it = await startLaneBed()
  const closed: Outcome = { kind: 'retry', reason: 'config', detail: 'closed', scope: 'target' }
  const sink = scriptedSink(({ event }) => (event.name === 'a' ? closed : DELIVERED))
  const lanes = it.work({ chat: sink }, { budgetBytes: 200_000 })
  for (let i = 0; i < 300; i += 20) await it.put('chat/closed', ...numbered('a', 300).slice(i, i + 20))
  lanes.wake(['chat/closed'])
  await waitFor(() => lanes.statuses()[0]?.failingTargets === 1, { what: 'the target to fail' })
  for (let i = 0; i < 60; i += 20) await it.put('chat/open', ...numbered('b', 60).slice(i, i + 20))
  lanes.wake(['chat/open'])
  await waitFor(() => sink.took.length === 60, { what: () => `the open channel; ${sink.took.length} of 60` })
})

test('many targets that fail take no memory from the others of their sink, and are all tried', async () => {
  await using it = await startLaneBed()
  let isClosed = true
  const tried = new Set<string>()
  const closed: Outcome = { kind: 'retry', reason: 'config', detail: 'closed', scope: 'target' }
  const sink = scriptedSink(({ event }) => {
    const [kind, target] = event.name.split('-')
    if (kind === 'a') tried.add(target as string)
    return kind === 'a' && isClosed ? closed : DELIVERED
  })
  const lanes = it.work({ chat: sink }, { budgetBytes: 200_000 })
  const targets = Array.from({ length: 60 }, (_, i) => `chat/closed${i}`)
  const each = (i: number) => [`a-${i}-x@1`, `a-${i}-y@1`, `a-${i}-z@1`, `a-${i}-x@2`]
  await Promise.all(targets.map((lane, i) => it.put(lane, ...each(i))))
  lanes.wake(targets)
  await waitFor(() => tried.size > 10, { what: () => `failing targets; ${tried.size} of 10` })
  await it.put('chat/open', ...numbered('b', 20))
  lanes.wake(['chat/open'])
  await waitFor(() => sink.took.length === 20, { what: () => `the open target; ${sink.took.length} of 20` })
  await waitFor(() => tried.size === 60, { what: () => `each target to be tried; ${tried.size} of 60` })
  // What comes for a backlog is stored compressed.
  const keepingUp = () => targets.filter((lane) => lanes.keepsUp(lane)).length
  await waitFor(() => keepingUp() === 0, { what: () => `the backlogs to be known; ${keepingUp()} keep up` })
  isClosed = false
  lanes.tryNow(['chat'])
  await it.drained('chat')
  for (let i = 0; i < 60; i++)
    expect(sink.took.filter((name) => name.startsWith(`a-${i}-x`))).toEqual([`a-${i}-x@1`, `a-${i}-x@2`])
  expect((await it.ledger()).balanced).toBe(true)
})

test.each(['event', 'sink'] as const)(
  'an object that is asked to wait as its %s keeps no other of its lane waiting, however much it changes',
  async (scope) => {
    await using it = await startLaneBed()
    const limited: Outcome = {
      ...{ kind: 'retry', reason: 'server-error', detail: '503', scope },
      afterMs: 600_000,
    }
    const sink = scriptedSink(({ event }) => (event.name === 'hot' ? limited : DELIVERED))
    const lanes = it.work({ hook: sink })
    const trickle = it.trickle(lanes)
    await waitFor(() => sink.took.length > 2, { what: 'others to pass' })
    for (let i = 0; i < 30; i++) {
      const hot = numbered('hot', 600).slice(i * 20, i * 20 + 20)
      await it.put('hook/n0', `healthy@${i + 1}`, ...hot)
    }
    lanes.wake(['hook/n0'])
    const healthy = () => sink.took.filter((name) => name.startsWith('healthy'))
    await waitFor(() => healthy().length === 30, {
      timeoutMs: 30_000,
      what: () => `the healthy object; ${healthy().length} of 30`,
    })
    expect(healthy()).toEqual(numbered('healthy', 30))
    await trickle.stop()
  },
)

test('a sink whose only target fails is not well', async () => {
  await using it = await startLaneBed()
  await it.put('chat/closed', 'a@1')
  const sink = scriptedSink(() => ({ kind: 'retry', reason: 'config', detail: 'archived', scope: 'target' }))
  const lanes = it.work({ chat: sink })
  lanes.wake(['chat/closed'])
  await waitFor(() => lanes.statuses()[0]?.healthy === false, { what: 'the sink to be told as failing' })
})

test('a sink that makes one thing of many gets as many as wait, though they were written one by one', async () => {
  await using it = await startLaneBed()
  for (const name of numbered('a', 100)) await it.put('chat/a', name)
  const sizes: number[] = []
  const sink: Sink = {
    async deliver(batch: readonly Message[]) {
      sizes.push(batch.length)
      return batch.map(() => ({ kind: 'delivered', note: 'digest' }))
    },
    async close() {},
  }
  it.work({ chat: sink }, { maxBatch: 500 }).wake(['chat/a'])
  await it.drained('chat')
  expect(sizes).toEqual([100])
})

test.each([
  ['one lane', { 'chat/a': 'a' }],
  ['several lanes', { 'chat/a': 'a', 'chat/b': 'b' }],
])('a sink that combines many gets as many of %s as memory has room for', async (_, objects) => {
  await using it = await startLaneBed()
  for (const [lane, object] of Object.entries(objects))
    for (let i = 0; i < 300; i += 20) await it.put(lane, ...numbered(object, 300).slice(i, i + 20))
  const sink = scriptedSink(() => DELIVERED)
  it.work({ chat: sink }, { maxBatch: 500, budgetBytes: 200_000 }).wake(Object.keys(objects))
  await it.drained('chat')
  for (const object of Object.values(objects))
    expect(sink.took.filter((name) => name.startsWith(object))).toEqual(numbered(object, 300))
})

test('deliveries that a target refused for its rate come again together', async () => {
  await using it = await startLaneBed()
  await it.put('chat/a', ...Array.from({ length: 30 }, (_, i) => `a-${i}`))
  const sizes: number[] = []
  const sink: Sink = {
    async deliver(batch: readonly Message[]) {
      sizes.push(batch.length)
      if (sizes.length > 1) return batch.map(() => DELIVERED)
      return batch.map(() => ({
        kind: 'retry',
        reason: 'rate-limited',
        detail: 'too many',
        scope: 'target',
        afterMs: 10,
      }))
    },
    async close() {},
  }
  it.work({ chat: sink }, { maxBatch: 500 }).wake(['chat/a'])
  await it.drained('chat')
  expect(sizes).toEqual([30, 30])
})

test('a target whose deliveries were all given up does not count as failing any more', async () => {
  await using it = await startLaneBed()
  await it.put('hook/shop', 'a@1')
  const outcomes: Outcome[] = [
    { kind: 'retry', reason: 'config', detail: 'not there', scope: 'target', afterMs: 1 },
    { kind: 'rejected', reason: 'rejected', detail: 'no' },
  ]
  const lanes = it.work({ hook: scriptedSink(() => outcomes.shift() as Outcome) })
  lanes.wake(['hook/shop'])
  await it.drained('hook')
  await waitFor(() => lanes.statuses()[0]?.failingTargets === 0, { what: 'the target to be forgotten' })
  expect((await it.ledger()).sinks['hook']).toMatchObject({ dead: 1, delivered: 0 })
})

test('a target that did not fail for two hours is forgotten: others deliver there', () => {
  let nowMs = 0
  const targets = new FailingLanes(() => nowMs)
  targets.failed('hook/a', 'config')
  nowMs = 7_000_000
  targets.failed('hook/b', 'config')
  expect(targets.count()).toBe(2)
  nowMs = 7_200_001
  expect(targets.count()).toBe(1)
  expect(targets.failed('hook/b', 'config')).toBe(false)
})
