import { expect, test } from 'vitest'
import type { AcknowledgeAnswer, ActionTarget, SilenceAnswer, SinkActions } from '../../../src/sink/index.ts'
import { memoryStore, testContext } from '../../../src/sink/testkit/context.ts'
import { createAuthority } from '../../servers/certificates.ts'
import { startHttpProxy } from '../../servers/http-proxy.ts'
import { startReceiver } from '../../servers/receiver.ts'
import type { Posted } from '../../servers/slack/workspace.ts'
import { type FakeSlack, startSlack } from '../../servers/slack.ts'
import { waitFor } from '../../wait-for.ts'
import { never, openSlack, type SlackParts, tellOf } from './bed.ts'

const ALICE = 'U0000000001'
const MALLORY = 'U0000000666'
const UNTIL_MS = Date.UTC(2026, 10, 26, 14, 30)

/** Actions that note what they are asked for. */
function notedActions(offers: readonly ('silence' | 'acknowledge')[] = ['silence', 'acknowledge']) {
  const asked: { target: ActionTarget; forMs?: number; by: string }[] = []
  const answers: { silence?: SilenceAnswer; acknowledge?: AcknowledgeAnswer; error?: Error } = {}
  const actions: SinkActions = {
    of: (rule) => (rule === 'all' ? offers : []),
    async silence(target, forMs, by) {
      if (answers.error) throw answers.error
      asked.push({ target, forMs, by })
      return answers.silence ?? { kind: 'done', id: '3f9a1c2b', untilMs: UNTIL_MS, by }
    },
    async acknowledge(target, by) {
      asked.push({ target, by })
      return answers.acknowledge ?? { kind: 'done', by, atMs: UNTIL_MS }
    },
  }
  return { actions, asked, answers }
}

/** A sink with buttons that is connected, and the message that it sent. */
async function startButtons({
  options = {},
  message = {},
  cluster = 'test',
  offers = undefined as never,
} = {}) {
  const stack = new AsyncDisposableStack()
  const fake = stack.use(await startSlack({ perSecond: 50, burst: 50 }))
  fake.channel('shop')
  const noted = notedActions(offers)
  const context = testContext({ name: 'oncall', cluster, actions: noted.actions })
  const sink = stack.use(
    await openSlack(
      fake,
      {
        actions: {
          appToken: fake.clicks.appToken,
          users: [ALICE],
          historyUrl: 'https://herald.example.com/',
          ...options,
        },
      },
      context,
    ),
  )
  await connected(fake)
  const parts: SlackParts = { name: 'web-1', ...message }
  const send = async (more: SlackParts = {}) => {
    const outcomes = await sink.deliver([tellOf({ ...parts, ...more })], never)
    expect(outcomes).toMatchObject([{ kind: 'delivered' }])
    return fake.messages.at(-1) as Posted
  }
  const posted = await send()
  const audits = () => context.logged.flatMap(({ fields }) => ('audit' in fields ? [fields] : []))
  return Object.assign(stack, { fake, sink, context, posted, send, audits, ...noted })
}

async function connected(fake: FakeSlack, greeted = 1): Promise<void> {
  await waitFor(() => fake.clicks.greeted >= greeted && fake.clicks.connections > 0, { what: 'a connection' })
}

const buttonsIn = (it: Posted): string[] =>
  (it.attachments[0]?.blocks ?? [])
    .filter((block: { type: string }) => block.type === 'actions')
    .flatMap((block: { elements: { text: { text: string } }[] }) =>
      block.elements.map(({ text }) => text.text),
    )

const shownIn = (it: Posted | undefined) => JSON.stringify(it?.attachments)

test('a message has buttons for what can be done, and a link to the history of its object', async () => {
  await using it = await startButtons()
  expect(buttonsIn(it.posted)).toEqual(['Acknowledge', 'Silence 1 h', 'Silence 8 h', 'History'])
  const history = it.posted.attachments[0].blocks.at(-1).elements.at(-1)
  expect(history.url).toBe('https://herald.example.com/objects/ConfigMap/default/web-1')
})

test('a rule without incidents has no acknowledge button; durations are those of the sink', async () => {
  const options = { silence: ['30m', '2d'], historyUrl: undefined }
  await using it = await startButtons({ options, offers: ['silence'] as never })
  expect(buttonsIn(it.posted)).toEqual(['Silence 30 min', 'Silence 2 d'])
})

