import { expect, test } from 'vitest'
import type { Outcome } from '../../../src/sink/index.ts'
import { freePort } from '../../servers/ports.ts'
import { type Fault, startSlack } from '../../servers/slack.ts'
import { waitFor } from '../../wait-for.ts'
import { never, openSlack, tellOf } from './bed.ts'

const ALONE = { mode: 'message' }

/** What one message becomes when Slack answers so. */
async function outcomeOf(fault: Fault, options: object = {}) {
  await using fake = await startSlack()
  fake.channel('shop')
  fake.fault({ method: 'chat.postMessage', times: 2, ...fault })
  await using sink = await openSlack(fake, { ...ALONE, ...(fault.hang && { timeout: '300ms' }), ...options })
  const [outcome] = await sink.deliver([tellOf()], never)
  return { outcome: outcome as Outcome, fake }
}

test.each([
  [
    '429 with seconds',
    { status: 429, headers: { 'retry-after': '3' } },
    { reason: 'rate-limited', scope: 'target', afterMs: 3_000 },
  ],
  ['429 without a header', { status: 429 }, { reason: 'rate-limited', scope: 'target', afterMs: 30_000 }],
  [
    '429 with nonsense',
    { status: 429, headers: { 'retry-after': 'soon' } },
    { reason: 'rate-limited', afterMs: 30_000 },
  ],
  [
    '429 for a day',
    { status: 429, headers: { 'retry-after': '86400' } },
    { reason: 'rate-limited', afterMs: 3_600_000 },
  ],
  [
    'rate_limited in a 200',
    { error: 'rate_limited' },
    { reason: 'rate-limited', scope: 'target', afterMs: 30_000 },
  ],
  ['ratelimited in a 200', { error: 'ratelimited' }, { reason: 'rate-limited', scope: 'target' }],
  ['500', { status: 500 }, { reason: 'server-error', scope: 'event' }],
  ['503 with a page', { status: 503, body: '<html>busy</html>' }, { reason: 'server-error', scope: 'sink' }],
  ['302', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, { reason: 'config', scope: 'sink' }],
  [
    '200 with a page',
    { body: '<html>sign in</html>' },
    { reason: 'server-error', scope: 'sink', ambiguous: true },
  ],
  ['200 null', { body: 'null' }, { reason: 'server-error', scope: 'sink', ambiguous: true }],
  ['200 empty', { body: '' }, { reason: 'server-error', detail: 'an empty answer', ambiguous: true }],
  ['50 MB', { bytes: 50 * 1024 * 1024 }, { reason: 'network', scope: 'sink', ambiguous: true }],
  ['reset before it was taken', { reset: 'before' }, { reason: 'network', scope: 'sink', ambiguous: true }],
  ['reset after it was taken', { reset: 'after' }, { reason: 'network', scope: 'sink', ambiguous: true }],
  ['a body that breaks off', { cut: true }, { reason: 'network', ambiguous: true }],
  ['no answer in time', { hang: 'before-headers' }, { reason: 'timeout', ambiguous: true }],
  ['no end of the body in time', { hang: 'in-body' }, { reason: 'timeout', ambiguous: true }],
  ['internal_error', { error: 'internal_error' }, { reason: 'server-error', scope: 'event' }],
  ['fatal_error', { error: 'fatal_error' }, { reason: 'server-error', scope: 'event' }],
  ['service_unavailable', { error: 'service_unavailable' }, { reason: 'server-error', scope: 'sink' }],
  ['request_timeout', { error: 'request_timeout' }, { reason: 'timeout', scope: 'event' }],
  ['team_added_to_org', { error: 'team_added_to_org' }, { reason: 'server-error', scope: 'sink' }],
  [
    'external_channel_migrating',
    { error: 'external_channel_migrating' },
    { reason: 'server-error', scope: 'target' },
  ],
  [
    'a word that nobody knows',
    { error: 'brand_new_error' },
    { reason: 'unknown', scope: 'event', detail: 'Slack answered brand_new_error' },
  ],
  ['a word of every object', { error: 'constructor' }, { reason: 'unknown', scope: 'event' }],
] as [string, Fault, object][])('%s is tried again', async (_, fault, expected) => {
  const { outcome } = await outcomeOf(fault)
  expect(outcome).toMatchObject({ kind: 'retry', ...expected })
})

test('429 with an HTTP date waits until then', async () => {
  const date = new Date(Date.now() + 20_000).toUTCString()
  const { outcome } = await outcomeOf({ status: 429, headers: { 'retry-after': date } })
  expect(outcome).toMatchObject({ kind: 'retry', reason: 'rate-limited' })
  const { afterMs } = outcome as { afterMs: number }
  expect(afterMs).toBeGreaterThan(10_000)
  expect(afterMs).toBeLessThanOrEqual(20_000)
})

