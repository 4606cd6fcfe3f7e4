import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { type Message, type Outcome, type Sink, TemplateFault } from '../../src/sink/index.ts'
import { createCaller } from '../../src/store/lanes/calls.ts'

const MESSAGES = [{}, {}] as Message[]
const DELIVERED: Outcome = { kind: 'delivered' }
const limits = { deliverTimeoutMs: 60_000, log: silentLog }
const sinkOf = (deliver: Sink['deliver']): Sink => ({ deliver, async close() {} })

test('calls of a moment share one timer, and nothing outlives them for long', async () => {
  const caller = createCaller(limits)
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const sink = sinkOf(async () => [DELIVERED, DELIVERED])
  for (let i = 0; i < 50; i++) expect(await caller.call(sink, MESSAGES)).toHaveLength(2)
  expect(timers()).toBeLessThanOrEqual(before + 1)
  caller.abort()
  expect(timers()).toBe(before)
})

test('a sink that ignores its deadline is given up: everything is to be tried again', async () => {
  const never = sinkOf(() => new Promise(() => {}))
  const outcomes = await createCaller({ ...limits, deliverTimeoutMs: 1 }).call(never, MESSAGES)
  expect(outcomes).toMatchObject([
    { kind: 'retry', reason: 'timeout', scope: 'sink' },
    { kind: 'retry', reason: 'timeout', scope: 'sink' },
  ])
})

test('a message that cannot be rendered is rejected, and those that were called with it are tried again', async () => {
  const broken = {
    get content(): never {
      throw new TemplateFault('no such field')
    },
  } as unknown as Message
  const rendering = sinkOf(async (batch) => batch.map(({ content }) => (content ? DELIVERED : DELIVERED)))
  const caller = createCaller(limits)
  const rejected = { kind: 'rejected', reason: 'render', detail: 'no such field' }
  expect(await caller.call(rendering, [broken])).toEqual([rejected])
  expect(await caller.call(rendering, [{} as Message, broken])).toMatchObject([
    { kind: 'retry', scope: 'event' },
    rejected,
  ])
})

test('what a sink had sent when it was asked to stop counts', async () => {
  const caller = createCaller(limits)
  const half = sinkOf(
    (_batch, signal) =>
      new Promise((resolve) => {
        const stopped: Outcome = { kind: 'retry', reason: 'unknown', detail: 'stopped', scope: 'sink' }
        signal.addEventListener('abort', () => resolve([DELIVERED, stopped]))
      }),
  )
  const outcomes = caller.call(half, MESSAGES)
  caller.abort()
  expect(await outcomes).toMatchObject([{ kind: 'delivered' }, { kind: 'retry' }])
})

test.each<[string, unknown, object]>([
  ['a pause that is not a number', { kind: 'later', afterMs: Number.NaN }, { kind: 'later', afterMs: 1_000 }],
  ['a pause without end', { kind: 'later', afterMs: Infinity }, { kind: 'later', afterMs: 3_600_000 }],
  ['a pause in the past', { kind: 'later', afterMs: -1 }, { kind: 'later', afterMs: 1_000 }],
  [
    'no detail',
    { kind: 'rejected', reason: 'rejected' },
    { kind: 'rejected', reason: 'rejected', detail: '' },
  ],
  [
    'a detail that is not text',
    { kind: 'rejected', reason: 'rejected', detail: Symbol('x') },
    { detail: '' },
  ],
  [
    'reason and scope that there are not',
    { kind: 'retry', reason: 'tuesday', detail: 'x', scope: 'world', afterMs: Infinity },
    { kind: 'retry', reason: 'unknown', scope: 'sink', afterMs: 3_600_000 },
  ],
  [
    'what cannot be read',
    {
      get kind(): string {
        throw new Error('no')
      },
    },
    { kind: 'retry', reason: 'unknown', scope: 'sink' },
  ],
])('an outcome with %s is made a good one, and what was delivered beside it counts', async (_, odd, made) => {
  const sink = sinkOf(async () => [DELIVERED, odd as Outcome])
  const outcomes = await createCaller(limits).call(sink, MESSAGES)
  expect(outcomes).toMatchObject([DELIVERED, made])
})

test('a sink may throw what is no error', async () => {
  const sink = sinkOf(() => {
    throw Object.create(null)
  })
  const outcomes = await createCaller(limits).call(sink, MESSAGES)
  expect(outcomes).toMatchObject([{ kind: 'retry', scope: 'sink' }, { kind: 'retry' }])
})
