import { expect, test } from 'vitest'
import { startSlack } from '../../servers/slack.ts'
import { waitFor } from '../../wait-for.ts'
import { deliverAll, never, openSlack, routeOf, tellOf } from './bed.ts'

const FAST = { rate: 50 }
type Severity = 'warning' | 'error' | 'info' | 'resolved'
const stateOf = (version: string, severity: Severity, more: object = {}) =>
  tellOf({ version, summary: { severity }, ...more })
const quick = () => startSlack({ perSecond: 1_000, burst: 1_000 })

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

test('mode update: a rise of the severity mentions in a reply, since Slack notifies nobody of an edit', async () => {
  await using fake = await quick()
  fake.channel('shop')
  await using sink = await openSlack(fake, { ...FAST, mode: 'update' })
  const route = await routeOf({ mention: 'here' })
  await deliverAll(sink, [stateOf('1', 'warning', { rule: 'warn' })])
  const worse = { severity: 'error', title: 'out of memory' } as const
  await deliverAll(sink, [stateOf('2', 'error', { rule: 'oom', route, summary: worse })])
  expect(fake.messages.map(({ pings, threadTs }) => [pings, threadTs !== undefined])).toEqual([
    [[], false],
    [['!here'], true],
  ])
  const isShown = () => fake.messages[0]?.text.includes('out of memory') === true
  await waitFor(isShown, { what: 'the first message to show the newest state' })
  await deliverAll(sink, [stateOf('3', 'error', { rule: 'oom', route })])
  expect(fake.messages).toHaveLength(2)
})

test.each([
  [['warning', 'error', 'info'], ['!here']],
  [['error', 'resolved'], []],
] as const)(
  'mode update: states %j in one message mention those whom one of them mentions: %j',
  async (severities, pings) => {
    await using fake = await quick()
    fake.channel('shop')
    await using sink = await openSlack(fake, { ...FAST, mode: 'update' })
    const route = await routeOf({ mention: 'here' })
    const states = severities.map((severity, i) =>
      stateOf(`${i}`, severity, severity === 'error' ? { route } : {}),
    )
    await sink.deliver(states, never)
    expect(fake.messages.map((it) => it.pings)).toEqual([pings])
  },
)
