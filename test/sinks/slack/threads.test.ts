import { expect, test } from 'vitest'
import { type Item, unitsOf } from '../../../sinks/slack/deliver.ts'
import { memoryStore } from '../../../src/sink/testkit/index.ts'
import { startSlack } from '../../servers/slack.ts'
import { waitFor } from '../../wait-for.ts'
import { deliverAll, never, openSlack, routeOf, tellOf } from './bed.ts'

const FAST = { rate: 50 }
const quick = () => startSlack({ perSecond: 1_000, burst: 1_000 })

const trouble = (version: string, more: object = {}) =>
  tellOf({ version, summary: { severity: 'error', title: `trouble ${version}` }, ...more })
const solved = (version: string) =>
  tellOf({ version, summary: { severity: 'resolved', title: 'all is well' } })

test('the first change opens a thread, those after it reply, and the first message shows the newest state', async () => {
  await using fake = await quick()
  fake.channel('shop')
  const sink = await openSlack(fake, FAST)
  const outcomes = await deliverAll(sink, [trouble('1'), trouble('2'), trouble('3')])
  expect(outcomes).toEqual([{ kind: 'delivered' }, { kind: 'delivered' }, { kind: 'delivered' }])
  const [root] = fake.messages
  expect(fake.repliesTo(root!.ts).map((it) => it.text)).toEqual([
    expect.stringContaining('trouble 2'),
    expect.stringContaining('trouble 3'),
  ])
  await sink.close()
  expect(root?.updates).toBe(1)
  expect(root?.text).toContain('trouble 3')
  expect(JSON.stringify(root?.attachments)).toContain('began')
  expect(JSON.stringify(root?.attachments)).toContain('trouble 1')
})

test('an Event lands in the thread of the object it is about', async () => {
  await using fake = await quick()
  fake.channel('shop')
  await using sink = await openSlack(fake, FAST)
  const event = tellOf({
    name: 'web.17a',
    event: { kind: 'Event' },
    kubeEvent: { reason: 'BackOff' },
    summary: { about: { kind: 'Pod', namespace: 'shop', name: 'web' } },
  })
  await deliverAll(sink, [trouble('1'), event])
  expect(fake.repliesTo(fake.messages[0]!.ts)).toHaveLength(1)
})

test('what is resolved turns the first message green, and the next trouble opens a new thread', async () => {
  await using fake = await quick()
  fake.channel('shop')
  await using sink = await openSlack(fake, FAST)
  await deliverAll(sink, [trouble('1'), solved('2'), trouble('3')])
  const roots = fake.messages.filter((it) => it.threadTs === undefined)
  expect(roots).toHaveLength(2)
  expect(roots[0]?.text).toMatch(/^✅/)
  expect(roots[0]?.attachments[0].color).toBe('#2EB67D')
  expect(roots[1]?.text).toContain('trouble 3')
})

test('a deleted object ends its thread; an Event that expires does not', async () => {
  await using fake = await quick()
  fake.channel('shop')
  await using sink = await openSlack(fake, FAST)
  const expired = trouble('2', {
    type: 'DELETED',
    event: { kind: 'Event' },
    kubeEvent: { reason: 'BackOff' },
  })
  const deleted = trouble('3', { type: 'DELETED' })
  await deliverAll(sink, [trouble('1'), expired])
  expect(fake.messages[0]?.text).toMatch(/^🔴/)
  await sink.deliver([deleted], never)
  expect(fake.messages[0]?.text).toMatch(/^✅/)
  await sink.deliver([trouble('4')], never)
  expect(fake.messages.filter((it) => it.threadTs === undefined)).toHaveLength(2)
})

test('what is over before anything was told is told alone and opens no thread', async () => {
  await using fake = await quick()
  fake.channel('shop')
  await using sink = await openSlack(fake, FAST)
  await deliverAll(sink, [solved('1'), trouble('2')])
  expect(fake.messages.map((it) => it.threadTs)).toEqual([undefined, undefined])
})

