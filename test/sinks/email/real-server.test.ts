import { afterAll, beforeAll, expect, test } from 'vitest'
import email from '../../../sinks/email/index.ts'
import type { Message, Outcome, SinkType } from '../../../src/sink/index.ts'
import { memoryStore } from '../../../src/sink/testkit/context.ts'
import { messageOf, noticeMessages } from '../../../src/sink/testkit/messages.ts'
import { type Exim, MAX_BYTES, startExim, USER } from '../../servers/exim.ts'
import { waitFor } from '../../wait-for.ts'
import { openSink, optionsOf } from '../bed.ts'
import { partsOf } from './mail.ts'

let exim: Exim
beforeAll(async () => {
  exim = await startExim()
})
afterAll(() => exim?.[Symbol.asyncDispose]())

const never = new AbortController().signal
const type = email as SinkType

const options = (more: object = {}) => ({
  host: '127.0.0.1',
  port: exim.port,
  tls: { ca: exim.ca },
  auth: USER,
  from: 'kubeherald <kubeherald@example.com>',
  to: 'alice@example.com',
  ...more,
})

async function deliver(more: object, messages: Message[], context: object = {}): Promise<Outcome[]> {
  await using sink = await openSink(type, options(more), context)
  return await sink.deliver(messages, never)
}

/** The mails of a mailbox about an object, once there are so many. */
async function mailsOf(box: string, object: string, count = 1) {
  const found = () =>
    exim
      .mailbox(box)
      .map(partsOf)
      .filter(({ headers }) => headers['x-kubeherald-id']?.includes(object))
  await waitFor(() => found().length >= count, { what: `${count} mails about ${object}` })
  return found()
}

test.each([
  ['STARTTLS', () => ({})],
  ['TLS from the start', () => ({ port: exim.implicitPort, tls: { mode: 'implicit', ca: exim.ca } })],
])('a mail arrives over %s, signed in, with text, HTML and headers', async (what, more) => {
  const name = what.replaceAll(/\W/g, '').toLowerCase()
  const message = messageOf(
    { name, summary: { title: 'Größe von web geändert', severity: 'error', quote: 'no <space> left' } },
    type,
  )
  expect(
    await deliver({ to: 'Team <team@elsewhere.example>', cc: ['bob@example.com'], ...more() }, [message]),
  ).toEqual([{ kind: 'delivered' }])
  const [mail] = await mailsOf('team', name)
  expect(mail?.headers).toMatchObject({
    from: 'kubeherald <kubeherald@example.com>',
    to: 'Team <team@elsewhere.example>',
    cc: 'bob@example.com',
    subject: '[test] Größe von web geändert',
    'auto-submitted': 'auto-generated',
    'x-auto-response-suppress': 'All',
    'x-kubeherald-id': message.id,
    'x-kubeherald-severity': 'error',
    importance: 'high',
  })
  expect(mail?.headers['content-type']).toContain('multipart/alternative')
  expect(mail?.text).toContain('no <space> left')
  expect(mail?.html).toContain('no &lt;space&gt; left')
  expect(await mailsOf('bob', name)).toHaveLength(1)
})

test('health connects, signs in, and sends nothing; a wrong password and an unknown authority are its findings', async () => {
  const healthOf = async (more: object) => {
    await using sink = await openSink(type, options(more))
    return await sink.health?.(never)
  }
  const before = exim.mailbox('alice').length
  expect(await healthOf({})).toEqual({ ok: true })
  expect(exim.mailbox('alice')).toHaveLength(before)
  const wrong = await healthOf({ auth: { user: 'herald', password: 'not-the-password' } })
  expect(wrong).toMatchObject({ ok: false, reason: 'auth' })
  expect(JSON.stringify(wrong)).not.toContain('not-the-password')
  expect(await healthOf({ tls: 'starttls' })).toMatchObject({
    ok: false,
    reason: 'network',
    detail: expect.stringContaining('ca:'),
  })
  expect(await healthOf({ tls: 'implicit' })).toMatchObject({ ok: false, reason: 'config' })
})

