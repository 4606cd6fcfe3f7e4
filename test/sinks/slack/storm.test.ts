import { expect, test } from 'vitest'
import { type Fault, startSlack } from '../../servers/slack.ts'
import { waitFor } from '../../wait-for.ts'
import { deliverAll, never, openSlack, routeOf, tellOf } from './bed.ts'

const many = (n: number, more: (i: number) => object = () => ({})) =>
  Array.from({ length: n }, (_, i) => tellOf({ name: `web-${i}`, ...more(i) }))

test('a thousand events to one channel are all told, most of them together, and Slack never has to slow us down', async () => {
  await using fake = await startSlack({ perSecond: 20, burst: 6 })
  fake.channel('shop')
  await using sink = await openSlack(fake, { rate: { perSecond: 18, burst: 5 } })
  const outcomes = await deliverAll(sink, many(1_000))
  expect(outcomes.every((it) => it.kind === 'delivered')).toBe(true)
  const told = fake.messages.reduce(
    (n, { text }) => n + Number(/([\d,]+) events/.exec(text)?.[1]?.replace(',', '') ?? 1),
    0,
  )
  expect(told).toBe(1_000)
  expect(fake.messages.length).toBeLessThan(20)
  expect(fake.calls.every((it) => it.error === '')).toBe(true)
})

test('a channel that is full delays no other', async () => {
  await using fake = await startSlack({ perSecond: 1, burst: 5 })
  fake.channel('shop')
  fake.channel('pay')
  await using sink = await openSlack(fake, { mode: 'message', digest: false })
  const route = await routeOf({ channel: '#pay' })
  const first = await sink.deliver(many(50), never)
  expect(first.filter((it) => it.kind === 'later').length).toBeGreaterThanOrEqual(45)
  expect(
    await sink.deliver(
      many(1, () => ({ route })),
      never,
    ),
  ).toEqual([{ kind: 'delivered' }])
})

test('one batch for two channels: the full one leaves its rest for later, the other is told', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  fake.channel('pay')
  await using sink = await openSlack(fake, { mode: 'message', digest: false })
  const route = await routeOf({ channel: '#pay' })
  const outcomes = await sink.deliver([...many(8), tellOf({ name: 'other', route })], never)
  expect(outcomes.at(-1)).toEqual({ kind: 'delivered' })
  expect(outcomes.slice(5, 8).map((it) => it.kind)).toEqual(['later', 'later', 'later'])
})

test('a digest says how many of what, with samples, calls whom its rules call, and has no pings of others', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake)
  const route = await routeOf({ mention: 'U0123456789' })
  const storm = many(57, (i) => ({
    route,
    summary: {
      severity: 'warning',
      title: `Pod <!channel> ${i}`,
      about: { kind: i < 50 ? 'Pod' : `Kind${i}`, name: 'x', namespace: 'shop' },
    },
    kubeEvent: { reason: i < 50 ? 'BackOff' : 'Failed' },
    event: { time: new Date(Date.now() - 42_000 + Math.min(i, 56) * 750).toISOString() },
  }))
  const outcomes = await sink.deliver(storm, never)
  expect(outcomes).toEqual(storm.map(() => ({ kind: 'delivered', note: 'digest' })))
  expect(fake.messages).toHaveLength(1)
  const [digest] = fake.messages
  expect(digest?.text).toBe('🟠 [test] *57 events in 42s* <@U0123456789>')
  expect(digest?.pings).toEqual(['@U0123456789'])
  expect(JSON.stringify(digest?.attachments)).toMatch(/50 {2}Pod {5}BackOff/)
})

test('few events that waited long are told together only if they cannot be sent one by one now', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake, { mode: 'message' })
  const old = () => ({ event: { time: new Date(Date.now() - 60_000).toISOString() } })
  expect(await deliverAll(sink, many(3, old))).toEqual(Array(3).fill({ kind: 'delivered' }))
  expect(await sink.deliver(many(7, old), never)).toEqual(
    Array(7).fill({ kind: 'delivered', note: 'digest' }),
  )
})