test('a new process goes on with the thread', async () => {
  await using fake = await quick()
  fake.channel('shop')
  const store = memoryStore()
  const first = await openSlack(fake, FAST, { store })
  await first.deliver([trouble('1')], never)
  await first.close()
  await using second = await openSlack(fake, FAST, { store })
  await second.deliver([trouble('2')], never)
  expect(fake.repliesTo(fake.messages[0]!.ts)).toHaveLength(1)
})

test('two processes open one thread', async () => {
  await using fake = await quick()
  fake.channel('shop')
  const store = memoryStore()
  await using one = await openSlack(fake, FAST, { store })
  await using two = await openSlack(fake, FAST, { store })
  fake.fault({ method: 'chat.postMessage', delayMs: 80 })
  await Promise.all([deliverAll(one, [trouble('1')]), deliverAll(two, [trouble('2')])])
  expect(fake.messages.filter((it) => it.threadTs === undefined)).toHaveLength(1)
  expect(fake.messages).toHaveLength(2)
})

test('a process that died while it opened a thread holds others up for a while only', async () => {
  await using fake = await quick()
  fake.channel('shop')
  const store = memoryStore()
  const locked = { ...store, add: async () => false }
  await using stuck = await openSlack(fake, FAST, { store: locked })
  const [outcome] = await stuck.deliver([trouble('1')], never)
  expect(outcome).toEqual({ kind: 'later', afterMs: 1_000 })
  await using free = await openSlack(fake, FAST, { store })
  expect(await free.deliver([trouble('1')], never)).toEqual([{ kind: 'delivered' }])
})

test('a thread whose first message was removed begins anew, without an error', async () => {
  await using fake = await quick()
  fake.channel('shop')
  await using sink = await openSlack(fake, FAST)
  await sink.deliver([trouble('1')], never)
  fake.remove(fake.messages[0]!.ts)
  expect(await deliverAll(sink, [trouble('2'), trouble('3')])).toEqual([
    { kind: 'delivered' },
    { kind: 'delivered' },
  ])
  expect(fake.repliesTo(fake.messages[0]!.ts)).toHaveLength(1)
})

test('a first message that is gone when it is updated is forgotten', async () => {
  await using fake = await quick()
  fake.channel('shop')
  const store = memoryStore()
  const sink = await openSlack(fake, FAST, { store })
  await deliverAll(sink, [trouble('1'), trouble('2')])
  fake.fault({ method: 'chat.update', error: 'message_not_found' })
  await sink.close()
  await using next = await openSlack(fake, FAST, { store })
  await next.deliver([trouble('3')], never)
  expect(fake.messages.filter((it) => it.threadTs === undefined)).toHaveLength(2)
})

test('updates of the first message are few, however many changes come', async () => {
  await using fake = await quick()
  fake.channel('shop')
  const sink = await openSlack(fake, { rate: { perSecond: 50, burst: 50 }, digest: false })
  await deliverAll(
    sink,
    Array.from({ length: 30 }, (_, i) => trouble(String(i))),
  )
  await sink.close()
  expect(fake.calls.filter((it) => it.method === 'chat.update')).toHaveLength(1)
  expect(fake.messages[0]?.text).toContain('trouble 29')
})

test('a process whose state is not the newest leaves the first message alone', async () => {
  await using fake = await quick()
  fake.channel('shop')
  const store = memoryStore()
  const slow = await openSlack(fake, FAST, { store })
  await deliverAll(slow, [trouble('1'), trouble('2')])
  const newer = await openSlack(fake, FAST, { store })
  await newer.deliver([trouble('3')], never)
  await newer.close()
  await slow.close()
  expect(fake.messages[0]).toMatchObject({ updates: 1, text: expect.stringContaining('trouble 3') })
})

test('an update that fails for a moment is tried again', async () => {
  await using fake = await quick()
  fake.channel('shop')
  await using sink = await openSlack(fake, FAST)
  await sink.deliver([trouble('1')], never)
  fake.fault({ method: 'chat.update', status: 503 })
  expect(await sink.deliver([solved('2')], never)).toEqual([{ kind: 'delivered' }])
  await waitFor(() => fake.messages[0]?.text.startsWith('✅'), { what: 'the green first message' })
})

