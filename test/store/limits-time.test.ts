import { expect, test } from 'vitest'
import type { Source } from '../../src/model/change.ts'
import { limitsIn, START_MS, type Written } from '../rules/limits/bed.ts'
import { SOURCE } from './objects.ts'
import { startRealLimits } from './real-limits-bed.ts'
import { never } from './store-bed.ts'

const OTHER: Source = { ...SOURCE, key: 'others', title: 'others' }
const MINUTE_MS = 60_000
const THROTTLED = [{ name: 'r', ...limitsIn({ throttle: { per: 'rule', every: '10m' } }) }]

test('a commit that comes late, behind those of another process, does not turn the clock of a limit back', async () => {
  await using it = await startRealLimits(THROTTLED)
  const [late, other] = [await it.watch(), await it.watch(OTHER)]
  const held = it.proxy.hold('exec')
  const commit = late.happen({ at: 0 })
  await held.seen
  it.clock.ms = START_MS + 9 * MINUTE_MS
  await other.happen({ at: 9 * 60, id: 'told' })
  held.release()
  await commit
  it.clock.ms = START_MS + 11 * MINUTE_MS
  await other.happen({ at: 11 * 60 })
  expect((await it.deliveries()).map(({ event }) => event.id)).toEqual(['told'])
  expect((await it.ledger()).rules['r']).toMatchObject({ matched: 3, sent: 1, suppressed: { throttle: 2 } })
})

test('a commit that was frozen before it read a limit decides as of when it read it', async () => {
  await using it = await startRealLimits(THROTTLED)
  const [late, other] = [await it.watch(), await it.watch(OTHER)]
  const held = it.proxy.hold(it.keys.limit('r:'))
  const commit = late.happen({ at: 0 })
  await held.seen
  it.clock.ms = START_MS + 9 * MINUTE_MS
  await other.happen({ at: 9 * 60, id: 'told' })
  held.release()
  await commit
  it.clock.ms = START_MS + 11 * MINUTE_MS
  await other.happen({ at: 11 * 60 })
  expect((await it.deliveries()).map(({ event }) => event.id)).toEqual(['told'])
})

test('a timer that was frozen before it read what was due tells of no end that was put off meanwhile', async () => {
  await using it = await startRealLimits([{ name: 'r', ...limitsIn({ resolve: { after: '5m' } }) }])
  const watch = await it.watch()
  await watch.happen({ at: 0, id: 'first' })
  it.clock.ms = START_MS + 5 * MINUTE_MS
  const held = it.proxy.hold(it.keys.limit('r:'))
  const firing = it.fire()
  await held.seen
  it.clock.ms = START_MS + 9 * MINUTE_MS
  await watch.happen({ at: 9 * 60, id: 'second' })
  held.release()
  await firing
  const told = async () => (await it.deliveries()).map(({ event }) => event.id)
  it.clock.ms = START_MS + 13 * MINUTE_MS
  await it.fire()
  expect(await told()).toEqual(['first', 'first/resolved/r', 'second'])
  it.clock.ms = START_MS + 14 * MINUTE_MS
  await it.fire()
  expect(await told()).toEqual(['first', 'first/resolved/r', 'second', 'second/resolved/r'])
})

test.each<[string, Written, Written]>([
  ['without mute', { for: '1m', mute: { from: '09:00', to: '19:00' } }, { for: '1m' }],
  ['with a shorter for', { for: '10h' }, { for: '1m' }],
  ['with a shorter quiet', { debounce: { quiet: '10h' } }, { debounce: { quiet: '1m' } }],
  [
    'with debounce, without mute',
    { debounce: { quiet: '1m' }, mute: { from: '09:00', to: '19:00' } },
    { debounce: { quiet: '1m' } },
  ],
])('an event that waits is sent within 5 minutes after a reload %s', async (_, before, after) => {
  await using it = await startRealLimits([{ name: 'r', ...limitsIn(before) }])
  const { session, happen } = await it.watch()
  const pass = async (minutes: number) => {
    it.clock.ms += minutes * MINUTE_MS
    if ((session.dueMs ?? Number.POSITIVE_INFINITY) <= it.clock.ms) await session.expire(never)
    await it.fire()
  }
  await happen({ at: 0, id: 'waits' })
  for (const _ of Array(5)) await pass(5)
  expect(await it.deliveries()).toEqual([])
  it.reload([{ name: 'r', ...limitsIn(after) }])
  await pass(5)
  expect((await it.deliveries()).map(({ event }) => event.id.split('/')[0])).toEqual(['waits'])
  expect((await it.ledger()).rules['r']).toMatchObject({ matched: 1, sent: 1, waiting: 0 })
})

test.each([
  ['1h', [5, 59], 60],
  ['310s', [5], 310 / 60],
])('a digest that waits for %s is sent at its time', async (wait, before, due) => {
  await using it = await startRealLimits([{ name: 'r', ...limitsIn({ group: { by: 'rule', wait } }) }])
  await (await it.watch()).happen({ at: 0 })
  const sentAfter = async (minutes: number) => {
    it.clock.ms = START_MS + minutes * MINUTE_MS
    while (await it.fire());
    return (await it.deliveries()).length
  }
  for (const minutes of before) expect(await sentAfter(minutes)).toBe(0)
  expect(await sentAfter(due)).toBe(1)
})

test('an incident whose source cannot be read ends when that is read, and not with what happened meanwhile', async () => {
  await using it = await startRealLimits([{ name: 'r', ...limitsIn({ resolve: { after: '5m' } }) }])
  const [away, other] = [await it.watch(), await it.watch(OTHER)]
  const sent = async () => (await it.deliveries()).map(({ event }) => event.id)
  await away.happen({ at: 0, id: 'away' })
  await other.happen({ at: 0, id: 'other', name: 'db' })
  const unread = (source: string) => source === SOURCE.key
  it.clock.ms = START_MS + 5 * MINUTE_MS
  await it.fire(undefined, unread)
  expect(await sent()).toEqual(['away', 'other', 'other/resolved/r'])
  it.clock.ms = START_MS + 20 * MINUTE_MS
  await it.fire(undefined, unread)
  await away.happen({ at: 20 * 60, id: 'found', isCatchUp: true })
  await it.fire()
  expect(await sent()).toEqual(['away', 'other', 'other/resolved/r', 'found'])
  it.clock.ms = START_MS + 25 * MINUTE_MS
  await it.fire()
  expect((await sent()).at(-1)).toBe('found/resolved/r')
})

test.each([
  ['an event', {}],
  ['an event that waited for debounce', { debounce: { quiet: '10s' } }],
])(
  'an incident whose source cannot be read for a day ends as one that is not watched: %s',
  async (_, more) => {
    await using it = await startRealLimits([
      { name: 'r', ...limitsIn({ ...more, resolve: { after: '5m' } }) },
    ])
    const away = await it.watch()
    const ends = async () =>
      (await it.deliveries()).flatMap(({ notice }) => (notice?.kind === 'resolved' ? [notice.why] : []))
    await away.happen({ at: 0, id: 'away' })
    const unread = (source: string) => source === SOURCE.key
    for (const minutes of [1, 10, 24 * 60]) {
      it.clock.ms = START_MS + minutes * MINUTE_MS
      await it.fire(undefined, unread)
    }
    expect(await it.deliveries()).toHaveLength(1)
    it.clock.ms = START_MS + (24 * 60 + 10) * MINUTE_MS
    await it.fire(undefined, unread)
    expect(await ends()).toEqual(['unwatched'])
  },
)
