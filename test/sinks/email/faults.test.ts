import { hostname } from 'node:os'
import { afterEach, expect, test, vi } from 'vitest'
import type { EmailRoute } from '../../../sinks/email/config.ts'
import { createDelivery } from '../../../sinks/email/deliver.ts'
import email from '../../../sinks/email/index.ts'
import { createSessions } from '../../../sinks/email/sessions.ts'
import type { Message, Outcome, SinkType } from '../../../src/sink/index.ts'
import { memoryStore } from '../../../src/sink/testkit/context.ts'
import { messageOf, sampleMessages } from '../../../src/sink/testkit/messages.ts'
import { createAuthority } from '../../servers/certificates.ts'
import { freePort } from '../../servers/ports.ts'
import {
  type FakeSmtp,
  type SmtpAnswer,
  type SmtpOptions,
  type SmtpStep,
  startSmtp,
} from '../../servers/smtp.ts'
import { waitFor } from '../../wait-for.ts'
import { contextOf, openSink, optionsOf } from '../bed.ts'
import { partsOf } from './mail.ts'

const never = new AbortController().signal
const type = email as SinkType
const authority = createAuthority('a test')
const certificate = authority.issue('mail.example.com')
const TRUST = { ca: authority.cert }
const PASSWORD = 'hunter2hunter2'

const started: FakeSmtp[] = []
afterEach(async () => {
  for (const smtp of started.splice(0)) {
    expect(smtp.violations).toEqual([])
    await smtp[Symbol.asyncDispose]()
  }
})

async function start(options: SmtpOptions = {}): Promise<FakeSmtp> {
  const smtp = await startSmtp(options)
  started.push(smtp)
  return smtp
}

const optionsFor = ({ port }: { port: number }, more: object = {}) => ({
  host: '127.0.0.1',
  port,
  tls: 'none',
  from: 'kubeherald@example.com',
  to: 'oncall@example.com',
  timeout: '20s',
  ...more,
})

async function deliver(
  smtp: { port: number },
  more: object = {},
  messages: Message[] = [messageOf({}, type)],
  context = {},
): Promise<Outcome[]> {
  await using sink = await openSink(type, optionsFor(smtp, more), context)
  return await sink.deliver(messages, never)
}

type Fault = [what: string, step: SmtpStep, answer: SmtpAnswer, outcome: object]

const RETRIED: readonly Fault[] = [
  [
    '421 for a greeting',
    'GREETING',
    { answer: '421 4.3.2 shutting down' },
    { reason: 'server-error', scope: 'sink' },
  ],
  ['554 for a greeting', 'GREETING', { answer: '554 5.7.1 go away' }, { scope: 'sink' }],
  ['no greeting', 'GREETING', { hang: true }, { reason: 'timeout', scope: 'sink' }],
  [
    'garbage for a greeting',
    'GREETING',
    { answer: 'HTTP/1.1 400 Bad Request' },
    { reason: 'config', scope: 'sink' },
  ],
  ['a cut before the greeting', 'GREETING', { cut: true }, { reason: 'network', scope: 'sink' }],
  [
    '530 for a sender',
    'MAIL',
    { answer: '530 5.7.0 Must issue a STARTTLS command first' },
    { reason: 'auth', scope: 'sink' },
  ],
  [
    '550 for a sender',
    'MAIL',
    { answer: '550 5.7.1 sender not owned by user' },
    { reason: 'config', scope: 'sink' },
  ],
  ['421 in the middle', 'RCPT', { answer: '421 4.4.2 closing' }, { reason: 'server-error', scope: 'sink' }],
  [
    'a mailbox that is greylisted',
    'RCPT',
    { answer: '450 4.2.0 greylisted' },
    { reason: 'server-error', scope: 'target' },
  ],
  [
    'a relay that is not permitted',
    'RCPT',
    { answer: '554 5.7.1 Relay access denied' },
    { reason: 'config', scope: 'target' },
  ],
  [
    'a limit of the day',
    'END',
    { answer: '550 5.4.5 Daily user sending limit exceeded' },
    { reason: 'rate-limited', scope: 'sink' },
  ],
  [
    'a sender without permission',
    'END',
    { answer: '554 5.2.252 SendAsDenied' },
    { reason: 'auth', scope: 'sink' },
  ],
  [
    'an account of Amazon SES that is suspended',
    'END',
    { answer: '554 Message rejected: Sending paused for this account. For more information, please check' },
    { reason: 'auth', scope: 'sink' },
  ],
  [
    'a sender of SendGrid that is not verified',
    'END',
    { answer: '550 The from address does not match a verified Sender Identity. Mail cannot be sent until' },
    { reason: 'auth', scope: 'sink' },
  ],
  [
    'a sender of Microsoft 365 that is blocked',
    'END',
    { answer: '550 5.1.8 Access denied, bad outbound sender' },
    { reason: 'auth', scope: 'sink' },
  ],
  [
    'no storage',
    'END',
    { answer: '452 4.3.1 insufficient storage' },
    { reason: 'server-error', scope: 'sink' },
  ],
  [
    'a message refused for now',
    'END',
    { answer: '451 4.6.0 scanner failed' },
    { reason: 'server-error', scope: 'event' },
  ],
  ['a cut after the dot', 'END', { cut: true }, { reason: 'network', scope: 'sink', ambiguous: true }],
  ['no answer after the dot', 'END', { hang: true }, { reason: 'timeout', scope: 'sink', ambiguous: true }],
  ['garbage after the dot', 'END', { answer: 'what?' }, { reason: 'config', scope: 'sink', ambiguous: true }],
]

