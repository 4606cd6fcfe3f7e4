import { expect, test } from 'vitest'
import type { LimitOutcome } from '../../../src/model/limit.ts'
import { createLimits, limitsOf } from '../../../src/rules/limits/limits.ts'
import { eventOf, inShort, limitedOf, limitsIn, openBed, START_MS, type Written } from './bed.ts'

test('throttle sends at most burst in any window, and the next one says how many were suppressed', () => {
  const bed = openBed({ throttle: { every: '10m', burst: 2 } })
  const told = bed.run(
    { at: 0 },
    { at: 300 },
    { at: 400 },
    { at: 599 },
    { at: 600 },
    { at: 601 },
    { at: 899 },
    { at: 900 },
  )
  expect(told).toEqual(['0 web', '300 web', '600 web +2', '900 web +2'])
  expect(bed.deliveries[2]?.suppressed).toEqual({ count: 2, since: '2026-11-21T10:06:40.000Z' })
  expect(bed.counts()).toEqual({ matched: 8, sent: 4, throttle: 4 })
})

test('throttle counts for each object that Events are about, or for what it is told', () => {
  const perPod = openBed({ throttle: { every: '10m' } })
  expect(
    perPod.run(
      { at: 0, reason: 'BackOff', name: 'a' },
      { at: 1, reason: 'BackOff', name: 'b' },
      { at: 2, reason: 'Killing', name: 'a', uid: 'another-event' },
    ),
  ).toEqual(['0 a', '1 b'])
  const perRule = openBed({ throttle: { every: '10m', per: 'rule' } })
  expect(perRule.run({ at: 0, name: 'a' }, { at: 1, name: 'b' })).toEqual(['0 a'])
  const perLabel = openBed({ throttle: { every: '10m', per: ['namespace', 'labels.constructor'] } })
  expect(
    perLabel.run(
      { at: 0, name: 'a' },
      { at: 1, name: 'b', labels: { constructor: 'x' } },
      { at: 2, name: 'c' },
    ),
  ).toEqual(['0 a', '1 b'])
})

test('after sends the event that makes up the number, and counts anew', () => {
  const bed = openBed({ after: { count: 3, within: '10m' } })
  expect(
    bed.run({ at: 0 }, { at: 500 }, { at: 600 }, { at: 601 }, { at: 602 }, { at: 700 }, { at: 701 }),
  ).toEqual(['601 web +2', '701 web +2'])
  expect(bed.counts()).toEqual({ matched: 7, sent: 2, after: 5 })
})

test('throttle behind after says all that was suppressed', () => {
  const bed = openBed({ after: { count: 2, within: '1h' }, throttle: { every: '1m' } })
  const told = bed.run(...[0, 1, 2, 3, 70, 71].map((at) => ({ at })))
  expect(told).toEqual(['1 web +1', '71 web +3'])
  expect(bed.counts()).toEqual({ matched: 6, sent: 2, after: 3, throttle: 1 })
})

test('count sends an Event when its own count reaches or passes one of them', () => {
  const bed = openBed({ count: [1, 10, 100] })
  const event = { reason: 'BackOff', uid: 'e' }
  const counts = [1, 2, 9, 12, 13, 250, 251]
  expect(bed.run(...counts.map((count, at) => ({ ...event, at, count })))).toEqual([
    '0 web',
    '3 web',
    '5 web',
  ])
  expect(bed.run({ ...event, at: 10, count: 251, type: 'DELETED' }).length).toBe(3)
  expect(bed.memory.size).toBe(0)
  const often = openBed({ count: { at: [1], every: 10 } })
  expect(often.run(...[1, 5, 10, 11, 19, 35].map((count, at) => ({ ...event, at, count })))).toEqual([
    '0 web',
    '2 web',
    '5 web',
  ])
})

test('count begins again when an Event recurs after its incident has ended', () => {
  const bed = openBed({
    count: { at: [3], every: 50 },
    throttle: { every: '15m' },
    resolve: { after: '20m' },
  })
  const backOff = (minutes: number, count: number) => ({
    reason: 'BackOff',
    uid: 'e',
    at: minutes * 60,
    count,
  })
  bed.run(backOff(0, 1), backOff(1, 3), backOff(5, 12), backOff(10, 20))
  const sent = bed.run(backOff(50, 21), backOff(51, 22), backOff(52, 23), backOff(53, 24))
  expect(sent).toEqual(['60 web', '1800 web quiet', '3120 web'])
  expect(bed.until(5000).at(-1)).toBe('4380 web quiet')
})