test.each([
  ['invalid_auth', 'auth', 'sink', 'Bot User OAuth Token'],
  ['not_authed', 'auth', 'sink', 'authorization header'],
  ['token_revoked', 'auth', 'sink', 'reinstall'],
  ['token_expired', 'auth', 'sink', 'renew'],
  ['account_inactive', 'auth', 'sink', 'install it again'],
  ['missing_scope', 'auth', 'sink', 'chat:write'],
  ['not_allowed_token_type', 'auth', 'sink', 'xoxb-'],
  ['no_permission', 'auth', 'sink', 'scopes'],
  ['ekm_access_denied', 'config', 'sink', 'administrators'],
  ['team_access_not_granted', 'config', 'sink', 'administrator'],
  ['access_denied', 'config', 'target', '#shop'],
  ['channel_not_found', 'config', 'target', 'there is no #shop'],
  [
    'not_in_channel',
    'config',
    'target',
    'the app is not in #shop: /invite it there, or give it chat:write.public',
  ],
  ['is_archived', 'config', 'target', '#shop is archived'],
  ['messages_tab_disabled', 'config', 'target', 'Messages Tab'],
  ['restricted_action', 'config', 'target', '#shop'],
  ['restricted_action_read_only_channel', 'config', 'target', '#shop'],
])('%s waits for an operator and says what to do', async (error, reason, scope, hint) => {
  const { outcome } = await outcomeOf({ error })
  expect(outcome).toMatchObject({ kind: 'retry', reason, scope, afterMs: 60_000 })
  expect((outcome as { detail: string }).detail).toContain(hint)
  expect((outcome as { detail: string }).detail).toContain(error)
})

test.each([
  'invalid_blocks',
  'invalid_blocks_format',
  'msg_too_long',
  'msg_blocks_too_long',
  'no_text',
  'too_many_attachments',
  'invalid_attachments',
  'attachment_payload_limit_exceeded',
  'metadata_too_large',
  'invalid_arguments',
  'cannot_reply_to_message',
])('%s: once more as plain text; refused again, it is given up', async (error) => {
  const messages = ['[ERROR] must be shorter [json-pointer:/attachments/0/blocks/1]']
  const once = await outcomeOf({ error, times: 1 })
  expect(once.outcome).toEqual({ kind: 'delivered', note: 'fallback' })
  expect(once.fake.messages[0]).toMatchObject({
    attachments: [],
    text: expect.stringContaining('crash-looping'),
  })
  const twice = await outcomeOf({ error, more: { response_metadata: { messages } } })
  expect(twice.outcome).toMatchObject({ kind: 'rejected', reason: 'rejected' })
  expect((twice.outcome as { detail: string }).detail).toContain('/attachments/0/blocks/1')
})

test('an update in an archived channel waits for an operator, as a new message does', async () => {
  await using fake = await startSlack()
  const shop = fake.channel('shop')
  let nowMs = Date.now()
  await using sink = await openSlack(fake, { mode: 'update' }, { clock: { now: () => nowMs } })
  expect(await sink.deliver([tellOf()], never)).toEqual([{ kind: 'delivered' }])
  nowMs += 5_000
  shop.archived = true
  expect(await sink.deliver([tellOf({ version: '2' })], never)).toMatchObject([
    {
      kind: 'retry',
      reason: 'config',
      scope: 'target',
      afterMs: 60_000,
      detail: expect.stringContaining('#shop is archived'),
    },
  ])
  shop.archived = false
  expect(await sink.deliver([tellOf({ version: '2' })], never)).toEqual([{ kind: 'delivered' }])
})

test('a refused connection is a network failure and was never sent', async () => {
  await using fake = await startSlack()
  await using sink = await openSlack(fake, { ...ALONE, apiUrl: `http://127.0.0.1:${await freePort()}/api/` })
  const [outcome] = await sink.deliver([tellOf()], never)
  expect(outcome).toMatchObject({ kind: 'retry', reason: 'network', scope: 'sink' })
  expect(outcome).not.toHaveProperty('ambiguous')
})

test('an operator is waited for longer and longer, and told once in the log, until it works again', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  const shop = fake.channel('shop', { member: false })
  fake.scopes.delete('chat:write.public')
  const lines: string[] = []
  const keep = (_: object, message: string) => void lines.push(message)
  const log = { debug() {}, info: keep, warn: keep, error: keep }
  let nowMs = Date.now()
  await using sink = await openSlack(fake, { ...ALONE, rate: 50 }, { log, clock: { now: () => nowMs } })
  const fail = async () => {
    const [outcome] = await sink.deliver([tellOf()], never)
    return (outcome as { afterMs: number }).afterMs
  }
  const waits: number[] = []
  for (let i = 0; i < 6; i++) {
    waits.push(await fail())
    nowMs += 1_000
    expect(await fail()).toBe((waits.at(-1) as number) - 1_000)
    nowMs += waits.at(-1) as number
  }
  expect(waits).toEqual([60_000, 120_000, 240_000, 480_000, 900_000, 900_000])
  expect(lines).toEqual(['Slack needs an operator; messages to this target wait'])
  shop.member = true
  expect(await sink.deliver([tellOf()], never)).toEqual([{ kind: 'delivered' }])
  expect(lines.at(-1)).toBe('Slack takes messages again')
})

