import type { Message } from '../message.ts'
import type { Outcome } from '../outcome.ts'
import { expectArrived, expectNoneArrived } from './bench.ts'
import type { CheckBody } from './check.ts'
import { expect, skip } from './fault.ts'

/** What becomes of batches while the peer is not well. */
export const faultChecks: Readonly<Record<string, CheckBody>> = {
  'opens while its peer is away; the first delivery is a retry': async (bench) => {
    await bench.fault('refuse')
    const sink = await bench.open()
    expectPutOff(await sink.deliver(await bench.samples(6, 'away')))
  },

  'goes on when its peer is back, and loses nothing': async (bench) => {
    const sink = await bench.open()
    const first = await bench.samples(8, 'before')
    await sink.getThrough(first)
    const faults = await bench.fault('refuse')
    const second = await bench.samples(8, 'during')
    for (let i = 0; i < 3; i++) expectPutOff(await sink.deliver(second))
    await faults.restore()
    await sink.getThrough(second)
    expectArrived([...first, ...second], await bench.received())
  },

  'a failure of one message holds its object, not the others': async (bench) => {
    const faults = bench.target.faults
    if (!faults?.refuseOne) skip('the target has no fault "refuseOne"')
    const sink = await bench.open()
    const batch = await bench.samples(6, 'one', { objects: 2 })
    await faults.refuseOne(batch[0]!.id)
    const outcomes = await sink.deliver(batch)
    const kinds = outcomes.map(({ kind }) => kind)
    expect(kinds[0] === 'retry', () => `the refused message is ${JSON.stringify(outcomes[0])}, not a retry`)
    const ofSame = batch.filter((_, i) => i > 0 && i % 2 === 0)
    expectNoneArrived(ofSame, await bench.received(), 'though an earlier one of its object had failed')
    await faults.restore()
    await sink.getThrough(batch)
  },

  'tries a message once in a call': async (bench) => {
    const faults = bench.target.faults
    const sink = await bench.open()
    const well = await bench.samples(8, 'once')
    await sink.deliver(well)
    expectNoRepeat(well, await bench.received())
    if (!faults?.refuseOne) return
    const batch = await bench.samples(4, 'failing', { objects: 2 })
    await faults.refuseOne(batch[0]!.id)
    await sink.deliver(batch)
    expectNoRepeat(batch, await bench.received())
  },

  'what it tells of failures holds no secret': async (bench) => {
    const sink = await bench.open()
    const faults = await bench.fault('refuse')
    await sink.deliver(await bench.samples(4, 'secret'))
    const { health } = sink.sink
    if (health) {
      const answer = await health
        .call(sink.sink, AbortSignal.timeout(5_000))
        .catch((error: unknown) => String(error))
      sink.refuseLeak(JSON.stringify(answer), 'health')
    }
    sink.refuseLeak(sink.context.told(), 'a log line or metric')
    await faults.restore()
  },
}

function expectNoRepeat(messages: readonly Message[], received: readonly string[]): void {
  for (const { id } of messages) {
    const times = received.filter((it) => it === id).length
    expect(times <= 1, `${id} was sent ${times} times in one call of deliver: the queue holds the retry loop`)
  }
}

export function expectPutOff(outcomes: readonly Outcome[]): void {
  const other = outcomes.find(({ kind }) => kind !== 'retry' && kind !== 'later')
  expect(
    other === undefined,
    () => `while the peer is away, an outcome is ${JSON.stringify(other)}, not a retry`,
  )
}
