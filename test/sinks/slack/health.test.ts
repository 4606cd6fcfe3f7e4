import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { SinkActions } from '../../../src/sink/index.ts'
import { testContext } from '../../../src/sink/testkit/context.ts'
import { createAuthority } from '../../servers/certificates.ts'
import { startHttpProxy } from '../../servers/http-proxy.ts'
import { freePort } from '../../servers/ports.ts'
import { startSlack } from '../../servers/slack.ts'
import { waitFor } from '../../wait-for.ts'
import { never, openSlack, tellOf } from './bed.ts'

test('all is well: nothing to say', async () => {
  await using fake = await startSlack()
  for (const name of ['a', 'b', 'c', 'shop']) fake.channel(name)
  await using sink = await openSlack(fake)
  expect(await sink.health?.(never)).toEqual({ ok: true })
  expect(fake.messages).toEqual([])
})

test.each([
  ['a channel that does not exist', {}, ['other'], 'there is no public #shop'],
  ['an archived one', { archived: true }, ['shop'], '#shop is archived'],
])('health tells of %s', async (_, parts, names, detail) => {
  await using fake = await startSlack()
  for (const name of names) fake.channel(name, parts)
  await using sink = await openSlack(fake)
  expect(await sink.health?.(never)).toEqual({
    ok: false,
    reason: 'config',
    detail: expect.stringContaining(detail),
  })
})

test('health tells of a channel without the app, unless public channels need none', async () => {
  await using fake = await startSlack()
  fake.channel('shop', { member: false })
  await using sink = await openSlack(fake)
  expect(await sink.health?.(never)).toEqual({ ok: true })
  fake.scopes.delete('chat:write.public')
  expect(await sink.health?.(never)).toMatchObject({
    ok: false,
    detail: 'the app is not in #shop: /invite it there, or give it chat:write.public',
  })
})

test('health tells of a wrong token and of missing scopes, and hints at those that would help', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake)
  fake.scopes.clear()
  expect(await sink.health?.(never)).toMatchObject({
    ok: false,
    reason: 'auth',
    detail: expect.stringContaining('chat:write'),
  })
  fake.scopes.add('chat:write')
  expect(await sink.health?.(never)).toMatchObject({
    ok: true,
    warnings: [expect.stringContaining('chat:write.public'), expect.stringContaining('channels:read')],
  })
  fake.rotate('xoxb-other-token-12345')
  expect(await sink.health?.(never)).toMatchObject({
    ok: false,
    reason: 'auth',
    detail: expect.stringContaining('invalid_auth'),
  })
})

test('channels are looked up by id too; those that a template may choose are only warned about', async () => {
  await using fake = await startSlack()
  const shop = fake.channel('shop')
  await using sink = await openSlack(fake, {
    channel: shop.id,
    fallbackChannel: 'C0000000XX',
    allowChannels: ['nowhere', 'team-*'],
  })
  expect(await sink.health?.(never)).toMatchObject({
    ok: false,
    detail: expect.stringContaining('C0000000XX'),
  })
  await using other = await openSlack(fake, { channel: shop.id, allowChannels: ['nowhere', 'team-*'] })
  expect(await other.health?.(never)).toMatchObject({
    ok: true,
    warnings: [expect.stringContaining('#nowhere')],
  })
})

test('a Slack that is away is a failure of the check', async () => {
  await using fake = await startSlack()
  await using sink = await openSlack(fake, { apiUrl: `http://127.0.0.1:${await freePort()}/api/` })
  expect(await sink.health?.(never)).toMatchObject({ ok: false, reason: 'network' })
})

test('sinks that share the connection for buttons measure it each, from opening to closing', async () => {
  await using fake = await startSlack()
  const actions: SinkActions = {
    of: () => [],
    silence: async () => ({ kind: 'refused', detail: 'not here' }),
    acknowledge: async () => ({ kind: 'none' }),
  }
  const contexts = ['first', 'second'].map((name) => testContext({ name, actions }))
  const options = { actions: { appToken: fake.clicks.appToken, anyone: true } }
  const measured = () => contexts.map((of) => of.measured.get('buttons_connected'))
  const measures = (...values: (number | undefined)[]) =>
    waitFor(() => `${measured()}` === `${values}`, { what: () => `${values}, not ${measured()}` })

  await using first = await openSlack(fake, options, contexts[0])
  await measures(1, undefined)
  await using _ = await openSlack(fake, options, contexts[1])
  await measures(1, 1)
  fake.clicks.limit = 0
  fake.clicks.cut()
  await measures(0, 0)
  await first.close()
  fake.clicks.limit = 10
  await measures(0, 1)
})

test('calls go through the proxy', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using proxy = await startHttpProxy()
  await using sink = await openSlack(fake, { mode: 'message', proxy: proxy.url })
  expect(await sink.deliver([tellOf()], never)).toEqual([{ kind: 'delivered' }])
  expect(proxy.asked).toContain(new URL(fake.apiUrl).host)
})

test('an authority of the company is trusted when ca gives it, and only then', async () => {
  const authority = createAuthority('company')
  const server = createServer(authority.issue('slack'), (request, response) => {
    request.resume()
    response.end(JSON.stringify({ ok: true, channel: 'C000000001', ts: '1.2' }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const apiUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}/api/`
    await using fake = await startSlack()
    await using trusting = await openSlack(fake, { mode: 'message', apiUrl, ca: authority.cert })
    expect(await trusting.deliver([tellOf()], never)).toEqual([{ kind: 'delivered' }])
    await using other = await openSlack(fake, { mode: 'message', apiUrl })
    expect(await other.deliver([tellOf()], never)).toMatchObject([
      { kind: 'retry', reason: 'network', scope: 'sink' },
    ])
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('closing twice is no error', async () => {
  await using fake = await startSlack()
  const sink = await openSlack(fake)
  await sink.close()
  await sink.close()
})
