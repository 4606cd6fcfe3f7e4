import { expect, test } from 'vitest'
import slack from '../../../sinks/slack/index.ts'
import { NOTICES, noticeMessage } from '../../render/notices.ts'
import { startSlack } from '../../servers/slack.ts'
import { deliverAll, openSlack } from './bed.ts'

const told = (name: keyof typeof NOTICES, version = '7', rule = 'trouble') => {
  const it = NOTICES[name]!
  const event = { ...it.event, id: it.event.id.replace('/7/', `/${version}/`) }
  return noticeMessage({ ...it, event, rule }, slack)
}

test('what is over is told in the thread of what began, and closes it', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  await using sink = await openSlack(fake, { rate: 50 })
  const messages = [told('one after others were held back'), told('back-offs that stopped')]
  expect(await deliverAll(sink, messages)).toEqual([{ kind: 'delivered' }, { kind: 'delivered' }])
  const [root, ...others] = fake.messages.filter((it) => it.threadTs === undefined)
  expect(others).toEqual([])
  expect(fake.repliesTo(root!.ts).map(({ text }) => text)).toEqual([
    expect.stringContaining('Resolved: nothing more like BackOff from Pod shop/web-1'),
  ])
  expect(root?.text).toMatch(/^✅/)
  expect(JSON.stringify(fake.messages[0]?.attachments)).not.toContain('undefined')
})

test('the digests of a group share a thread of their own', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  await using sink = await openSlack(fake, { rate: 50 })
  await deliverAll(sink, [
    told('one after others were held back'),
    told('a digest of back-offs', '8'),
    told('a digest of more than it lists', '9'),
    told('a digest of mixed things', '10'),
    told('a digest of back-offs', '11', 'others'),
  ])
  const roots = fake.messages.filter((it) => it.threadTs === undefined)
  expect(roots.map(({ ts }) => fake.repliesTo(ts).length)).toEqual([0, 1, 0, 0])
  expect(fake.repliesTo(roots[1]!.ts)[0]?.text).toContain('340 × BackOff in shop')
})

test('a storm counts what digests of rules stand for', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  const digest = { after: '1s', waiting: 2 }
  await using sink = await openSlack(fake, { rate: { perSecond: 0.01, burst: 1 }, mode: 'message', digest })
  const names = ['a digest of back-offs', 'a digest of more than it lists', 'a state that is left'] as const
  await deliverAll(
    sink,
    names.map((name) => told(name)),
  )
  expect(fake.messages[0]?.text).toContain('353 events')
})
