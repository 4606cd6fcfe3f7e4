import { expect, test } from 'vitest'
import type { Message, Outcome, Sink } from '../../src/sink/index.ts'
import { isQuarantine } from '../../src/store/keys.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, numbered, ODD, startLaneBed } from './lane-bed.ts'

type Bed = Awaited<ReturnType<typeof startLaneBed>>

/** An object of which one call does not end, with a backlog, in the lanes of healthy ones: their lanes are read on. */

const LANE = 'hook/n0'
/** More than a lane has in memory. */
const CHANGES = 1_200
const HEALTHY = 24

/** Takes all but the first call with the slow object, which ends when the test says how. */
function slowSink() {
  const answer = Promise.withResolvers<Outcome>()
  const took: string[] = []
  const sent: string[] = []
  const nameOf = ({ event }: Message) => `${event.name}@${event.resourceVersion}`
  let isFirst = true
  const sink: Sink = {
    async deliver(batch) {
      const isSlow = isFirst && batch.some(({ event }) => event.name === 'slow')
      if (isSlow) isFirst = false
      sent.push(...batch.map(nameOf))
      const outcome = isSlow ? await answer.promise : DELIVERED
      return batch.map((message) => {
        const own = message.event.name === 'slow' ? outcome : DELIVERED
        if (own.kind === 'delivered') took.push(nameOf(message))
        return own
      })
    },
    async close() {},
  }
  const countOf = (name: string) => took.filter((it) => it.startsWith(`${name}@`)).length
  return { sink, took, sent, countOf, end: answer.resolve }
}

/** Healthy objects change while the slow one does, as they do in the lane of one. */
async function fill({ put }: Bed): Promise<void> {
  for (let i = 0; i < CHANGES; i += CHANGES / HEALTHY) {
    const round = (i * HEALTHY) / CHANGES + 1
    const slow = Array.from({ length: CHANGES / HEALTHY }, (_, n) => `slow@${i + n + 1}`)
    await put(LANE, ...slow, `healthy@${round}`)
  }
}

const healthyPass = (it: ReturnType<typeof slowSink>) =>
  waitFor(() => it.countOf('healthy') === HEALTHY, {
    what: () => `the healthy object; ${it.countOf('healthy')} of ${HEALTHY} passed`,
  })

const ENDS: [string, Outcome, { dead: number }][] = [
  ['is taken', DELIVERED, { dead: 0 }],
  ['fails', ODD, { dead: 0 }],
  ['fails as the sink would', DOWN, { dead: 0 }],
  ['is refused', { kind: 'rejected', reason: 'rejected', detail: '422' }, { dead: 1 }],
]

test.concurrent.each(ENDS)(
  'behind a call that hangs, and at last %s, the lane is read on; the object keeps its order, and what was taken is not sent again',
  async (_, outcome, { dead }) => {
    await using it = await startLaneBed()
    const slow = slowSink()
    const lanes = it.work({ hook: slow.sink }, { minFailingMs: 600_000 })
    const trickle = it.trickle(lanes)
    await it.put(LANE, 'slow@0')
    lanes.wake([LANE])
    await waitFor(() => slow.sent.includes('slow@0'), { what: 'the call that hangs' })
    await fill(it)
    lanes.wake([LANE])
    await healthyPass(slow)
    expect(slow.countOf('slow')).toBe(0)
    await waitFor(async () => (await it.redis.exists(it.keys.lane(LANE))) === 0, {
      what: 'the lane to have nothing but what others wait behind',
    })
    expect(lanes.statuses()).toMatchObject([{ quarantined: 1 }])
    // While others pass, few counts find nothing moving.
    await waitFor(async () => (await it.ledger()).verified, { what: 'a count of what waits' })
    expect(await it.ledger()).toMatchObject({ balanced: true })
    slow.end(outcome)
    await trickle.stop()
    await it.drained('hook')
    const first = outcome.kind === 'rejected' ? [] : ['slow@0']
    expect(slow.took.filter((name) => name.startsWith('slow'))).toEqual([
      ...first,
      ...numbered('slow', CHANGES),
    ])
    const isRepeated = outcome.kind === 'retry'
    expect(slow.sent.filter((name) => name === 'slow@0')).toHaveLength(isRepeated ? 2 : 1)
    expect(await it.ledger()).toMatchObject({ balanced: true, verified: true, sinks: { hook: { dead } } })
    expect((await it.redis.hkeys(it.keys.pending)).filter(isQuarantine)).toEqual([])
  },
)