test('count goes on while an incident is open, and where none was sent', () => {
  const event = { reason: 'BackOff', uid: 'e' }
  const rare = openBed({ count: [3], resolve: { after: '20m' } })
  expect(rare.run(...[1, 2, 3].map((count) => ({ ...event, at: count * 1500, count })))).toEqual(['4500 web'])
  const perRule = openBed({ count: [3], resolve: { after: '20m', per: 'rule' } })
  const others = [500, 1000, 1500, 2000].map((at) => ({ reason: 'BackOff', uid: 'f', at, count: 3 }))
  const again = [4, 5, 6].map((count) => ({ ...event, at: 2000 + count, count }))
  expect(perRule.run({ ...event, at: 0, count: 3 }, ...others, ...again)).toEqual(['0 web', '500 web'])
})

test.each<[string, Written, number]>([
  ['for', { for: '1m' }, 60],
  ['resolve: true', { resolve: true }, 0],
])(
  'a state of %s that throttle keeps back is sent when the window ends, if it still lasts',
  (_, rule, lasts) => {
    const bed = openBed({ ...rule, throttle: { every: '15m', per: 'rule' } })
    const sent = bed.run(
      { at: 0, name: 'a' },
      { at: 300, name: 'a', holds: false },
      { at: 400, name: 'brief' },
      { at: 500, name: 'b' },
      { at: 600, name: 'c' },
      { at: 700, name: 'brief', holds: false },
    )
    expect(bed.suppressed.map(({ limit }) => limit)).toEqual(['throttle'])
    bed.until(lasts + 2700)
    expect(sent.filter((it) => !it.endsWith('ended'))).toEqual([
      `${lasts} a`,
      `${lasts + 900} b +1`,
      `${lasts + 1800} c`,
    ])
    expect(bed.counts()).toMatchObject({ matched: 4, sent: 3, throttle: 1 })
    expect(bed.counts().waiting).toBeUndefined()
  },
)

test('after a downtime, states that throttle keeps back still come one after the other', () => {
  const bed = openBed({ for: '1m', throttle: { every: '15m', per: 'rule' } })
  bed.run(...['a', 'b', 'c', 'd', 'e'].map((name, at) => ({ at, name })))
  const sent = (at: number) => bed.memory.expire(START_MS + at * 1000).deliveries.map(inShort)
  // The window of the first ended long ago; that of the second begins now.
  expect([sent(7200), sent(7200), sent(7201), sent(8000)].flat()).toEqual(['a', 'b'])
  expect(bed.until(9001)).toEqual(['8100 c', '9000 d'])
  expect(bed.deliveries.map(({ event }) => event.heldAt)).toEqual(
    [8100, 9000].map((at) => new Date(START_MS + at * 1000).toISOString()),
  )
})

test('a mute window that begins after a state that throttle kept back was due does not keep it back', () => {
  const bed = openBed({
    for: '1m',
    throttle: { every: '15m', per: 'rule' },
    mute: { from: '10:17', to: '11:00' },
  })
  bed.run({ at: 0, name: 'a' }, { at: 1, name: 'b' })
  expect(bed.until(500)).toEqual(['60 a'])
  // It is due at 960; the process is away until 1200, in the window of mute.
  expect(bed.memory.expire(START_MS + 1_200_000).deliveries.map(inShort)).toEqual(['b'])
})

test('of states that wait for the same end of a window, the oldest is sent first', () => {
  const bed = openBed({ for: '1m', throttle: { every: '15m', per: 'rule' } })
  const sent = bed.run(
    { at: 0, name: 'first' },
    { at: 10, name: 'zz-oldest' },
    { at: 800, name: 'a1' },
    { at: 1700, name: 'a2' },
  )
  expect(bed.until(2800)).toBe(sent)
  expect(sent).toEqual(['60 first', '960 zz-oldest', '1860 a1', '2760 a2'])
})