test("the end of an incident, replies and reports of kubeherald's own have no buttons", async () => {
  await using it = await startButtons()
  const reply = await it.send({ version: '8' })
  expect(reply.threadTs).toBe(it.posted.ts)
  expect(buttonsIn(reply)).toEqual([])
  await it.send({ name: 'web-2', summary: { severity: 'resolved' } })
  expect(buttonsIn(it.fake.messages.at(-1) as Posted)).toEqual([])
  expect(buttonsIn(await it.send({ name: 'web-3', rule: 'kubeherald:notify' }))).toEqual([])
})

test('names that a button cannot carry leave the buttons out, not the message', async () => {
  await using it = await startButtons({ message: { event: { name: 'x'.repeat(3_000) } } })
  expect(buttonsIn(it.posted)).toEqual([])
})

test('a click silences the rule for the object, is answered in the thread and shown in the message', async () => {
  await using it = await startButtons()
  await it.fake.clicks.click(it.posted, 'Silence 1 h')
  await waitFor(() => it.posted.updates === 1, { what: 'the message to show it' })
  expect(it.asked).toEqual([
    {
      target: { rule: 'all', kind: 'ConfigMap', namespace: 'default', name: 'web-1', isRegarded: false },
      forMs: 3_600_000,
      by: `slack:${ALICE} (alice)`,
    },
  ])
  const [reply] = it.fake.repliesTo(it.posted.ts)
  expect(reply?.text).toContain(`<@${ALICE}>`)
  expect(reply?.text).toContain('kubeherald silence expire 3f9a1c2b')
  expect(shownIn(it.posted)).toContain(`silenced until`)
  expect(buttonsIn(it.posted)).toContain('Silence 8 h')
  expect(it.audits()).toMatchObject([
    {
      who: `slack:${ALICE}`,
      name: 'alice',
      operation: 'silence',
      params: { rule: 'all', name: 'web-1' },
      ts: it.posted.ts,
      result: 'done',
    },
  ])
  expect(it.fake.clicks.faults).toEqual([])
})

test('of an Event the object that it is about is silenced', async () => {
  const kubeEvent = { regarding: { kind: 'Pod', namespace: 'shop', name: 'web-1' }, reason: 'BackOff' }
  await using it = await startButtons({ message: { event: { kind: 'Event' }, kubeEvent } })
  await it.fake.clicks.click(it.posted, 'Silence 8 h')
  await waitFor(() => it.asked.length === 1, { what: 'the silence' })
  expect(it.asked[0]?.target).toEqual({
    ...{ rule: 'all', kind: 'Pod', namespace: 'shop', name: 'web-1', isRegarded: true },
  })
})

test('acknowledging is answered, and a second click says who was first', async () => {
  await using it = await startButtons()
  await it.fake.clicks.click(it.posted, 'Acknowledge')
  await waitFor(() => it.fake.repliesTo(it.posted.ts).length === 1, { what: 'the reply' })
  it.answers.acknowledge = { kind: 'already', by: 'alice', atMs: UNTIL_MS }
  await it.fake.clicks.click(it.posted, 'Acknowledge')
  await waitFor(() => it.fake.repliesTo(it.posted.ts).length === 2, { what: 'the second reply' })
  expect(it.audits()).toMatchObject([{ result: 'done' }, { result: 'already' }])
  it.answers.acknowledge = { kind: 'none' }
  await it.fake.clicks.click(it.posted, 'Acknowledge')
  await waitFor(() => it.audits().length === 3, { what: 'the third click' })
  expect(it.audits()[2]).toMatchObject({ operation: 'acknowledge', result: 'nothing' })
  expect(it.posted.updates).toBe(1)
})

test.each<[what: string, click: object, parts?: object]>([
  ['a user who is not listed', { user: MALLORY, username: 'mallory' }],
  [
    'a guest of another workspace, where anyone may',
    { team: 'T99999999' },
    { options: { users: undefined, anyone: true } },
  ],
  ['a channel that is not listed', {}, { options: { channels: ['#elsewhere'] } }],
  ['a channel that the sink never wrote to', { forged: { channel: { id: 'C0999999999', name: 'random' } } }],
  ['a value that is not JSON', { value: '{' }],
  ['a value of another form', { value: '{"v":1,"__proto__":{"s":"oncall"},"constructor":1}' }],
  [
    'a value beyond what Slack takes',
    { value: JSON.stringify({ v: 1, s: 'x'.repeat(1_000_000) }).slice(0, 60_000) },
  ],
  ['a duration that the sink does not offer', { value: valueWith({ f: 86_400_000 * 365 }) }],
  ['a rule that is not there', { value: valueWith({ r: 'elsewhere' }) }],
  ['another cluster', { value: valueWith({ c: 'prod' }) }],
  ['another sink', { value: valueWith({ s: 'another' }) }],
  ['one that Slack delivers six minutes later', { agoMs: 360_000 }],
  ['one that Slack delivers hours later', { agoMs: 3 * 3_600_000 }],
  ['one without a time', { agoMs: Number.NaN }],
])('a click is refused, audited and answered for its user alone: %s', async (_, click, parts = {}) => {
  await using it = await startButtons(parts)
  await it.fake.clicks.click(it.posted, 'Silence 1 h', click)
  await waitFor(() => it.fake.clicks.answers.length === 1, { what: 'the answer' })
  expect(it.asked).toEqual([])
  expect(it.fake.repliesTo(it.posted.ts)).toEqual([])
  expect(it.posted.updates).toBe(0)
  expect(it.audits()).toMatchObject([{ result: 'refused' }])
  expect(it.fake.clicks.faults).toEqual([])
})

