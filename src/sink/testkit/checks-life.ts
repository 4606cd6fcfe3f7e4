import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { Message } from '../message.ts'
import type { Health, Outcome } from '../sink.ts'
import { expect, faultsOfOutcome, skip, within } from './assertions.ts'
import { type Bench, type CheckBody, expectArrived, expectNoneArrived, type OpenedSink } from './bench.ts'
import { expectPutOff } from './checks-delivery.ts'

/** How long the core waits for a sink to close. */
const CLOSE_LIMIT_MS = 5_000
const HEALTH_LIMIT_MS = 10_000

/** Closing and health. */
export const lifeChecks: Readonly<Record<string, CheckBody>> = {
  'closes twice': async (bench) => {
    const sink = await bench.open()
    await sink.getThrough(await bench.samples(2, 'twice'))
    await within(CLOSE_LIMIT_MS, sink.sink.close(), 'close')
    await within(CLOSE_LIMIT_MS, sink.sink.close(), 'the second close')
  },

  'closes without having delivered anything': async (bench) => {
    const closing = (await bench.open()).sink.close() as Promise<void> | undefined
    if (typeof closing?.then !== 'function')
      throw new Error('close gave no promise: write "async close() { … }"')
    await within(CLOSE_LIMIT_MS, closing, 'close')
  },

  'delivers nothing after it was closed': async (bench) => {
    const sink = await bench.open()
    await sink.getThrough(await bench.samples(2, 'open'))
    await sink.sink.close()
    const batch = await bench.samples(4, 'closed')
    const never = new AbortController().signal
    const outcomes = await within(
      CLOSE_LIMIT_MS,
      // To throw is a retry, too.
      (async () => sink.sink.deliver(batch, never))().catch(() => []),
      'deliver after close',
    )
    const wrong = outcomes.find(({ kind }) => kind !== 'retry' && kind !== 'later')
    expect(wrong === undefined, () => `after close, an outcome is ${JSON.stringify(wrong)}, not a retry`)
    const received = await bench.received()
    expect(!batch.some(({ id }) => received.includes(id)), 'a message was sent after close')
  },

  'close ends what is under way': async (bench) => {
    const sink = await bench.open()
    const delivery = sink.deliver(await bench.samples(40, 'closing')).then(
      () => undefined,
      () => undefined,
    )
    await within(CLOSE_LIMIT_MS, sink.sink.close(), 'close, with a batch under way,')
    await within(CLOSE_LIMIT_MS, delivery, 'a batch that was under way at close')
  },

  'close ends what hangs': async (bench) => {
    const sink = await bench.open()
    await bench.fault('hang')
    const stop = new AbortController()
    const delivery = sink.deliver(await bench.samples(8, 'stuck'), stop.signal).then(
      () => undefined,
      () => undefined,
    )
    await pause(20)
    // As the core does: first the batches are stopped, then the sink is closed.
    stop.abort()
    await within(CLOSE_LIMIT_MS, sink.sink.close(), 'close, with a peer that hangs,')
    await within(CLOSE_LIMIT_MS, delivery, 'a batch that hung at close')
  },

  'health says that all is well, and delivers nothing': async (bench) => {
    const sink = await withHealth(bench)
    const answer = await within(HEALTH_LIMIT_MS, healthOf(sink), 'health')
    expectHealth(answer)
    expect(answer.ok, () => `while the peer is well, health is ${JSON.stringify(answer)}`)
    expect((await bench.received()).length === 0, 'health delivered something')
  },

  'health says that the peer is away': async (bench) => {
    const sink = await withHealth(bench)
    await bench.fault('refuse')
    const answer = await within(
      HEALTH_LIMIT_MS,
      healthOf(sink).catch(() => undefined),
      'health',
    )
    if (answer === undefined) return
    expectHealth(answer)
    expect(!answer.ok, 'while the peer is away, health reports that all is well')
    sink.refuseLeak(JSON.stringify(answer), 'health')
  },

  'health ends with its signal': async (bench) => {
    const sink = await withHealth(bench)
    const ending = (signal: AbortSignal) =>
      within(
        1_000,
        healthOf(sink, signal).catch(() => undefined),
        'health, after its signal was aborted,',
      )
    await ending(AbortSignal.abort())
    if (!bench.target.faults?.hang) return
    await bench.fault('hang')
    const stop = new AbortController()
    const asking = healthOf(sink, stop.signal).catch(() => undefined)
    await pause(20)
    stop.abort()
    await within(1_000, asking, 'health of a peer that hangs, after its signal was aborted,')
  },
}

async function withHealth(bench: Bench): Promise<OpenedSink> {
  const sink = await bench.open()
  if (!sink.sink.health) skip('the sink has no health')
  return sink
}

async function healthOf({ sink }: OpenedSink, signal = new AbortController().signal): Promise<Health> {
  return sink.health!(signal)
}

function expectHealth(answer: Health): void {
  const it = answer as { ok?: unknown; warnings?: unknown; reason?: unknown; detail?: unknown }
  expect(typeof it?.ok === 'boolean', () => `health is ${JSON.stringify(answer)}, without ok`)
  if (it.ok) {
    const { warnings = [] } = it
    expect(
      Array.isArray(warnings) && warnings.every((text) => typeof text === 'string'),
      () => `the warnings of health are ${JSON.stringify(warnings)}, not texts`,
    )
    return
  }
  const faults = faultsOfOutcome({ kind: 'rejected', reason: it.reason, detail: it.detail })
  expect(faults.length === 0, () => `health: ${faults.join('; ')}`)
}

/** How long the core waits for a sink after an abort. */
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
      await expectReported(bench, batch, outcomes)
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
    await expectReported(bench, batch, outcomes)
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

/** Every message that has arrived must be delivered or ambiguous. */
async function expectReported(bench: Bench, batch: readonly Message[], outcomes: readonly Outcome[]) {
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