test('after counts a state that throttle keeps back once, and its newest event is sent', () => {
  const bed = openBed({
    ...{
      for: '10s',
      after: { count: 2, within: '1m', per: 'rule' },
      throttle: { every: '10m', per: 'rule' },
    },
  })
  const sent = bed.run(
    ...['a', 'b', 'c', 'd'].map((name, at) => ({ at, name })),
    { at: 60, name: 'd', id: 'newest' },
    { at: 300, name: 'e' },
  )
  expect(bed.until(5000)).toBe(sent)
  expect(sent).toEqual(['11 b +1', '611 d +1'])
  expect(bed.deliveries[1]?.event.id).toBe('newest/held/r')
  expect(bed.counts()).toMatchObject({ sent: 2, after: 3 })
})

test('an event that was found after a time in which nothing was read does not end the incident', () => {
  const bed = openBed({ throttle: { every: '6h' }, resolve: { after: '20m' } })
  const event = { reason: 'BackOff', uid: 'e' }
  bed.memory.apply([limitedOf({ ...event, at: 0 })], START_MS)
  // No timer fires while no process runs.
  const late = (at: number, how: object) =>
    bed.memory
      .apply([limitedOf({ ...event, at, ...how })], START_MS + at * 1000)
      .deliveries.map((it) => inShort(it))
  expect(late(1500, { isCatchUp: true })).toEqual([])
  expect(late(3000, { synthesized: true })).toEqual([])
  expect(late(4200, {})).toEqual(['web quiet', 'web'])
})

test('sample decides by the id alone', () => {
  const bed = openBed({ sample: 0.25 })
  bed.run(...Array.from({ length: 400 }, (_, at) => ({ at, id: `c/u/${at}/ADDED` })))
  const { sent = 0, sample } = bed.counts()
  expect(sent).toBeGreaterThan(60)
  expect(sent).toBeLessThan(140)
  expect(sample).toBe(400 - sent)
  const again = openBed({ sample: 0.25 })
  again.run(...Array.from({ length: 400 }, (_, at) => ({ at, id: `c/u/${at}/ADDED` })))
  expect(again.deliveries.map(({ event }) => event.id)).toEqual(bed.deliveries.map(({ event }) => event.id))
})

test('mute says nothing inside its window', () => {
  const bed = openBed({ mute: { from: '12:00', to: '13:00', timezone: 'Europe/Berlin' } })
  expect(bed.run({ at: 0 }, { at: 3599 }, { at: 3600 }, { at: 7199 }, { at: 7200 })).toEqual([
    '0 web',
    '3599 web',
    '7200 web',
  ])
  expect(bed.counts()).toEqual({ matched: 5, sent: 3, mute: 2 })
})

test('group tells the first ones after wait, those that follow when the interval is over', () => {
  const bed = openBed({ group: { by: 'namespace', wait: '30s', interval: '5m' } })
  const told = bed.run(
    { at: 0, name: 'a' },
    { at: 10, name: 'b' },
    { at: 40, name: 'c' },
    { at: 329, name: 'd' },
    { at: 331, name: 'e' },
    { at: 5000, name: 'f' },
  )
  expect(bed.until(9000)).toBe(told)
  expect(told).toEqual(['30 digest of 2', '330 digest of 2', '630 e', '5030 f'])
  expect(bed.counts()).toEqual({ matched: 6, digested: 4, sent: 2, notices: 2 })
  const { event, notice } = bed.deliveries[0]!
  expect(event).toMatchObject({ name: 'a', id: expect.stringMatching(/^c\/u-a\/\d+\/MODIFIED\/digest\/r$/) })
  expect(notice).toMatchObject({
    kind: 'digest',
    by: [['namespace', 'shop']],
    from: '2026-11-21T10:00:00.000Z',
    to: '2026-11-21T10:00:10.000Z',
    items: [{ name: 'a' }, { name: 'b' }],
  })
  expect(bed.deliveries[2]?.event.id).not.toContain('digest')
})

test('a group that is full is told at once', () => {
  const bed = openBed({ group: { by: 'rule', max: 3 } })
  expect(bed.run(...Array.from({ length: 7 }, (_, at) => ({ at })))).toEqual([
    '2 digest of 3',
    '5 digest of 3',
  ])
  expect(bed.until(1000)).toEqual(['2 digest of 3', '5 digest of 3', '305 web'])
})