test.each(RETRIED)('%s is a retry, and the next delivery passes', async (_, step, answer, outcome) => {
  const nextPasses = async (pipelining: boolean) => {
    const smtp = await start({ pipelining })
    const more = 'hang' in answer ? { timeout: '2s' } : {}
    await using sink = await openSink(type, optionsFor(smtp, more))
    smtp.onStep((it) => (it === step ? answer : undefined))
    const message = messageOf({}, type)
    const [first] = await sink.deliver([message], never)
    expect(first).toMatchObject({ kind: 'retry', ...outcome })
    if (!('ambiguous' in outcome)) expect(first).not.toHaveProperty('ambiguous')
    smtp.onStep(undefined)
    expect(await sink.deliver([message], never)).toEqual([{ kind: 'delivered' }])
    const ids = smtp.mails.map(({ raw }) => partsOf(raw).headers['message-id'])
    expect(new Set(ids).size).toBe(1)
  }
  await Promise.all([true, false].map(nextPasses))
})

test.each<Fault>([
  ['an unknown recipient', 'RCPT', { answer: '550 5.1.1 no such user' }, { reason: 'rejected' }],
  ['a refused message', 'END', { answer: '554 5.6.0 looks like spam' }, { reason: 'rejected' }],
])('%s is a dead letter with the answer', async (_, step, answer, outcome) => {
  const smtp = await start()
  smtp.onStep((it) => (it === step ? answer : undefined))
  const detail = expect.stringContaining((answer as { answer: string }).answer.slice(4))
  expect(await deliver(smtp)).toMatchObject([{ kind: 'rejected', detail, ...outcome }])
})

test('a session begins with the full name of the machine, else with the domain of the sender', async () => {
  const smtp = await start()
  await deliver(smtp)
  const name = hostname().includes('.') ? hostname() : 'example.com'
  expect(smtp.commands[0]).toBe(`EHLO ${name}`)
})

test('a server may take longer for its answer to a mail than timeout: it is sent once', async () => {
  const smtp = await start()
  await using sink = await openSink(type, optionsFor(smtp, { timeout: '2s' }))
  // As one that scans mails: it has the mail, and answers later.
  smtp.onStep((step) => (step === 'END' ? { delayMs: 3_000 } : undefined))
  // Where the machine pauses, there may be no session in time.
  const arrived = async () => {
    const [outcome] = await sink.deliver([messageOf({}, type)], never)
    return outcome?.kind === 'retry' && !outcome.ambiguous ? undefined : outcome
  }
  expect(await waitFor(arrived, { what: 'a session' })).toEqual({ kind: 'delivered' })
  expect(smtp.mails).toHaveLength(1)
})

