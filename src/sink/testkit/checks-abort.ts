import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { Message } from '../message.ts'
import type { Outcome } from '../outcome.ts'
import { type Bench, expectArrived, expectNoneArrived } from './bench.ts'
import type { CheckBody } from './check.ts'
import { expectPutOff } from './checks-faults.ts'
import { expect } from './fault.ts'
import { within } from './waiting.ts'

/** What the core waits for the last words of a sink. */
const LIMIT_MS = 1_000
/** In which something that was not stopped would still be sent. */
const AFTERMATH_MS = 50

/** When the call of a batch shall end. */
export const abortChecks: Readonly<Record<string, CheckBody>> = {
  'sends nothing when the signal is aborted already': async (bench) => {
    const sink = await bench.open()
    const batch = await bench.samples(8, 'aborted')
    const outcomes = await sink.deliver(batch, AbortSignal.abort(), LIMIT_MS)
    expectPutOff(outcomes)
    await pause(AFTERMATH_MS)
    expectNoneArrived(batch, await bench.received(), 'though the signal was aborted before')
    await sink.getThrough(batch)
  },

  'ends within a second of an abort, and tells what may have arrived': async (bench) => {
    const sink = await bench.open()
    const moments = [() => Promise.resolve(), () => turn(), () => pause(1), () => pause(5), () => pause(20)]
    for (const [i, moment] of moments.entries()) {
      const batch = await bench.samples(40, `middle${i}x`, { objects: 10 })
      const stop = new AbortController()
      const delivery = sink.deliver(batch, stop.signal)
      await moment()
      const outcomes = await endSoon(delivery, stop)
      await pause(AFTERMATH_MS)
      await expectToldOf(bench, batch, outcomes)
      await sink.getThrough(batch)
    }
  },

  'ends within a second of an abort while its peer hangs, and goes on behind it': async (bench) => {
    const sink = await bench.open()
    const faults = await bench.fault('hang')
    const batch = await bench.samples(12, 'hanging')
    const stop = new AbortController()
    const delivery = sink.deliver(batch, stop.signal)
    await pause(AFTERMATH_MS)
    const outcomes = await endSoon(delivery, stop)
    expectPutOff(outcomes)
    await expectToldOf(bench, batch, outcomes)
    const again = new AbortController()
    const second = sink.deliver(await bench.samples(4, 'behind'), again.signal)
    await pause(AFTERMATH_MS)
    expectPutOff(await endSoon(second, again))
    await faults.restore()
    await sink.getThrough(batch)
    expectArrived(batch, await bench.received())
  },
}

async function endSoon(delivery: Promise<Outcome[]>, stop: AbortController): Promise<Outcome[]> {
  stop.abort()
  return within(LIMIT_MS, delivery, 'deliver, after its signal was aborted,')
}

/** Nothing arrived that is not told as delivered or as ambiguous. */
async function expectToldOf(bench: Bench, batch: readonly Message[], outcomes: readonly Outcome[]) {
  const received = new Set(await bench.received())
  const untold = batch.findIndex(({ id }, i) => received.has(id) && !mayHaveArrived(outcomes[i] as Outcome))
  expect(
    untold === -1,
    () =>
      `${batch[untold]?.id} arrived, but its outcome is ${JSON.stringify(outcomes[untold])} without "ambiguous"`,
  )
}

function mayHaveArrived(outcome: Outcome): boolean {
  return outcome.kind === 'delivered' || (outcome.kind === 'retry' && outcome.ambiguous === true)
}
