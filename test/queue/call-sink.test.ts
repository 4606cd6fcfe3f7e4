import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/log.ts'
import { callSink } from '../../src/queue/call-sink.ts'
import type { Message, Outcome, Sink } from '../../src/sink/index.ts'

const MESSAGES = [{}, {}] as Message[]
const DELIVERED: Outcome = { kind: 'delivered' }
const limits = { deliverTimeoutMs: 60_000, log: silentLog }
const sinkOf = (deliver: Sink['deliver']): Sink => ({ deliver, async close() {} })

test('nothing outlives a call: no listener on the signal, no timer that keeps its batch', async () => {
  const { signal } = new AbortController()
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  for (let i = 0; i < 50; i++) {
    expect(
      await callSink(
        sinkOf(async () => [DELIVERED, DELIVERED]),
        MESSAGES,
        limits,
        signal,
      ),
    ).toHaveLength(2)
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  expect(timers()).toBe(before)
})

test('a sink that ignores its deadline is given up: everything is to be tried again', async () => {
  const never = sinkOf(() => new Promise(() => {}))
  const outcomes = await callSink(
    never,
    MESSAGES,
    { ...limits, deliverTimeoutMs: 1 },
    new AbortController().signal,
  )
  expect(outcomes).toMatchObject([
    { kind: 'retry', reason: 'timeout', scope: 'sink' },
    { kind: 'retry', reason: 'timeout', scope: 'sink' },
  ])
})

test('what a sink had sent when it was asked to stop counts', async () => {
  const stop = new AbortController()
  const half = sinkOf(
    (_batch, signal) =>
      new Promise((resolve) => {
        const stopped: Outcome = { kind: 'retry', reason: 'unknown', detail: 'stopped', scope: 'sink' }
        signal.addEventListener('abort', () => resolve([DELIVERED, stopped]))
      }),
  )
  const outcomes = callSink(half, MESSAGES, limits, stop.signal)
  stop.abort()
  expect(await outcomes).toMatchObject([{ kind: 'delivered' }, { kind: 'retry' }])
})