test('mails of an object are one thread, up to what ends it; the next trouble begins another', async () => {
  const store = memoryStore()
  const send = (parts: object) => deliver({}, [messageOf({ name: 'threaded', ...parts }, type)], { store })
  await send({ version: '1', summary: { title: 'web is crash-looping' } })
  await send({ version: '2', summary: { title: 'web is still crash-looping' } })
  await send({ version: '3', summary: { title: 'web recovered', severity: 'resolved' } })
  await send({ version: '4', summary: { title: 'web cannot pull its image' } })
  const mails = await mailsOf('alice', 'threaded', 4)
  const [root, reply, end, next] = ['1', '2', '3', '4'].map((version) =>
    mails.find(({ headers }) => headers['x-kubeherald-id']?.includes(`/${version}/`)),
  )
  const id = root?.headers['message-id'] ?? ''
  expect(id).toMatch(/^<[0-9a-f]{40}@example\.com>$/)
  expect(root?.headers['references']).toBeUndefined()
  for (const it of [reply, end])
    expect(it?.headers).toMatchObject({
      references: id,
      'in-reply-to': id,
      subject: 'Re: [test] web is crash-looping',
    })
  expect(next?.headers).toMatchObject({ subject: '[test] web cannot pull its image' })
  expect(next?.headers['references']).toBeUndefined()
})

test('digests and resolve notifications arrive', async () => {
  const notices = noticeMessages(type).map(({ message }) => message)
  expect((await deliver({}, notices)).map(({ kind }) => kind)).toEqual(notices.map(() => 'delivered'))
})

test('a recipient who does not exist is a dead letter, with the answer; others get their mail, and a replay is for the rest', async () => {
  const store = memoryStore()
  const message = messageOf({ name: 'partial' }, type)
  const to = ['bob@example.com', 'nosuch@example.com']
  const [first] = await deliver({ to }, [message], { store })
  expect(first).toMatchObject({
    kind: 'rejected',
    reason: 'rejected',
    detail: expect.stringMatching(/bob@.*nosuch@.*550/),
  })
  const [second] = await deliver({ to }, [message], { store })
  expect(second).toMatchObject({ kind: 'rejected' })
  const [alone] = await deliver({ to: 'nosuch@example.com' }, [message], { store })
  expect(alone).toMatchObject({
    kind: 'rejected',
    reason: 'rejected',
    detail: expect.stringContaining('no such user'),
  })
  expect(await mailsOf('bob', 'partial')).toHaveLength(1)
})

test('a full mailbox holds its own mail only', async () => {
  const store = memoryStore()
  const route = await optionsOf({ config: type.route } as SinkType, {
    to: ['full@example.com', 'carol@example.com'],
  })
  const full = messageOf({ name: 'full', route }, type)
  const other = messageOf({ name: 'other' }, type)
  const [waits, passes] = await deliver({}, [full, other], { store })
  expect(waits).toMatchObject({ kind: 'retry', scope: 'target', detail: expect.stringContaining('452') })
  expect(passes).toEqual({ kind: 'delivered' })
  await deliver({}, [full], { store })
  expect(await mailsOf('carol', 'full')).toHaveLength(1)
})

test('a relay that is not permitted is for an operator to mend: nothing is lost', async () => {
  const message = messageOf({ name: 'relay' }, type)
  const [outcome] = await deliver({ auth: undefined, to: 'team@elsewhere.example' }, [message])
  expect(outcome).toMatchObject({ kind: 'retry', scope: 'target', reason: 'config' })
})

test('a message that is too large for the server is shortened', async () => {
  const long = 'Größe & Maße '.repeat(500)
  const fields = Array.from({ length: 8 }, (_, i) => ({ title: `f${i}`, value: long }))
  const summary = {
    text: long,
    quote: long,
    fields,
    changes: fields.map(({ title }) => ({ path: title, old: long, new: long })),
  }
  const message = messageOf({ name: 'large', summary }, type)
  expect(await deliver({}, [message])).toEqual([{ kind: 'delivered', note: 'truncated' }])
  const [mail] = await mailsOf('alice', 'large')
  expect(Buffer.byteLength(JSON.stringify(mail))).toBeLessThan(MAX_BYTES)
})