test('a session of which one message was refused takes the next one', async () => {
  const smtp = await start()
  smtp.onStep((step, argument) =>
    step === 'RCPT' && argument.startsWith('nosuch') ? { answer: '550 5.1.1 no' } : undefined,
  )
  const route = { to: [{ constant: true, source: '', render: () => 'nosuch@example.com' }] }
  const messages = [messageOf({ name: 'bad', route }, type), messageOf({ name: 'good' }, type)]
  const outcomes = await deliver(smtp, { concurrency: 1 }, messages)
  expect(outcomes.map(({ kind }) => kind)).toEqual(['rejected', 'delivered'])
  expect(smtp.opened).toBe(1)
})

test('who has a message does not get it again while another recipient is away', async () => {
  const smtp = await start()
  smtp.onStep((step, argument) =>
    step === 'RCPT' && argument.startsWith('b@') ? { answer: '452 4.2.2 full' } : undefined,
  )
  const store = memoryStore()
  const message = messageOf({}, type)
  const more = { to: ['a@example.com', 'b@example.com'] }
  expect(await deliver(smtp, more, [message], { store })).toMatchObject([{ kind: 'retry', scope: 'target' }])
  smtp.onStep(undefined)
  expect(await deliver(smtp, more, [message], { store })).toEqual([{ kind: 'delivered' }])
  expect(smtp.mails.map(({ to }) => to)).toEqual([['a@example.com'], ['b@example.com']])
  const [first, second] = smtp.mails.map(({ raw }) => partsOf(raw).headers)
  expect(second?.['message-id']).toBe(first?.['message-id'])
})

test('a mailbox that stays full holds up the mail of others for ten minutes, and then has dead letters', async () => {
  const smtp = await start()
  smtp.onStep((step, argument) => {
    if (step !== 'RCPT') return undefined
    if (argument.startsWith('nosuch@')) return { answer: '550 5.1.1 no such user' }
    return argument.startsWith('full@') ? { answer: '452 4.2.2 full' } : undefined
  })
  let nowMs = Date.now()
  const to = ['a@example.com', 'nosuch@example.com', 'full@example.com']
  const context = { store: memoryStore(), clock: { now: () => nowMs } }
  await using sink = await openSink(type, optionsFor(smtp, { to }), context)
  const batch = (version: string) => ['x', 'y'].map((name) => messageOf({ name, version }, type))
  const kinds = async (messages: Message[]) => (await sink.deliver(messages, never)).map(({ kind }) => kind)
  expect(await kinds(batch('1'))).toEqual(['retry', 'retry'])
  nowMs += 9 * 60_000
  expect(await kinds(batch('1'))).toEqual(['retry', 'retry'])
  nowMs += 60_000
  const dead = {
    kind: 'rejected',
    reason: 'expired',
    detail: expect.stringContaining('full@example.com: 452'),
  }
  expect(await sink.deliver([...batch('1'), ...batch('2')], never)).toMatchObject([dead, dead, dead, dead])
  const got = smtp.mails.filter((it) => it.to.includes('a@example.com'))
  expect(new Set(got.map(({ raw }) => partsOf(raw).headers['message-id'])).size).toBe(4)
  expect(got).toHaveLength(4)
  // One that is back is waited for again.
  smtp.onStep(undefined)
  expect(await kinds([messageOf({ name: 'z' }, type)])).toEqual(['delivered'])
  smtp.onStep((step, argument) =>
    step === 'RCPT' && argument.startsWith('full@') ? { answer: '450 4.2.0 greylisted' } : undefined,
  )
  expect(await kinds([messageOf({ name: 'z', version: '8' }, type)])).toEqual(['retry'])
})

