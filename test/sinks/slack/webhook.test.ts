import { expect, test } from 'vitest'
import { startSlack } from '../../servers/slack.ts'
import { deliverAll, never, openSlack, routeOf, tellOf } from './bed.ts'

test('an incoming webhook gets the same message, and each change is one', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake, { url: fake.webhookUrl })
  expect(await deliverAll(sink, [tellOf(), tellOf()])).toEqual([{ kind: 'delivered' }, { kind: 'delivered' }])
  expect(fake.messages.map((it) => it.threadTs)).toEqual([undefined, undefined])
  expect(fake.messages[0]?.attachments[0].color).toBe('#E01E5A')
})

test.each([
  [404, 'no_service', { kind: 'retry', reason: 'config', scope: 'sink' }],
  [403, 'invalid_token', { kind: 'retry', reason: 'auth', scope: 'sink' }],
  [404, 'channel_not_found', { kind: 'retry', reason: 'config', scope: 'target' }],
  [410, 'channel_is_archived', { kind: 'retry', reason: 'config', scope: 'target' }],
  [403, 'action_prohibited', { kind: 'retry', reason: 'config', scope: 'target' }],
  [400, 'invalid_payload', { kind: 'rejected', reason: 'rejected' }],
  [400, 'no_text', { kind: 'rejected' }],
  [429, 'rate_limited', { kind: 'retry', reason: 'rate-limited', scope: 'target' }],
  [500, 'rollup_error', { kind: 'retry', scope: 'event' }],
  [503, 'busy', { kind: 'retry', reason: 'server-error', scope: 'sink' }],
  [200, '<html>sign in</html>', { kind: 'retry', reason: 'server-error', ambiguous: true }],
])('a webhook that answers %i %s', async (status, body, expected) => {
  await using fake = await startSlack()
  fake.channel('shop')
  fake.webhookError = { status, body }
  await using sink = await openSlack(fake, { url: fake.webhookUrl })
  expect(await sink.deliver([tellOf()], never)).toEqual([expect.objectContaining(expected)])
})

test('a rule that names a channel is told that a webhook has its own', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake, { url: fake.webhookUrl })
  const route = await routeOf({ channel: '#pay' })
  expect(await sink.deliver([tellOf({ route })], never)).toMatchObject([
    { kind: 'rejected', reason: 'config' },
  ])
  expect(fake.messages).toEqual([])
})

test('what a webhook answers never shows its address', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  fake.webhookError = { status: 200, body: `<html>${fake.webhookUrl}</html>` }
  await using sink = await openSlack(fake, { url: fake.webhookUrl })
  const outcomes = await sink.deliver([tellOf()], never)
  expect(JSON.stringify(outcomes)).not.toContain('abcdefghijklmnopqrstuvwx')
})

test('a webhook cannot be checked, and health says so', async () => {
  await using fake = await startSlack()
  await using sink = await openSlack(fake, { url: fake.webhookUrl })
  expect(await sink.health?.(never)).toMatchObject({
    ok: true,
    warnings: [expect.stringContaining('cannot be checked')],
  })
  expect(fake.calls).toEqual([])
})
