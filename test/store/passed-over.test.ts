import { expect, test } from 'vitest'
import { FailingNamespaces } from '../../src/store/lanes/failing-namespaces.ts'
import type { Item } from '../../src/store/lanes/lane-entries.ts'
import { PassedOver } from '../../src/store/lanes/passed-over.ts'

const clock = { nowMs: 0, now: () => clock.nowMs }

function bed() {
  clock.nowMs = 1_000
  const failing = new FailingNamespaces(clock)
  failing.failed('noisy')
  return { failing, passedOver: new PassedOver() }
}

/** A delivery about an object of a namespace. */
function plain(namespace: string, name = 'web'): Item {
  return { chain: `Pod/${namespace}/${name}`, delivery: { event: { namespace } } } as Item
}

/** A delivery of a group, whose newest event is of a namespace. */
function grouped(namespace: string, group: string): Item {
  return { chain: group, delivery: { order: group, event: { namespace } } } as Item
}

test('behind a failing namespace, objects and groups of others are taken, those of it are not', () => {
  const { failing, passedOver } = bed()
  passedOver.add([plain('noisy')], failing, clock.now())
  const taken = [plain('shop'), grouped('shop', 'a'), plain('noisy', 'other'), grouped('noisy', 'b')]
  expect(taken.map((it) => passedOver.takes(it, failing))).toEqual([true, true, false, false])
})

test('a group that was passed over holds up later deliveries of it, whatever their namespace, and no objects', () => {
  const { failing, passedOver } = bed()
  passedOver.add([grouped('noisy', 'all')], failing, clock.now())
  const taken = [grouped('shop', 'all'), grouped('shop', 'other'), plain('shop')]
  expect(taken.map((it) => passedOver.takes(it, failing))).toEqual([false, true, true])
})

test('an object that was passed over is not overtaken once its namespace does not fail any more', () => {
  const { failing, passedOver } = bed()
  passedOver.add([plain('noisy')], failing, clock.now())
  failing.passed('noisy')
  expect(passedOver.takes(plain('noisy'), failing)).toBe(false)
})

test('deliveries are looked for again when their namespace does not fail any more, or a minute later if it did not', () => {
  const { failing, passedOver } = bed()
  passedOver.add([plain('noisy'), plain('shop'), grouped('payments', 'all')], failing, clock.now())
  const tried = () => passedOver.mayBeTried(failing, clock.now())
  expect(tried()).toEqual([])
  clock.nowMs += 500
  expect(tried()).toEqual(['noisy'])
  clock.nowMs += 60_000
  expect(tried()).toEqual(['noisy', 'shop', 'payments'])
})