test('mails for which a slow server leaves no time or no session wait, and have not failed', async () => {
  const smtp = await start()
  const beginMs = 60_000
  const begin = new AbortController()
  const timeout = AbortSignal.timeout
  using _ = vi
    .spyOn(AbortSignal, 'timeout')
    .mockImplementation((ms) => (ms === beginMs ? begin.signal : timeout.call(AbortSignal, ms)))
  smtp.onStep((step) => {
    if (step === 'END') begin.abort()
    return undefined
  })
  const config = await optionsOf(email, optionsFor(smtp, { concurrency: 1 }))
  const { host, port, tls, auth, timeout: timeoutMs } = config
  const sessions = createSessions({ host, port, tls, auth, timeoutMs }, 1)
  const { store, log, userAgent } = contextOf()
  const deliver = createDelivery({
    ...{ name: 'mail', beginMs, callMs: beginMs, config, sessions, store, log, userAgent },
    ...{ now: Date.now, mask: (text: string) => text, onRefused() {} },
  })
  const messages = (prefix: string) =>
    sampleMessages(2, { type, prefix, objects: 2 }) as Message<EmailRoute>[]
  const [first, second] = await Promise.all([deliver(messages('a'), never), deliver(messages('b'), never)])
  expect([first, second]).toEqual([
    [{ kind: 'delivered' }, { kind: 'later', afterMs: 0 }],
    [
      { kind: 'later', afterMs: 0 },
      { kind: 'later', afterMs: 0 },
    ],
  ])
  expect(smtp.mails).toHaveLength(1)
  await sessions.close()
})

test('a dead session costs one timeout, however many are idle', async () => {
  const smtp = await start()
  await using sink = await openSink(type, optionsFor(smtp, { timeout: '3s' }))
  smtp.onStep((step) => (step === 'END' ? { delayMs: 100 } : undefined))
  await sink.deliver(sampleMessages(3, { type, objects: 3 }), never)
  expect(smtp.opened).toBe(3)
  // Beyond a second a session is not sure to work.
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  smtp.onStep((step) => (step === 'RSET' ? { hang: true } : undefined))
  expect(await sink.deliver([messageOf({}, type)], never)).toEqual([{ kind: 'delivered' }])
  expect(smtp.commands.filter((it) => it === 'RSET')).toHaveLength(1)
})

test.each([
  ['the recipient', 'RCPT'],
  ['the message', 'END'],
] as const)('a first mail of which %s is refused begins no thread', async (_, refused) => {
  const smtp = await start()
  await using sink = await openSink(type, optionsFor(smtp))
  smtp.onStep((step) => (step === refused ? { answer: '550 5.1.1 no' } : undefined))
  expect(await sink.deliver([messageOf({}, type)], never)).toMatchObject([{ kind: 'rejected' }])
  smtp.onStep(undefined)
  await sink.deliver([messageOf({ version: '8' }, type)], never)
  const [headers] = smtp.mails.map(({ raw }) => partsOf(raw).headers)
  expect(headers).not.toHaveProperty('references')
  expect(headers?.['subject']).not.toMatch(/^Re:/)
})

test('recipients that take nothing now are asked once a batch', async () => {
  const smtp = await start()
  smtp.onStep((step) => (step === 'RCPT' ? { answer: '450 4.2.1 not now' } : undefined))
  const outcomes = await deliver(smtp, { concurrency: 1 }, sampleMessages(5, { type, objects: 5 }))
  expect(outcomes).toHaveLength(5)
  for (const it of outcomes) expect(it).toMatchObject({ kind: 'retry', scope: 'target' })
  expect(smtp.commands.filter((it) => it.startsWith('RCPT'))).toHaveLength(1)
})

test('STARTTLS that is not offered is never replaced by plain text', async () => {
  const smtp = await start({ auth: { user: 'herald', password: PASSWORD } })
  const more = { tls: 'starttls', auth: { user: 'herald', password: PASSWORD } }
  expect(await deliver(smtp, more)).toMatchObject([{ kind: 'retry', reason: 'config', scope: 'sink' }])
  expect(smtp.commands).not.toContain('AUTH')
  expect(smtp.commands.filter((it) => it.startsWith('MAIL'))).toEqual([])
})