test('wait: 0s tells the first one at once', () => {
  const bed = openBed({ group: { by: 'rule', wait: '0s' } })
  bed.run({ at: 0 }, { at: 0 }, { at: 1 })
  expect(bed.until(300)).toEqual(['0 web', '300 digest of 2'])
})

test('Events are grouped by namespace and reason, unless the rule says otherwise', () => {
  const bed = openBed({ group: {} })
  bed.run(
    { at: 0, reason: 'BackOff', name: 'a' },
    { at: 1, reason: 'BackOff', name: 'b' },
    { at: 2, reason: 'Failed', name: 'c' },
    { at: 3, reason: 'BackOff', name: 'd', namespace: 'pay' },
  )
  expect(bed.until(60)).toEqual(['30 digest of 2', '32 c', '33 d'])
  expect(bed.deliveries[0]?.notice).toMatchObject({
    by: [
      ['namespace', 'shop'],
      ['reason', 'BackOff'],
    ],
    items: [
      { reason: 'BackOff', eventType: 'Warning', regarding: { kind: 'Pod', name: 'a' } },
      { name: 'b' },
    ],
  })
})

test('what a sink does not get stands in no digest for it', () => {
  const bed = openBed({ group: { by: 'rule' } })
  bed.run({ at: 0, sinks: ['s', 't'] }, { at: 1, sinks: ['s'] }, { at: 2, sinks: ['t', 's'] })
  expect(bed.until(60)).toEqual(['30 digest of 2', '30 t: digest of 2', '31 web'])
  expect(bed.counts()).toEqual({ matched: 3, digested: 2, sent: 1, notices: 1 })
})

test('what rules above have sent to all of its sinks is no match for the limits of a rule', () => {
  const bed = openBed({ throttle: { every: '10m' } })
  expect(bed.run({ at: 0, sinks: [] }, { at: 1 })).toEqual(['1 web'])
  expect(bed.counts()).toEqual({ matched: 1, sent: 1 })
})

test('for tells what has held for so long, with its newest event', () => {
  const bed = openBed({ for: '2m' })
  bed.run({ at: 0, id: 'first' }, { at: 60, id: 'second' }, { at: 110, id: 'third', entered: false })
  expect(bed.counts()).toEqual({ matched: 2, waiting: 1, for: 1 })
  expect(bed.until(119)).toEqual([])
  expect(bed.until(120)).toEqual(['120 web'])
  // Another rule may have sent that event to the same sink.
  expect(bed.deliveries[0]?.event.id).toBe('third/held/r')
  expect(bed.deliveries[0]?.objectJson.toString()).toContain('110')
  bed.run({ at: 130 }, { at: 140, holds: false }, { at: 150 }, { at: 200, holds: false })
  expect(bed.until(900)).toEqual(['120 web'])
  expect(bed.counts()).toEqual({ matched: 4, sent: 1, for: 3 })
  expect(bed.memory.size).toBe(0)
})

test('what leaves, or is deleted, before it has lasted is not told', () => {
  const bed = openBed({ for: '2m', resolve: true })
  bed.run({ at: 0, name: 'a' }, { at: 0, name: 'b' }, { at: 100, name: 'a', holds: false })
  bed.run({ at: 100, name: 'b', type: 'DELETED' })
  expect(bed.until(900)).toEqual([])
  expect(bed.counts()).toEqual({ matched: 3, for: 3 })
})

test('resolve: true tells when it holds no longer, and that an object is deleted', () => {
  const bed = openBed({ resolve: true })
  expect(
    bed.run(
      { at: 0, name: 'a' },
      { at: 5, name: 'a' },
      { at: 10, name: 'a', holds: false, id: 'end' },
      { at: 11, name: 'a', holds: false },
      { at: 20, name: 'b' },
      { at: 30, name: 'b', type: 'DELETED', holds: false },
      { at: 40, name: 'c', type: 'DELETED' },
    ),
  ).toEqual(['0 a', '10 a ended', '20 b', '30 b deleted'])
  expect(bed.deliveries[1]).toMatchObject({
    event: { id: 'end/resolved/r' },
    notice: {
      kind: 'resolved',
      since: '2026-11-21T10:00:00.000Z',
      at: '2026-11-21T10:00:10.000Z',
      why: 'ended',
    },
  })
  expect(bed.counts()).toEqual({ matched: 4, sent: 2, resolve: 2, notices: 2 })
  expect(bed.memory.size).toBe(0)
})

