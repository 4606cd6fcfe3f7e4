import type { Message } from '../message.ts'
import type { Outcome } from '../sink.ts'
import { TemplateFault } from '../template/fault.ts'
import { expect, skip } from './assertions.ts'
import { type CheckBody, expectArrived, expectNoneArrived, messageOfError } from './bench.ts'
import { hostileMessages, messageOf, noticeMessages } from './messages.ts'

/** Deliveries while the peer works. */
export const deliveryChecks: Readonly<Record<string, CheckBody>> = {
  'delivers a batch, in the order of each object': async (bench) => {
    const sink = await bench.open()
    await sink.getThrough(await bench.samples(40, 'order'))
  },

  'delivers a single message': async (bench) => {
    const sink = await bench.open()
    await sink.getThrough(await bench.samples(1, 'single'))
  },

  'gives no outcome for no message': async (bench) => {
    const sink = await bench.open()
    expect((await sink.deliver([])).length === 0, 'an empty batch got an outcome')
  },

  'takes several batches at once': async (bench) => {
    const sink = await bench.open()
    const batches = await Promise.all(['a', 'b', 'c', 'd'].map((it) => bench.samples(20, `many${it}`)))
    await Promise.all(batches.map((batch) => sink.getThrough(batch)))
  },

  'is as good after hundreds of messages': async (bench) => {
    const sink = await bench.open()
    if ((bench.type.maxBatch ?? 128) < 16) skip('its batches are small: it is slow by design')
    await sink.getThrough(await bench.samples(300, 'hundreds', { objects: 50 }))
  },

  'hostile events harm nothing': async (bench) => {
    const sink = await bench.open()
    const route = await bench.route()
    for (const [i, { what, message }] of hostileMessages(bench.type, { route }).entries()) {
      const [before, behind] = await bench.samples(2, `good${i}x`, { objects: 2 })
      const batch = [before!, message, behind!]
      const settled = await sink.settle(batch).catch((error: unknown) => {
        expect(false, `${what}: ${messageOfError(error)}`)
      })
      for (const good of [before!, behind!])
        expect(
          settled?.get(good.id)?.kind === 'delivered',
          `${what}: another message of the batch was not delivered, but ${JSON.stringify(settled?.get(good.id))}`,
        )
      const seen = [before!, behind!].filter(({ id }) => !isDigest(settled?.get(id)))
      expectArrived(seen, await bench.received())
    }
  },

  'takes digests and notices of what is over': async (bench) => {
    const sink = await bench.open()
    const route = await bench.route()
    const notices = noticeMessages(bench.type, { route })
    const settled = await sink.settle(notices.map(({ message }) => message))
    for (const { what, message } of notices) {
      const outcome = settled.get(message.id)
      const isRefused = outcome?.kind === 'rejected' && outcome.reason === 'config'
      expect(
        outcome?.kind === 'delivered' || isRefused,
        `${what}: it was not delivered, but ${JSON.stringify(outcome)}`,
      )
    }
  },

  'a template that fails is the fault of its message alone': async (bench) => {
    const sink = await bench.open()
    const route = await bench.route()
    const [before, behind] = await bench.samples(2, 'template', { objects: 2 })
    let asked = false
    const content = () => {
      asked = true
      throw new TemplateFault('undefined filter: nosuch, line 1, column 4')
    }
    const broken = messageOf({ name: 'brokentemplate', route, content }, bench.type)
    const settled = await sink.settle([before!, broken, behind!])
    for (const good of [before!, behind!])
      expect(settled.get(good.id)?.kind === 'delivered', 'another message of the batch was not delivered')
    const outcome = settled.get(broken.id)
    if (!asked)
      return expect(outcome?.kind === 'delivered', 'it was refused, though its content was not asked for')
    expect(
      outcome?.kind === 'rejected' && outcome.reason === 'render',
      `its outcome is ${JSON.stringify(outcome)}, not rejected with reason render`,
    )
  },

  'two openings share nothing': async (bench) => {
    const [one, other] = [await bench.open(), await bench.open()]
    await one.getThrough(await bench.samples(4, 'one'))
    await one.sink.close()
    await other.getThrough(await bench.samples(4, 'other'))
  },
}

function isDigest(outcome: { kind: string; note?: string } | undefined): boolean {
  return outcome?.note === 'digest'
}

/** Deliveries while the peer fails. */
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
    sink.refuseLeak(sink.context.loggedText(), 'a log line or metric')
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