test.each([
  ['an unknown authority', 'starttls', {}, 'ca:'],
  ['another name', { ...TRUST, servername: 'other.example.com' }, {}, 'servername'],
  [
    'an expired certificate',
    TRUST,
    { tls: authority.issue('mail', undefined, { expired: true }) },
    'expired',
  ],
  ['an unknown authority, TLS from the start', 'implicit', { implicit: true }, 'ca:'],
])('%s is a retry that names the remedy', async (_, tls, server, hint) => {
  const smtp = await start({ tls: certificate, ...server })
  const [outcome] = await deliver(smtp, { tls })
  expect(outcome).toMatchObject({ kind: 'retry', scope: 'sink', detail: expect.stringContaining(hint) })
  expect(smtp.mails).toEqual([])
})

test('a port of the other kind of TLS is named as such', async () => {
  const [plain, implicit] = [
    await start({ tls: certificate }),
    await start({ tls: certificate, implicit: true }),
  ]
  const timeout = '2s'
  expect(await deliver(plain, { tls: 'implicit', timeout })).toMatchObject([
    { kind: 'retry', detail: expect.stringContaining('starttls') },
  ])
  expect(await deliver(implicit, { tls: TRUST, timeout })).toMatchObject([
    { kind: 'retry', detail: expect.stringContaining('implicit') },
  ])
})

test('a refused password fails the sink, and appears nowhere, however the server repeats it', async () => {
  const smtp = await start({ tls: certificate, auth: { user: 'herald', password: 'another-password' } })
  await using sink = await openSink(
    type,
    optionsFor(smtp, { tls: TRUST, auth: { user: 'herald', password: PASSWORD } }),
  )
  const found = [await sink.deliver([messageOf({}, type)], never), await sink.health?.(never)]
  expect(found).toMatchObject([
    [{ kind: 'retry', reason: 'auth', scope: 'sink' }],
    { ok: false, reason: 'auth' },
  ])
  const text = JSON.stringify(found)
  for (const secret of [PASSWORD, Buffer.from(`\0herald\0${PASSWORD}`).toString('base64')])
    expect(text).not.toContain(secret)
})

test('nobody who listens is a retry of the sink', async () => {
  expect(await deliver({ port: await freePort() })).toMatchObject([
    { kind: 'retry', reason: 'network', scope: 'sink' },
  ])
})

test.each([true, false])(
  'what is too large is shortened once, else a dead letter; the server says its size: %s',
  async (announces) => {
    const big = await start({ maxBytes: 12_000, hidesSize: !announces })
    const long = messageOf({ summary: { text: 'x y '.repeat(5_000), quote: 'z '.repeat(4_000) } }, type)
    expect(await deliver(big, {}, [long])).toEqual([{ kind: 'delivered', note: 'truncated' }])
    const tiny = await start({ maxBytes: 500, hidesSize: !announces })
    expect(await deliver(tiny, {}, [long])).toMatchObject([
      { kind: 'rejected', detail: expect.stringContaining('large') },
    ])
  },
)

test('sessions are shared, bounded, replaced when they are gone, and ended by close', async () => {
  const smtp = await start()
  const sink = await openSink(type, optionsFor(smtp, { concurrency: 2 }))
  let most = 0
  smtp.onStep(() => {
    most = Math.max(most, smtp.sessions())
    return undefined
  })
  const send = (prefix: string, count: number) =>
    sink.deliver(sampleMessages(count, { type, prefix, objects: 6 }), never)
  await Promise.all([send('a', 12), send('b', 12)])
  expect(most).toBe(2)
  expect(smtp.opened).toBe(2)
  smtp.cut()
  await waitFor(() => smtp.sessions() === 0, { what: 'no session' })
  expect((await send('c', 2)).map(({ kind }) => kind)).toEqual(['delivered', 'delivered'])
  await send('d', 120)
  // At most a hundred messages each.
  expect(smtp.opened).toBeGreaterThan(4 - 1)
  await sink.close()
  await waitFor(() => smtp.sessions() === 0, { what: 'no session after close' })
})

test('Redis that is away is a retry of the sink, and nothing is sent', async () => {
  const smtp = await start()
  const away = () => Promise.reject(new Error('away'))
  const store = { ...memoryStore(), get: away, add: away, set: away }
  expect(await deliver(smtp, {}, undefined, { store })).toMatchObject([
    { kind: 'retry', scope: 'sink', reason: 'network' },
  ])
  expect(smtp.mails).toEqual([])
})
