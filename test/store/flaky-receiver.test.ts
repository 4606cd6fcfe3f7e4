import { expect, test } from 'vitest'
import { seeded } from '../seeded-random.ts'
import type { Answer } from '../servers/receiver.ts'
import { waitFor } from '../wait-for.ts'
import { changeSteadily, named, sayMissing, startStage } from './stage-bed.ts'

/** A receiver that fails half of the time, such as one with a broken backend of two, gets everything, and soon. */

const OBJECTS = named('object', 100)
const PER_SECOND = 100
const SECONDS = 3
const CHANGES = PER_SECOND * SECONDS
/** Of what a receiver without faults has by then; each delivery to the flaky one takes two attempts on average. */
const LEAST_SHARE = 1 / 3
const ROUNDS = 3

const FAULTS: [string, Answer][] = [
  ['500', { status: 500 }],
  ['503', { status: 503 }],
  ['429', { status: 429 }],
  ['a reset', { reset: true }],
]

test.each(FAULTS)(
  'a receiver that answers half of all requests with %s gets everything, at a good share of the rate without faults',
  async (_, fault) => {
    await using it = await startStage({ sinks: ['steady', 'flaky'] })
    const random = seeded(1)
    it.hook.answer(({ path }) => (path.endsWith('/flaky') && random() < 0.5 ? fault : { status: 200 }))
    let share = 0
    // Other work on the machine can take its time from one of both: then there is another round.
    for (let round = 0; round < ROUNDS && share <= LEAST_SHARE; round++) {
      const before = it.arrivals('flaky').length
      await changeSteadily(it.feed, OBJECTS, { perSecond: PER_SECOND, seconds: SECONDS })
      await waitFor(() => it.missing('steady').length === 0, {
        what: () => `the receiver without faults; ${sayMissing(it.missing('steady'), CHANGES)}`,
      })
      share = (it.arrivals('flaky').length - before) / CHANGES
      console.log(`when the steady receiver had all, the flaky one had ${Math.round(share * 100)} %`)
      await it.expectAll('flaky', 60_000)
    }
    expect(share).toBeGreaterThan(LEAST_SHARE)
    await it.expectAll('steady', 1_000)
  },
)