test('a notice that it is over has the title of what was told, not of what ended it', () => {
  const pod = (phase: string) => ({ metadata: { name: 'web' }, status: { phase } })
  const told = openBed({ for: '1m', resolve: true })
  told.run({ at: 0, object: pod('Failed') }, { at: 90, holds: false, object: pod('Running') })
  expect(told.deliveries.map(({ notice }) => notice)).toEqual([
    undefined,
    expect.objectContaining({ title: expect.stringMatching(/web failed/) }),
  ])
  const quiet = openBed({ resolve: { after: '15m' } })
  quiet.run({ at: 0, reason: 'BackOff' })
  quiet.until(9000)
  expect(quiet.deliveries[1]?.notice).toMatchObject({ title: 'Pod shop/web is crash-looping' })
})

test('an object that cannot be parsed does not stop the limits: its incident is told and ends', () => {
  const { memory } = openBed({ resolve: true })
  const { event, matches } = limitedOf({ at: 0 })
  const broken = Object.create(event, { objectJson: { value: Buffer.from('{"metadata":') } })
  expect(memory.apply([{ event: broken, matches }], START_MS).deliveries).toHaveLength(1)
  const ended = memory.apply([limitedOf({ at: 9, holds: false })], START_MS + 9_000).deliveries
  expect(ended.map(inShort)).toEqual(['web ended'])
})

test('a notice that it is over goes to those who were told, and to nobody who was not', () => {
  const bed = openBed({ resolve: true, throttle: { every: '10m', per: 'rule' } })
  expect(
    bed.run(
      { at: 0, name: 'a', sinks: ['s', 't'] },
      { at: 1, name: 'b' },
      { at: 10, name: 'a', holds: false },
      { at: 11, name: 'b', holds: false },
    ),
  ).toEqual(['0 a', '0 t: a', '10 a ended', '10 t: a ended'])
  expect(bed.counts()).toEqual({ matched: 2, sent: 1, throttle: 1, notices: 1 })
})

test('a notice that it is over never comes before the digest that told of it', () => {
  const bed = openBed({ resolve: true, group: { by: 'rule' } })
  bed.run(
    { at: 0, name: 'a' },
    { at: 1, name: 'b' },
    { at: 2, name: 'a', holds: false },
    { at: 3, name: 'b', holds: false },
    { at: 4, name: 'b' },
  )
  expect(bed.until(29)).toEqual([])
  expect(bed.until(60)).toEqual(['30 digest of 2', '31 a ended'])
  bed.run({ at: 61, name: 'b', type: 'DELETED', holds: false })
  expect(bed.until(999)).toEqual(['30 digest of 2', '31 a ended', '61 b deleted'])
  expect(bed.counts()).toEqual({ matched: 3, digested: 2, resolve: 1, notices: 3 })
})

test('the digest comes first, too, where the timer of the object has its turn before that of the group', () => {
  const limits = createLimits([
    { name: 'r', ...limitsIn({ resolve: true, group: { by: 'rule', wait: '30s', interval: '60s' } }) },
  ])
  const kept = { shared: new Map<string, string>(), own: new Map<string, string>() }
  const states = {
    shared: (key: string) => kept.shared.get(key),
    own: (key: string) => kept.own.get(key),
  }
  const note = ({ deliveries, writes }: LimitOutcome) => {
    for (const scope of ['shared', 'own'] as const)
      for (const [key, state] of writes[scope]) {
        if (state) kept[scope].set(key, state.text)
        else kept[scope].delete(key)
      }
    return deliveries.map(inShort)
  }
  const at = (seconds: number) => START_MS + seconds * 1000
  for (const it of [
    { at: 0, name: 'a' },
    { at: 1, name: 'b' },
    { at: 2, name: 'a', holds: false },
  ])
    expect(note(limits.apply([limitedOf(it)], states, at(it.at)))).toEqual([])
  const own = { shared: [], own: ['u-a:r'] }
  expect(note(limits.expire(own, states, at(31)))).toEqual(['digest of 2', 'a ended'])
  const shared = { shared: [...kept.shared.keys()], own: [] }
  expect(note(limits.expire(shared, states, at(32)))).toEqual([])
})

