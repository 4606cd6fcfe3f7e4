import { expect, test } from 'vitest'
import type { Outcome, Sink } from '../../src/sink/index.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

/** What quarantined chains do to each other, and what their target asks of all of them. */

type Bed = Awaited<ReturnType<typeof startLaneBed>>

const LANE = 'hook/n0'
/** More than are tried at once. */
const MANY = 100
const LIMITED: Outcome = {
  kind: 'retry',
  reason: 'rate-limited',
  detail: '429',
  scope: 'target',
  afterMs: 20,
}

const named = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}@1`)

/** Quarantines these objects, which fail, among others that pass. */
async function quarantine(
  it: Bed,
  lanes: ReturnType<Bed['work']>,
  objects: readonly string[],
): Promise<void> {
  const before = lanes.statuses()[0]?.quarantined ?? 0
  for (let at = 0; at < objects.length; at += 5) {
    const some = objects.slice(at, at + 5)
    await it.put(LANE, ...some.flatMap((name) => [`passing-${name}`, name, `passing-too-${name}`]))
    lanes.wake([LANE])
  }
  await waitFor(() => lanes.statuses()[0]?.quarantined === before + objects.length, {
    what: () => `${objects.length} objects to be quarantined; ${lanes.statuses()[0]?.quarantined} are`,
  })
}

test('quarantined objects whose calls hang leave the others their turn', async () => {
  await using it = await startLaneBed()
  let begun = false
  const took: string[] = []
  const answer = async (name: string, signal: AbortSignal): Promise<Outcome> => {
    if (name.startsWith('passing')) return DELIVERED
    if (!begun) return ODD
    if (name.startsWith('hangs') && !signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    if (name.startsWith('hangs')) return ODD
    took.push(name)
    return DELIVERED
  }
  const sink: Sink = {
    deliver: (batch, signal) => Promise.all(batch.map(({ event }) => answer(event.name, signal))),
    async close() {},
  }
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000, deliverTimeoutMs: 1_000 })
  const trickle = it.trickle(lanes)
  await quarantine(it, lanes, named('hangs', MANY))
  await quarantine(it, lanes, named('mended', 5))
  begun = true
  await waitFor(() => took.length === 5, {
    ...{ timeoutMs: 12_000, what: () => `the objects that fail no longer; ${took.length} of 5 passed` },
  })
  await trickle.stop()
})

test('a limit of requests gives no quarantined delivery up', async () => {
  await using it = await startLaneBed()
  let answer: Outcome = ODD
  let calls = 0
  const sink = scriptedSink(({ event: { name } }) => {
    if (name.startsWith('passing')) return DELIVERED
    calls++
    return answer
  })
  const lanes = it.work({ hook: sink }, { maxTries: 3 })
  const trickle = it.trickle(lanes)
  await quarantine(it, lanes, ['odd@1'])
  answer = LIMITED
  const before = calls
  await waitFor(() => calls > before + 6, { what: 'attempts' })
  expect(await it.ledger()).toMatchObject({ sinks: { hook: { dead: 0 } } })
  answer = DELIVERED
  await waitFor(() => sink.took.includes('odd@1'), { what: 'the delivery' })
  await trickle.stop()
})

test('quarantined objects keep the pause that their target asked one of them for', async () => {
  await using it = await startLaneBed()
  let limited = false
  let calls = 0
  const sink = scriptedSink(({ event: { name } }) => {
    if (name.startsWith('passing')) return DELIVERED
    if (!limited) return ODD
    calls++
    return { ...LIMITED, afterMs: 60_000 }
  })
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000 })
  const trickle = it.trickle(lanes)
  await quarantine(it, lanes, named('odd', MANY))
  limited = true
  await waitFor(() => calls > 0, { what: 'an attempt that is asked to wait' })
  // By then all would have been tried.
  const later = sink.took.length + 30
  await waitFor(() => sink.took.length >= later, { what: 'others to pass' })
  expect(calls).toBeLessThanOrEqual(MANY / 2)
  await trickle.stop()
})
