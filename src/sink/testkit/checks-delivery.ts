import { TemplateFault } from '../template/fault.ts'
import { expectArrived, messageOfError } from './bench.ts'
import type { CheckBody } from './check.ts'
import { expect, skip } from './fault.ts'
import { hostileMessages } from './hostile.ts'
import { messageOf } from './messages.ts'
import { noticeMessages } from './notices.ts'

/** What becomes of batches while the peer is well. */
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

  'is as good after a thousand messages': async (bench) => {
    const sink = await bench.open()
    if ((bench.type.maxBatch ?? 128) < 16) skip('its batches are small: it is slow by design')
    await sink.getThrough(await bench.samples(1_000, 'thousand', { objects: 50 }))
  },

  'hostile events harm nothing': async (bench) => {
    const sink = await bench.open()
    const route = await bench.route()
    for (const [i, { what, message }] of hostileMessages(bench.type, { route }).entries()) {
      const [before, behind] = await bench.samples(2, `beside${i}x`, { objects: 2 })
      const batch = [before!, message, behind!]
      const settled = await sink.settle(batch).catch((error: unknown) => {
        expect(false, `${what}: ${messageOfError(error)}`)
      })
      for (const good of [before!, behind!])
        expect(
          settled?.get(good.id)?.kind === 'delivered',
          `${what}: the message beside it was not delivered, but ${JSON.stringify(settled?.get(good.id))}`,
        )
      const seen = [before!, behind!].filter(({ id }) => !isDigest(settled?.get(id)))
      expectArrived(seen, await bench.received())
    }
  },

  'takes digests and notices of what is over': async (bench) => {
    const sink = await bench.open()
    const route = await bench.route()
    const told = noticeMessages(bench.type, { route })
    const settled = await sink.settle(told.map(({ message }) => message))
    for (const { what, message } of told) {
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
      expect(settled.get(good.id)?.kind === 'delivered', 'the message beside it was not delivered')
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