test('what a rule follows and mute keeps quiet is told when the window ends, if it still holds', () => {
  // Until 11:00.
  const bed = openBed({ for: '2m', resolve: true, mute: { from: '10:01', to: '11:00' } })
  bed.run({ at: 0, name: 'a' }, { at: 0, name: 'b' }, { at: 600, name: 'b', holds: false })
  expect(bed.until(3599)).toEqual([])
  expect(bed.counts()).toEqual({ matched: 2, waiting: 1, mute: 1 })
  expect(bed.until(3600)).toEqual(['3600 a'])
  bed.run({ at: 86_400 + 120, name: 'a', holds: false })
  expect(bed.until(90_000)).toEqual(['3600 a', '86520 a ended'])
})

test('what lasts is then subject to after, throttle and group', () => {
  const bed = openBed({ for: '1m', group: { by: 'rule', wait: '10s' } })
  bed.run({ at: 0, name: 'a' }, { at: 5, name: 'b' }, { at: 30, name: 'c' })
  expect(bed.until(80)).toEqual(['70 digest of 2'])
  const quiet = openBed({ for: '1m', throttle: { every: '10m', per: 'rule' } })
  quiet.run({ at: 0, name: 'a' }, { at: 5, name: 'b' })
  expect(quiet.until(659)).toEqual(['60 a'])
  expect(quiet.counts()).toEqual({ matched: 2, sent: 1, waiting: 1 })
  expect(quiet.until(660)).toEqual(['60 a', '660 b'])
})

test('resolve: {after} tells once that nothing came for so long after something was told', () => {
  const bed = openBed({ throttle: { every: '5m' }, resolve: { after: '15m' } })
  bed.run({ at: 0, reason: 'BackOff' }, { at: 60, reason: 'BackOff' }, { at: 800, reason: 'BackOff' })
  expect(bed.until(1699)).toEqual(['0 web', '800 web +1'])
  expect(bed.until(9000)).toEqual(['0 web', '800 web +1', '1700 web quiet'])
  expect(bed.deliveries[2]).toMatchObject({
    event: { id: expect.stringMatching(/\/resolved\/r$/) },
    notice: { since: '2026-11-21T10:00:00.000Z', at: '2026-11-21T10:28:20.000Z', why: 'quiet' },
  })
  expect(bed.counts()).toEqual({ matched: 3, sent: 2, throttle: 1, notices: 1 })
})

test('an incident after the resolve notification is sent, however long its throttle still lasts', () => {
  const again = [0, 60, 3000].map((at) => ({ at, reason: 'BackOff' }))
  const bed = openBed({ throttle: { every: '6h' }, resolve: { after: '15m' } })
  bed.run(...again)
  expect(bed.until(2000)).toEqual(['0 web', '960 web quiet', '3000 web'])
  expect(bed.until(9000)).toEqual(['0 web', '960 web quiet', '3000 web', '3900 web quiet'])
  expect(bed.counts()).toEqual({ matched: 3, sent: 2, throttle: 1, notices: 2 })
})

test('a throttle of another group key than that of the incidents goes on after their end', () => {
  const bed = openBed({ throttle: { every: '6h', per: 'rule' }, resolve: { after: '15m' } })
  bed.run({ at: 0, reason: 'BackOff' }, { at: 3000, reason: 'BackOff' })
  expect(bed.until(9000)).toEqual(['0 web', '900 web quiet'])
})

test('what limits suppressed is not told to be over', () => {
  const bed = openBed({ after: { count: 3, within: '1h' }, resolve: { after: '15m' } })
  bed.run({ at: 0, reason: 'BackOff' }, { at: 1, reason: 'BackOff' })
  expect(bed.until(9000)).toEqual([])
})

test('limits are asked in their order: what one suppresses the next does not count', () => {
  const bed = openBed({ count: [2], after: { count: 2, within: '1h' } })
  expect(
    bed.run(
      ...['a', 'b', 'a', 'b'].map((uid, at) => ({ at, uid, reason: 'BackOff', count: at < 2 ? 1 : 2 })),
    ),
  ).toEqual(['3 web +1'])
  expect(bed.counts()).toEqual({ matched: 4, sent: 1, count: 2, after: 1 })
})