test('few events that a limit held for long have not waited for the channel: each is a message', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  await using sink = await openSlack(fake, {
    mode: 'message',
    digest: { after: '1h', waiting: 20 },
    rate: { perSecond: 50, burst: 5 },
  })
  const time = new Date(Date.now() - 2 * 3_600_000).toISOString()
  const held = many(7, () => ({ event: { time }, releasedAt: new Date().toISOString() }))
  expect(await deliverAll(sink, held)).toEqual(Array(7).fill({ kind: 'delivered' }))
})

test.each<[string, Fault]>([
  ['internal_error', { error: 'internal_error' }],
  ['HTTP 503', { status: 503 }],
  ['a connection that is cut', { reset: 'before' }],
])('%s for a digest is no fault of one of its events: they come again together', async (_, fault) => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake)
  fake.fault({ method: 'chat.postMessage', ...fault })
  const outcomes = await sink.deliver(many(30), never)
  expect(new Set(outcomes.map((it) => it.kind === 'retry' && it.scope))).toEqual(new Set(['target']))
})

test('a digest that fails again and again may do so because of one event: the lane finds out which one', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake)
  fake.fault({ method: 'chat.postMessage', error: 'internal_error' })
  const again = many(30).map((it) => ({ ...it, attempt: 3 }))
  const outcomes = await sink.deliver(again, never)
  expect(new Set(outcomes.map((it) => it.kind === 'retry' && it.scope))).toEqual(new Set(['event']))
})

test('digest: false sends each, however long it takes', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  await using sink = await openSlack(fake, { mode: 'message', digest: false, rate: 50 })
  await deliverAll(sink, many(40))
  expect(fake.messages).toHaveLength(40)
})

test('threads of what a digest tells show the newest state; what is over is closed', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  const sink = await openSlack(fake, { rate: { perSecond: 50, burst: 3 } })
  await deliverAll(sink, [tellOf({ name: 'web-0' }), tellOf({ name: 'web-1' })])
  const storm = many(30, (i) => ({
    summary: i === 1 ? { severity: 'resolved', title: 'well again' } : { title: 'worse' },
  }))
  await deliverAll(sink, storm)
  await waitFor(() => fake.messages.some((it) => /30 events/.test(it.text)), { what: 'the digest' })
  await deliverAll(sink, [tellOf({ name: 'web-1', summary: { title: 'once more' } })])
  await sink.close()
  expect(fake.messages[0]?.text).toContain('worse')
  expect(fake.messages[1]?.text).toMatch(/^✅.*well again/)
  expect(fake.messages.at(-1)).toMatchObject({ text: expect.stringContaining('once more') })
  expect(fake.messages.at(-1)?.threadTs).toBeUndefined()
})

test('after a failure nothing of that object is sent, so that its order stays', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  await using sink = await openSlack(fake, { mode: 'message', rate: 50 })
  fake.fault({ method: 'chat.postMessage', error: 'internal_error' })
  const batch = [
    tellOf({ name: 'a', version: '1' }),
    tellOf({ name: 'b' }),
    tellOf({ name: 'a', version: '2' }),
  ]
  const outcomes = await sink.deliver(batch, never)
  expect(outcomes.map((it) => it.kind)).toEqual(['retry', 'delivered', 'retry'])
  expect(fake.messages).toHaveLength(1)
})

test('a slow Slack does not hold a turn: the rest comes later, so that batches stay large enough for digests', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake, { mode: 'message' })
  fake.fault({ method: 'chat.postMessage', delayMs: 750 })
  expect(await sink.deliver(many(3), never)).toEqual([
    { kind: 'delivered' },
    { kind: 'later', afterMs: 1 },
    { kind: 'later', afterMs: 1 },
  ])
})