function valueWith(parts: object): string {
  return JSON.stringify({
    ...{ v: 1, s: 'oncall', c: 'test', r: 'all', k: 'ConfigMap', n: 'shop', o: 'web-1', f: 3_600_000 },
    ...parts,
  })
}

test('a click that comes late says so, and one that comes after minutes is done', async () => {
  await using it = await startButtons()
  await it.fake.clicks.click(it.posted, 'Silence 1 h', { agoMs: 3 * 3_600_000 })
  await waitFor(() => it.fake.clicks.answers.length === 1, { what: 'the answer' })
  expect(it.fake.clicks.answers[0]).toMatchObject({ user: ALICE, text: expect.stringContaining('180 min') })
  await it.fake.clicks.click(it.posted, 'Silence 1 h', { agoMs: 240_000 })
  await waitFor(() => it.asked.length === 1, { what: 'the silence' })
})

test('anyone of the workspace may click where the configuration allows it', async () => {
  await using it = await startButtons({ options: { users: undefined, anyone: true, channels: ['#sh*'] } })
  await it.fake.clicks.click(it.posted, 'Silence 1 h', { user: MALLORY })
  await waitFor(() => it.asked.length === 1, { what: 'the silence' })
})

test.each<[what: string, forged: object]>([
  ['of another app', { api_app_id: 'A0000000666' }],
  ['without a message', { message: null }],
  ['whose user is text', { user: 'U0000000001' }],
  ['whose actions are none', { actions: [] }],
  ['that is not a click', { type: 'view_submission' }],
])('an interaction is acknowledged and ignored: %s', async (_, forged) => {
  await using it = await startButtons()
  await it.fake.clicks.click(it.posted, 'Silence 1 h', { forged })
  await it.fake.clicks.click(it.posted, 'Silence 8 h')
  await waitFor(() => it.asked.length === 1, { what: 'the click that counts' })
  expect(it.asked[0]?.forMs).toBe(28_800_000)
})

test('answers go to Slack only', async () => {
  await using it = await startButtons()
  await using elsewhere = await startReceiver()
  const forged = { response_url: elsewhere.url, user: { id: MALLORY } }
  await it.fake.clicks.click(it.posted, 'Silence 1 h', { forged })
  await waitFor(() => it.audits().length === 1, { what: 'the refusal' })
  await it.fake.clicks.click(it.posted, 'Silence 1 h', { user: MALLORY })
  await waitFor(() => it.fake.clicks.answers.length === 1, { what: 'an answer to Slack' })
  expect(elsewhere.requests).toEqual([])
})

test('without Redis the user is asked to try again, and the click is audited', async () => {
  await using it = await startButtons()
  it.answers.error = new Error('no connection')
  await it.fake.clicks.click(it.posted, 'Silence 1 h')
  await waitFor(() => it.fake.clicks.answers.length === 1, { what: 'the answer' })
  expect(it.audits()).toMatchObject([{ result: 'failed' }])
})

test('a connection that is lost, replaced or damaged comes back, and deliveries never notice', async () => {
  await using it = await startButtons()
  const { clicks } = it.fake
  clicks.refresh()
  await connected(it.fake, 2)
  for (const text of ['null', '7', '{', '{"type":"events_api"}', '{"type":"interactive","payload":null}'])
    clicks.say(text)
  await clicks.ping()
  clicks.cut()
  await connected(it.fake, 3)
  await it.send({ name: 'web-2' })
  await clicks.click(it.posted, 'Silence 1 h')
  await waitFor(() => it.asked.length === 1, { what: 'the silence' })
})