test('events of one call see what those before them did', () => {
  const limits = createLimits([{ name: 'r', ...limitsIn({ throttle: { every: '1m' } }) }])
  const outcome = limits.apply(
    [limitedOf({ at: 0 }), limitedOf({ at: 0 }), limitedOf({ at: 61 })],
    { shared: () => undefined, own: () => undefined },
    START_MS + 100_000,
  )
  expect(outcome.emitted).toEqual([true, false, true])
  expect(outcome.deliveries.map(({ suppressed }) => suppressed?.count)).toEqual([undefined, 1])
  expect(outcome.writes.shared.size).toBe(1)
})

test('all that is read is named before', () => {
  const rule = {
    name: 'r',
    ...limitsIn({
      count: [1],
      after: { count: 2, within: '1m' },
      throttle: { every: '1m' },
      group: {},
      resolve: { after: '10m' },
    }),
  }
  const limits = createLimits([rule])
  const events = [
    limitedOf({ at: 0, reason: 'x', uid: 'e' }),
    limitedOf({ at: 0, reason: 'x', uid: 'e', count: 2 }),
  ]
  const keys = limits.keysOf(events)
  expect(keys.own).toEqual(['e:r'])
  expect(keys.shared).toHaveLength(4)
  const asked = new Set<string>()
  const note = (key: string) => void asked.add(key)
  limits.apply(events, { shared: note, own: note }, START_MS)
  expect(asked.size).toBeGreaterThan(0)
  for (const key of asked) expect([...keys.own, ...keys.shared]).toContain(key)
})

test('a rule without limits has none', () => {
  const kind = (written: Parameters<typeof limitsIn>[0]) => limitsOf({ name: 'r', ...limitsIn(written) })
  expect(kind({})).toBeUndefined()
  expect(kind({ resolve: false })).toBeUndefined()
  expect(kind({ group: {} })).toBe('events')
  expect(kind({ resolve: { after: '1m' } })).toBe('events')
  expect(kind({ resolve: true })).toBe('states')
  expect(kind({ for: '1m', throttle: { every: '1m' } })).toBe('states')
  expect(limitsOf({ name: 'r', condition: { for: 60_000 } })).toBe('states')
  const bed = createLimits([{ name: 'r', condition: { for: 60_000 } }])
  expect(bed.keysOf([{ event: eventOf({ at: 0, uid: 'u' }), matches: [] }]).own).toEqual([])
  expect(bed.keysOf([limitedOf({ at: 0, uid: 'u', holds: false })]).own).toEqual(['u:r'])
})

test('what rules above have sent is not told once more when it has lasted', () => {
  const bed = openBed({ for: '2m' })
  bed.run({ at: 0, id: 'first' }, { at: 60, id: 'second', sinks: [] })
  bed.until(120)
  expect(bed.deliveries.map(({ event }) => event.id)).toEqual(['first/held/r'])
})

test('what goes on for months is told to be over, if it is heard of meanwhile', () => {
  const DAY = 86_400
  const bed = openBed({ resolve: true })
  bed.run({ at: 0 }, { at: 60 * DAY, entered: false }, { at: 120 * DAY, holds: false })
  expect(bed.deliveries.map(({ notice }) => notice?.kind)).toEqual([undefined, 'resolved'])
})

test('mute asks when it happened, not when it is decided', () => {
  const limits = createLimits([{ name: 'r', ...limitsIn({ mute: { from: '10:20', to: '11:00' } }) }])
  const nothing = { shared: () => undefined, own: () => undefined }
  expect(limits.apply([limitedOf({ at: 0 })], nothing, START_MS + 1_800_000).emitted).toEqual([true])
})

test('a match that is suppressed puts off what would be over', () => {
  const bed = openBed({ throttle: { every: '5m' }, resolve: { after: '15m' } })
  bed.run({ at: 0, reason: 'BackOff' }, { at: 200, reason: 'BackOff' })
  expect(bed.until(9000)).toEqual(['0 web', '1100 web quiet'])
})