test('a channel whose first message cannot be updated holds up no update in another channel', async () => {
  await using fake = await quick()
  const shop = fake.channel('shop')
  fake.channel('pay')
  let nowMs = Date.now()
  const options = { ...FAST, allowChannels: ['pay', 'shop'], channel: '#{{ name }}' }
  await using sink = await openSlack(fake, options, { clock: { now: () => nowMs } })
  const rewritten = await routeOf({ mode: 'update' })
  await sink.deliver([trouble('1', { name: 'shop' }), trouble('1', { name: 'pay', route: rewritten })], never)
  fake.fault({ method: 'chat.update', channel: shop.id, error: 'channel_not_found' })
  await sink.deliver([tellOf({ name: 'shop', summary: { severity: 'resolved' } })], never)
  expect(fake.calls.at(-1)).toMatchObject({ method: 'chat.update' })
  nowMs += 5_000
  const next = trouble('2', { name: 'pay', route: rewritten })
  expect(await sink.deliver([next], never)).toEqual([{ kind: 'delivered' }])
})

test('threads are forgotten after their time, which begins anew with each change', async () => {
  await using fake = await quick()
  fake.channel('shop')
  let nowMs = Date.now()
  const clock = { now: () => nowMs }
  const store = memoryStore(clock)
  await using sink = await openSlack(fake, { ...FAST, threadTtl: '1h' }, { store, clock })
  for (const [version, passedMs] of [
    ['1', 0],
    ['2', 3_000_000],
    ['3', 3_000_000],
    ['4', 3_700_000],
  ] as const) {
    nowMs += passedMs
    await sink.deliver([trouble(version)], never)
  }
  expect(fake.messages.map((it) => it.threadTs !== undefined)).toEqual([false, true, true, false])
})

test('without the store nothing is posted, and all is tried again', async () => {
  await using fake = await quick()
  fake.channel('shop')
  const away = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1'))
  const store = { get: away, set: away, add: away, increment: away, delete: away }
  await using sink = await openSlack(fake, FAST, { store })
  expect(await sink.deliver([trouble('1'), trouble('2')], never)).toEqual([
    expect.objectContaining({ kind: 'retry', reason: 'network', scope: 'sink' }),
    expect.objectContaining({ kind: 'retry', reason: 'network', scope: 'sink' }),
  ])
  expect(fake.messages).toEqual([])
})

test('a store that fails after the message was sent makes no repeat', async () => {
  await using fake = await quick()
  fake.channel('shop')
  const store = { ...memoryStore(), set: () => Promise.reject(new Error('away')) }
  await using sink = await openSlack(fake, FAST, { store })
  expect(await sink.deliver([trouble('1')], never)).toEqual([{ kind: 'delivered' }])
})

test('mode update keeps one message and rewrites it', async () => {
  await using fake = await quick()
  fake.channel('shop')
  let nowMs = Date.now()
  await using sink = await openSlack(fake, { ...FAST, mode: 'update' }, { clock: { now: () => nowMs } })
  expect(await sink.deliver([trouble('1')], never)).toEqual([{ kind: 'delivered' }])
  expect(await sink.deliver([trouble('2')], never)).toEqual([{ kind: 'later', afterMs: expect.any(Number) }])
  nowMs += 3_000
  const states = [trouble('2'), trouble('3'), solved('4')]
  expect(await sink.deliver(states, never)).toEqual([
    { kind: 'delivered', note: 'digest' },
    { kind: 'delivered', note: 'digest' },
    { kind: 'delivered' },
  ])
  expect(fake.messages).toHaveLength(1)
  expect(fake.messages[0]).toMatchObject({ updates: 1, text: expect.stringMatching(/^✅.*all is well/) })
  await sink.deliver([trouble('5')], never)
  expect(fake.messages).toHaveLength(2)
})