test('a token that Slack refuses is no failure of deliveries, and shows what to do', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  fake.clicks.refusal = 'invalid_auth'
  const clock = { ms: Date.now(), now: () => clock.ms }
  const context = testContext({ clock, store: memoryStore(clock), actions: notedActions().actions })
  const actions = { appToken: fake.clicks.appToken, anyone: true }
  await using sink = await openSlack(fake, { actions }, context)
  const warned = () => context.logged.filter(({ level }) => level === 'warn')
  await waitFor(() => warned().length === 1, { what: 'a warning' })
  expect(await sink.deliver([tellOf()], never)).toEqual([{ kind: 'delivered' }])
  expect(await sink.health?.(never)).toMatchObject({ ok: true })
  clock.ms += 300_000
  const health = await sink.health?.(never)
  expect(health).toMatchObject({ ok: true, warnings: [expect.stringContaining('invalid_auth')] })
  // Known without a question, so that it shows while the sink delivers.
  expect(sink.warnings?.()).toEqual([expect.stringContaining('invalid_auth')])
  expect(context.loggedText() + JSON.stringify(health)).not.toContain(fake.clicks.appToken)
  fake.clicks.refusal = undefined
  await connected(fake)
  await waitFor(async () => !JSON.stringify(await sink.health?.(never)).includes('invalid_auth'), {
    what: 'the end of the warning',
  })
})

test('without actions in its context, as in check, a sink asks about the token and gets no clicks', async () => {
  await using fake = await startSlack()
  fake.channel('shop')
  const options = { actions: { appToken: fake.clicks.appToken, anyone: true } }
  await using sink = await openSlack(fake, options)
  expect(await sink.health?.(never)).toMatchObject({ ok: true })
  expect(fake.clicks.greeted).toBe(0)
  fake.clicks.refusal = 'invalid_auth'
  expect(await sink.health?.(never)).toMatchObject({ ok: false, reason: 'auth' })
})

test('sinks of one app share a connection, and each gets its own clicks', async () => {
  await using it = await startButtons()
  const other = notedActions()
  const actions = { appToken: it.fake.clicks.appToken, anyone: true }
  const context = { name: 'second', actions: other.actions }
  await using second = await openSlack(it.fake, { actions, mode: 'message' }, context)
  await second.deliver([tellOf({ name: 'web-9' })], never)
  await it.fake.clicks.click(it.fake.messages.at(-1) as Posted, 'Silence 1 h')
  await it.fake.clicks.click(it.posted, 'Silence 1 h')
  await waitFor(() => other.asked.length === 1 && it.asked.length === 1, { what: 'both silences' })
  expect(it.fake.clicks.greeted).toBe(1)
  await it.sink.close()
  await it.fake.clicks.click(
    it.fake.messages.find(({ text }) => text.includes('web-9')) as Posted,
    'Silence 8 h',
  )
  await waitFor(() => other.asked.length === 2, { what: 'a click after the first sink is gone' })
})

test('the connection goes through the proxy and trusts the authority of the company', async () => {
  const authority = createAuthority('company')
  await using fake = await startSlack({ tls: authority.issue('slack') })
  fake.channel('shop')
  await using proxy = await startHttpProxy()
  const actions = { appToken: fake.clicks.appToken, anyone: true }
  const noted = notedActions()
  const options = { actions, proxy: proxy.url, ca: authority.cert }
  await using sink = await openSlack(fake, options, { actions: noted.actions, cluster: 'test' })
  await connected(fake)
  const host = new URL(fake.apiUrl).host
  expect(proxy.asked.filter((it) => it === host).length).toBeGreaterThanOrEqual(2)
  await sink.deliver([tellOf()], never)
  await fake.clicks.click(fake.messages[0] as Posted, 'Silence 1 h')
  await waitFor(() => noted.asked.length === 1, { what: 'the silence' })
})

test('a workspace that allows no more connections is asked again, and the operator is told', async () => {
  await using fake = await startSlack()
  fake.clicks.limit = 0
  const context = testContext({ actions: notedActions().actions })
  const actions = { appToken: fake.clicks.appToken, anyone: true }
  await using _sink = await openSlack(fake, { actions }, context)
  await waitFor(() => context.loggedText().includes('too_many_websockets'), { what: 'a warning' })
  fake.clicks.limit = 1
  await connected(fake)
})

test('a message as large as Slack takes keeps its buttons, and nothing of it is refused', async () => {
  const name = 'n'.repeat(253)
  const long = 'x'.repeat(20_000)
  const content = {
    title: long,
    text: long,
    quote: long,
    logs: long,
    fields: Array.from({ length: 8 }, (_, i) => ({ title: `f${i}`, value: long })),
  }
  await using it = await startButtons({
    options: { silence: ['1h', '2h', '3h'] },
    message: { event: { name, namespace: name, kind: 'K'.repeat(60) }, content },
  })
  expect(buttonsIn(it.posted)).toHaveLength(5)
  expect(it.fake.calls.filter(({ error }) => error !== '')).toEqual([])
})