test('a throttled channel sends nothing more, and another channel goes on', async () => {
  await using fake = await startSlack({ perSecond: 1_000, burst: 1_000 })
  fake.channel('shop')
  fake.channel('pay')
  await using sink = await openSlack(fake, {
    ...ALONE,
    allowChannels: ['pay', 'shop'],
    channel: '#{{ name }}',
  })
  fake.fault({ channel: 'shop', status: 429, headers: { 'retry-after': '3' } })
  const outcomes = await sink.deliver(
    ['shop', 'shop', 'pay'].map((name, i) => tellOf({ name, uid: `u${i}` })),
    never,
  )
  expect(outcomes.map((it) => it.kind)).toEqual(['retry', 'retry', 'delivered'])
  const [again] = await sink.deliver([tellOf({ name: 'shop' })], never)
  expect(again).toMatchObject({ kind: 'later' })
  expect((again as { afterMs: number }).afterMs).toBeGreaterThan(1_000)
})

test('a message whose answer was lost is sent again: a repeat, never a loss', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake)
  fake.fault({ method: 'chat.postMessage', reset: 'after' })
  const [first] = await sink.deliver([tellOf()], never)
  expect(first).toMatchObject({ kind: 'retry', ambiguous: true })
  expect(await sink.deliver([tellOf()], never)).toEqual([{ kind: 'delivered' }])
  expect(fake.messages).toHaveLength(2)
})

test('a stop ends a delivery soon, and what was not sent is tried again', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake, ALONE)
  fake.fault({ method: 'chat.postMessage', hang: 'before-headers' })
  const stop = new AbortController()
  const delivering = sink.deliver([tellOf({ name: 'a' }), tellOf({ name: 'b' })], stop.signal)
  await waitFor(() => fake.calls.some(({ method }) => method === 'chat.postMessage'), {
    what: 'the first message',
  })
  stop.abort()
  const outcomes = await delivering
  expect(outcomes[0]).toMatchObject({ kind: 'retry', scope: 'sink', ambiguous: true })
  expect(outcomes[1]).toMatchObject({ kind: 'retry', scope: 'sink' })
  expect(outcomes[1]).not.toHaveProperty('ambiguous')
  expect(await sink.deliver([tellOf()], stop.signal)).toMatchObject([{ kind: 'retry' }])
})

test('a token that was changed works for a sink that is opened anew', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using before = await openSlack(fake, ALONE)
  fake.rotate('xoxb-2222222222-new-token')
  expect(await before.deliver([tellOf()], never)).toMatchObject([{ kind: 'retry', reason: 'auth' }])
  await using after = await openSlack(fake, { ...ALONE, token: 'xoxb-2222222222-new-token' })
  expect(await after.deliver([tellOf()], never)).toEqual([{ kind: 'delivered' }])
})

test('no outcome and no line of the log tells the token', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  const told: unknown[] = []
  const keep = (...all: unknown[]) => void told.push(all)
  const log = { debug: keep, info: keep, warn: keep, error: keep }
  await using sink = await openSlack(fake, ALONE, { log })
  for (const fault of [
    { body: `<html>${fake.token}</html>` },
    { body: `${'x'.repeat(190)}${fake.token}` },
    { error: 'missing_scope', more: { needed: fake.token } },
    { error: 'invalid_blocks', times: 2, more: { response_metadata: { messages: [fake.token] } } },
  ] as Fault[]) {
    fake.fault({ method: 'chat.postMessage', ...fault })
    told.push(await sink.deliver([tellOf()], never))
  }
  expect(JSON.stringify(told)).not.toContain('fake-token')
  expect(JSON.stringify(told)).not.toContain('xoxb-1111')
})

test('every call says who calls, and unfurls, links and parses nothing', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  await using sink = await openSlack(fake, ALONE)
  await sink.deliver([tellOf()], never)
  expect(fake.calls[0]).toMatchObject({
    userAgent: 'kubeherald/test',
    args: { unfurl_links: 'false', unfurl_media: 'false', parse: 'none', channel: '#shop' },
  })
  expect(fake.calls[0]?.args).not.toHaveProperty('link_names')
})

test('troubles are over for a sink that is opened anew, such as with another token', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  fake.fault({ method: 'chat.postMessage', error: 'invalid_auth', times: 1 })
  let troubles = 0
  const metrics = {
    counter: () => () => {},
    gauge: (name: string) => (value: number) => {
      if (name === 'troubles') troubles = value
    },
  }
  await using refused = await openSlack(fake, ALONE, { metrics })
  await refused.deliver([tellOf()], never)
  expect(troubles).toBe(1)
  await using anew = await openSlack(fake, ALONE, { metrics })
  expect(await anew.deliver([tellOf()], never)).toEqual([{ kind: 'delivered' }])
  expect(troubles).toBe(0)
})