test('a clock that was set back holds no update up for longer than the pause between two', async () => {
  await using fake = await quick()
  fake.channel('shop')
  let nowMs = Date.now()
  await using sink = await openSlack(fake, { ...FAST, mode: 'update' }, { clock: { now: () => nowMs } })
  expect(await sink.deliver([trouble('1')], never)).toEqual([{ kind: 'delivered' }])
  nowMs -= 7_200_000
  await sink.deliver([trouble('2')], never)
  nowMs += 3_000
  expect(await sink.deliver([trouble('3')], never)).toEqual([{ kind: 'delivered' }])
})

test('an update that finds no message posts it anew', async () => {
  await using fake = await quick()
  fake.channel('shop')
  let nowMs = Date.now()
  await using sink = await openSlack(fake, { ...FAST, mode: 'update' }, { clock: { now: () => nowMs } })
  await sink.deliver([trouble('1')], never)
  nowMs += 5_000
  fake.fault({ method: 'chat.update', error: 'edit_window_closed' })
  expect(await sink.deliver([trouble('2')], never)).toEqual([{ kind: 'delivered' }])
  expect(fake.messages).toHaveLength(2)
})

test('groupBy of the sink or of the rule says what belongs together; an empty one is as none', async () => {
  await using fake = await quick()
  fake.channel('shop')
  await using sink = await openSlack(fake, { ...FAST, groupBy: '{{ object.metadata.labels.app }}' })
  const labelled = (name: string, app?: string) =>
    tellOf({ name, object: { metadata: { labels: app ? { app } : {} } } })
  await deliverAll(sink, [labelled('a', 'pay'), labelled('b', 'pay'), labelled('c'), labelled('d')])
  expect(fake.messages.map((it) => it.threadTs !== undefined)).toEqual([false, true, false, false])
  const route = await routeOf({ groupBy: 'one for all' })
  await deliverAll(sink, [tellOf({ name: 'e', route }), tellOf({ name: 'f', route })])
  expect(fake.messages.slice(4).map((it) => it.threadTs !== undefined)).toEqual([false, true])
})

test('a mention calls at the first message and when it gets worse, not for each reply nor for the end', async () => {
  await using fake = await quick()
  fake.channel('shop')
  await using sink = await openSlack(fake, FAST)
  const route = await routeOf({ mention: ['here', 'U0123456789', 'S0123456789'] })
  const state = (version: string, severity: 'warning' | 'error' | 'resolved') =>
    tellOf({ version, route, summary: { severity } })
  await deliverAll(sink, [
    state('1', 'warning'),
    state('2', 'warning'),
    state('3', 'error'),
    state('4', 'resolved'),
  ])
  const all = ['!here', '@U0123456789', '!subteam^S0123456789']
  expect(fake.messages.map((it) => it.pings)).toEqual([all, [], all, []])
})

test('a first message that Slack refuses as it is becomes plain, without what it showed before', async () => {
  await using fake = await quick()
  fake.channel('shop')
  await using sink = await openSlack(fake, FAST)
  await sink.deliver([trouble('1')], never)
  fake.fault({ method: 'chat.update', error: 'msg_blocks_too_long' })
  await sink.deliver([solved('2')], never)
  expect(fake.messages[0]).toMatchObject({ text: expect.stringContaining('all is well'), attachments: [] })
})

test('states of one group are told at once, but nothing passes an earlier message of its own object', () => {
  const item = (uid: string, key: string, over = false): Item => {
    const message = tellOf({ uid, name: uid })
    return { place: 0, message, mode: 'update', key, over }
  }
  const [a1, b1, a2] = [item('a', 'k1'), item('b', 'k2'), item('a', 'k1')]
  expect(unitsOf([a1, b1, a2])).toEqual([[a1, a2], [b1]])
  const moved = item('a', 'k2')
  expect(unitsOf([a1, moved, a2])).toEqual([[a1], [moved], [a2]])
  const end = item('a', 'k1', true)
  expect(unitsOf([a1, end, a2])).toEqual([[a1, end], [a2]])
})