test.concurrent('a process that ends behind a call that hangs leaves the object in order for the next one', async () => {
  await using it = await startLaneBed()
  const slow = slowSink()
  const lanes = it.work({ hook: slow.sink })
  const trickle = it.trickle(lanes)
  await it.put(LANE, 'slow@0')
  lanes.wake([LANE])
  await waitFor(() => slow.sent.includes('slow@0'), { what: 'the call that hangs' })
  await fill(it)
  lanes.wake([LANE])
  await healthyPass(slow)
  await trickle.stop()
  await lanes.close(100)
  const next = slowSink()
  next.end(DELIVERED)
  await it.put(LANE, `slow@${CHANGES + 1}`)
  it.work({ hook: next.sink })
  await it.drained('hook')
  expect(next.took.filter((name) => name.startsWith('slow'))).toEqual([
    'slow@0',
    ...numbered('slow', CHANGES + 1),
  ])
})

test.concurrent('a sink whose calls have several objects: one object that makes its call hang is found and quarantined', async () => {
  await using it = await startLaneBed()
  const slow = slowSink()
  const lanes = it.work({ hook: slow.sink }, { joins: true })
  const trickle = it.trickle(lanes)
  await it.put(LANE, 'slow@0')
  lanes.wake([LANE])
  await waitFor(() => slow.sent.includes('slow@0'), { what: 'the call that hangs' })
  await fill(it)
  lanes.wake([LANE])
  await healthyPass(slow)
  slow.end(DELIVERED)
  await trickle.stop()
  await it.drained('hook')
  expect(slow.took.filter((name) => name.startsWith('slow'))).toEqual([
    'slow@0',
    ...numbered('slow', CHANGES),
  ])
})

test.concurrent('behind a call that hangs, what its lane holds of the memory of its sink keeps no other lane from being read', async () => {
  await using it = await startLaneBed()
  const slow = slowSink()
  const lanes = it.work({ hook: slow.sink }, { minFailingMs: 600_000, budgetBytes: 200_000 })
  const trickle = it.trickle(lanes)
  await it.put(LANE, 'slow@0')
  lanes.wake([LANE])
  await waitFor(() => slow.sent.includes('slow@0'), { what: 'the call that hangs' })
  // All of it is read: nothing more waits in the lane itself.
  await it.put(LANE, ...numbered('slow', 90))
  lanes.wake([LANE])
  await waitFor(() => lanes.statuses()[0]?.quarantined === 0, { what: 'a lane that is read' })
  for (let i = 0; i < 3; i++) await it.put('hook/n1', ...numbered('healthy', 90).slice(i * 30, i * 30 + 30))
  lanes.wake(['hook/n1'])
  await waitFor(() => slow.countOf('healthy') === 90, {
    what: () => `the healthy object; ${slow.countOf('healthy')} of 90 passed`,
  })
  expect(slow.countOf('slow')).toBe(0)
  slow.end(DELIVERED)
  await trickle.stop()
  await it.drained('hook')
  const expected = ['slow@0', ...numbered('slow', 90)]
  expect(slow.took.filter((name) => name.startsWith('slow'))).toEqual(expected)
})

test.concurrent('several objects that hang, each with few deliveries behind it, keep no other of their lane waiting', async () => {
  await using it = await startLaneBed()
  const end = Promise.withResolvers<void>()
  const took: string[] = []
  const sink: Sink = {
    async deliver(batch) {
      if (batch.some(({ event }) => event.name.startsWith('slow'))) await end.promise
      took.push(...batch.map(({ event }) => `${event.name}@${event.resourceVersion}`))
      return batch.map(() => DELIVERED)
    },
    async close() {},
  }
  const lanes = it.work({ hook: sink })
  const trickle = it.trickle(lanes)
  const names = Array.from({ length: 6 }, (_, i) => `slow-${i}`)
  for (const name of names) await it.put(LANE, ...numbered(name, 60))
  await it.put(LANE, ...numbered('healthy', 20))
  lanes.wake([LANE])
  const others = () => took.filter((name) => name.startsWith('healthy'))
  await waitFor(() => others().length === 20, {
    ...{ timeoutMs: 40_000, what: () => `the others; ${others().length} of 20 passed` },
  })
  end.resolve()
  await trickle.stop()
  await it.drained('hook')
  for (const name of names) expect(took.filter((it) => it.startsWith(`${name}@`))).toEqual(numbered(name, 60))
})
