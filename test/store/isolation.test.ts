import { expect, test } from 'vitest'
import type { Answer } from '../servers/receiver.ts'
import { waitFor } from '../wait-for.ts'
import { changeSteadily, isOf, named, nameIn, sayMissing, startStage } from './stage-bed.ts'

/** A failing or slow object holds back itself alone, however much it changes. */

const HOT = 'hot'
const HEALTHY = named('healthy', 40)
const CHANGES = 150
/** With `HOT_SECONDS=30` 5 changes of the hot object a second. */
const SECONDS = Number(process.env['HOT_SECONDS'] ?? 10)

const TROUBLES: [string, Answer][] = [
  ['is answered with 500', { status: 500 }],
  ['hangs', { hang: true }],
  ['takes 14 s', { status: 200, delayMs: 14_000 }],
]

test.concurrent.each(TROUBLES)(
  'an object that changes all the time and %s delays no other, and keeps its own order',
  async (_, trouble) => {
    await using it = await startStage()
    it.hook.answer((request) => (nameIn(request) === HOT ? trouble : { status: 200 }))
    const perSecond = CHANGES / SECONDS
    await Promise.all([
      changeSteadily(it.feed, [HOT], { perSecond, seconds: SECONDS }),
      changeSteadily(it.feed, HEALTHY, { perSecond: 2 * perSecond, seconds: SECONDS }),
    ])
    const healthy = () => it.missing('hook', (entry) => !isOf(HOT)(entry))
    await waitFor(() => healthy().length === 0, {
      timeoutMs: 10_000,
      what: () => `the changes of healthy objects; ${sayMissing(healthy(), 2 * CHANGES)}`,
    })
    expect(it.missing('hook', isOf(HOT)).length).toBeGreaterThan(CHANGES / 2)
    it.hook.answer(() => ({ status: 200 }))
    await it.expectAll('hook', 60_000)
  },
)
