import { expect, test } from 'vitest'
import slack from '../../../sinks/slack/index.ts'
import { NOTICES, noticeMessage } from '../../render/notices.ts'
import { textsOf } from '../../servers/slack/limits.ts'
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
  const messages = [told('one after others were suppressed'), told('back-offs that stopped')]
  expect(await deliverAll(sink, messages)).toEqual([{ kind: 'delivered' }, { kind: 'delivered' }])
  const [root, ...others] = fake.messages.filter((it) => it.threadTs === undefined)
  expect(others).toEqual([])
  const [reply, ...more] = fake.repliesTo(root!.ts)
  expect(more).toEqual([])
  for (const it of [root, reply])
    expect(it?.text).toMatch(/^✅ \[prod-eu\] \*Resolved: Pod shop\/web-1 is crash-looping/)
  const [shownInRoot, shownInReply] = [root, reply].map((it) =>
    it!.attachments[0].blocks.flatMap(textsOf).join('\n'),
  )
  expect(shownInReply).toContain('15m')
  expect(shownInReply).not.toMatch(/kubectl|Began/)
  expect(shownInRoot).toMatch(/Reason[\s\S]*kubectl[\s\S]*began/)
  expect(shownInRoot).not.toContain('15m')
  expect(JSON.stringify(fake.messages[0]?.attachments)).not.toContain('undefined')
})

test('the id of a message is in its metadata, and not in its text; an update has the id of the newest', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  await using sink = await openSlack(fake, { rate: 50 })
  const messages = [told('one after others were suppressed'), told('back-offs that stopped')]
  await deliverAll(sink, messages)
  const [root, reply] = fake.messages
  for (const it of [root, reply]) {
    expect(it?.metadata).toMatchObject({
      event_payload: { id: messages[1]!.id, cluster: 'prod-eu', rule: 'trouble' },
    })
    expect(JSON.stringify([it?.text, it?.attachments])).not.toContain(messages[0]!.id)
  }
})

test('a message whose metadata Slack refuses is sent without it', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  await using sink = await openSlack(fake, { rate: 50 })
  fake.fault({ method: 'chat.postMessage', error: 'metadata_must_be_sent_from_app' })
  const outcomes = await deliverAll(sink, [told('one after others were suppressed')])
  expect(outcomes).toEqual([{ kind: 'delivered', note: 'fallback' }])
  expect(fake.messages[0]).not.toHaveProperty('metadata')
})

test('the digests of a group share a thread of their own', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  await using sink = await openSlack(fake, { rate: 50 })
  await deliverAll(sink, [
    told('one after others were suppressed'),
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
