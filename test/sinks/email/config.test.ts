import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isAllowed, mailboxIn } from '../../../sinks/email/addresses.ts'
import email from '../../../sinks/email/index.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { Message, SinkType } from '../../../src/sink/index.ts'
import { memoryStore } from '../../../src/sink/testkit/context.ts'
import { messageOf } from '../../../src/sink/testkit/messages.ts'
import { builtInSinks } from '../../../src/sink-types.ts'
import { createAuthority } from '../../servers/certificates.ts'
import { startSmtp } from '../../servers/smtp.ts'
import { openSink, optionsOf } from '../bed.ts'
import { partsOf } from './mail.ts'

const type = email as SinkType
const BASE = { host: 'smtp.example.com', from: 'kubeherald@example.com', to: 'oncall@example.com' }
const never = new AbortController().signal

async function issuesOf(options: object, schema: any = type.config): Promise<string[]> {
  const checked = await schema['~standard'].validate(options)
  return (checked.issues ?? []).map((it: any) => `${(it.path ?? []).join('.')}: ${it.message}`)
}

test.each([
  ['starttls', 587],
  ['implicit', 465],
  ['none', 25],
])('the port of tls: %s is %i', async (tls, port) => {
  expect(await optionsOf(type, { ...BASE, tls })).toMatchObject({ port, tls: { mode: tls } })
  expect(await optionsOf(type, { ...BASE, tls: { mode: tls }, port: 2525 })).toMatchObject({ port: 2525 })
})

test('TLS is STARTTLS, unless the file has something else', async () => {
  expect(await optionsOf(type, BASE)).toMatchObject({ port: 587, tls: { mode: 'starttls' }, mode: 'thread' })
})

const AUTH = { user: 'herald', password: 'secret' }

test.each([
  [{ ...BASE, tls: 'none', auth: AUTH }, 'auth: would send the password in plain text'],
  [{ ...BASE, tls: 'ssl' }, 'tls: must be one of starttls, implicit, none'],
  [{ ...BASE, host: 'smtp.example.com:587' }, 'host: must be without a port'],
  [{ ...BASE, host: 'smtp://example.com' }, 'host: must be the name or address'],
  [{ ...BASE, host: '169.254.169.254' }, 'host: is a link-local'],
  [{ ...BASE, from: 'kubeherald' }, 'from: must be an address'],
  [{ ...BASE, from: 'A\nB <a@example.com>' }, 'from: must be an address'],
  [{ ...BASE, to: 'oncall' }, 'to'],
  [{ ...BASE, to: ['a@example.com', 'b@'] }, 'to'],
  [{ ...BASE, to: [] }, 'to'],
  [{ ...BASE, to: '{{ name }}@example.com' }, 'allowTo'],
  [{ ...BASE, to: '{{ name }}@example.com', allowTo: ['*'] }, 'allowTo.0: must be an address, or a pattern'],
  [{ ...BASE, auth: { user: 'herald' } }, 'auth.password'],
  [{ ...BASE, tls: { mode: 'none', ca: 'x' } }, 'ca'],
  [{ ...BASE, timeout: '5m' }, 'timeout: must be at most 25s'],
  [{ ...BASE, recipients: 'a@example.com' }, 'recipients'],
  [{ from: BASE.from, to: BASE.to }, 'host'],
])('%j is refused', async (options, issue) => {
  expect((await issuesOf(options)).join('\n')).toContain(issue)
})

test.each(['127.0.0.1', 'localhost', '::1'])('a password may go to %s without TLS', async (host) => {
  expect(await issuesOf({ ...BASE, host, tls: 'none', auth: AUTH })).toEqual([])
})

test('a rule without recipients of its own needs those of the sink', async () => {
  const config = await optionsOf(type, { host: BASE.host, from: BASE.from })
  const route = async (options: object) => optionsOf({ config: type.route } as SinkType, options)
  expect(type.checkRoute?.(await route({}), config)).toMatchObject([{ path: [] }])
  expect(type.checkRoute?.(await route({ to: 'a@example.com' }), config)).toEqual([])
  expect(type.checkRoute?.(await route({ to: ['a@example.com', '{{ name }}@b.c'] }), config)).toMatchObject([
    { path: ['to', 1] },
  ])
})

test.each([
  ['a@example.com', { name: '', address: 'a@example.com' }],
  [' a.b+c@EXAMPLE.com ', { name: '', address: 'a.b+c@example.com' }],
  ['Größe <a@bücher.example>', { name: 'Größe', address: 'a@xn--bcher-kva.example' }],
  ['"Shop, Ltd." <a@b>', { name: 'Shop, Ltd.', address: 'a@b' }],
  ['a@example.com, b@example.com', undefined],
  ['a@example.com\r\nBcc: b@example.com', undefined],
  ['<a@example.com> b@example.com', undefined],
  ['a@b@c', undefined],
  ['@example.com', undefined],
  [`${'a'.repeat(65)}@example.com`, undefined],
  ['a b@example.com', undefined],
  ['größe@example.com', undefined],
])('%j as an address is %j', (text, mailbox) => {
  expect(mailboxIn(text)).toEqual(mailbox)
})

test.each([
  ['a@example.com', ['a@example.com'], true],
  ['A@example.com', ['a@EXAMPLE.com'], true],
  ['a@shop.example.com', ['*@*.example.com'], true],
  ['a@example.com', ['*@*.example.com'], false],
  ['a@evilexample.com', ['*@example.com', '*@*.example.com'], false],
  ['a@xn--bcher-kva.example', ['*@bücher.example'], true],
  ['a@example.com', [], false],
])('%s in %j: %s', (address, list, is) => {
  expect(isAllowed(address, list)).toBe(is)
})

const annotated = (mail: unknown, more: object = {}): Message =>
  messageOf({ object: { metadata: { annotations: { mail } } }, ...more }, type)

test('an object chooses among allowed addresses only; others go to fallbackTo, or become dead letters', async () => {
  await using smtp = await startSmtp()
  const options = {
    ...BASE,
    host: '127.0.0.1',
    port: smtp.port,
    tls: 'none',
    to: '{{ object.metadata.annotations.mail }}',
    allowTo: ['*@example.com'],
  }
  const send = async (mail: unknown, more = {}) => {
    await using sink = await openSink(type, { ...options, ...more }, { store: memoryStore() })
    return (await sink.deliver([annotated(mail)], never))[0]
  }
  expect(await send('shop@example.com')).toEqual({ kind: 'delivered' })
  for (const evil of [
    'shop@evil.example',
    'a@example.com, b@example.com',
    'a@example.com>\r\nRCPT TO:<b@evil.example',
    undefined,
  ])
    expect(await send(evil)).toMatchObject({ kind: 'rejected', reason: 'config' })
  expect(await send('shop@evil.example', { fallbackTo: 'platform@example.com' })).toEqual({
    kind: 'delivered',
  })
  expect(smtp.mails.map(({ to }) => to)).toEqual([['shop@example.com'], ['platform@example.com']])
})

test('subject, groupBy and mode decide the thread; recipients have threads of their own', async () => {
  await using smtp = await startSmtp()
  await using sink = await openSink(type, {
    ...BASE,
    host: '127.0.0.1',
    port: smtp.port,
    tls: 'none',
    subject: 'Alert in {{ namespace }}',
    groupBy: '{{ namespace }}',
  })
  const route = (options: object) => optionsOf({ config: type.route } as SinkType, options)
  const messages = [
    messageOf({ name: 'a' }, type),
    messageOf({ name: 'b' }, type),
    messageOf({ name: 'c', route: await route({ mode: 'message', subject: 'alone' }) }, type),
    messageOf({ name: 'd', route: await route({ to: 'shop@example.com' }) }, type),
  ]
  for (const message of messages)
    expect(await sink.deliver([message], never)).toEqual([{ kind: 'delivered' }])
  const [a, b, c, d] = smtp.mails.map(({ raw }) => partsOf(raw).headers)
  expect(a).toMatchObject({ subject: 'Alert in default' })
  expect(b).toMatchObject({ subject: 'Re: Alert in default', references: a?.['message-id'] })
  expect(c).toMatchObject({ subject: 'alone' })
  expect(d).toMatchObject({ subject: 'Alert in default' })
  for (const first of [a, c, d]) expect(first).not.toHaveProperty('references')
})

test('a thread names the Message-ID that the server gave its first mail', async () => {
  await using smtp = await startSmtp()
  const theirs = '<abc@eurprd01.prod.outlook.com>'
  const taken: string[] = []
  smtp.onStep((step, raw) => {
    if (step !== 'END') return undefined
    taken.push(raw)
    return { answer: `250 2.0.0 OK ${theirs} [Hostname=x]` }
  })
  await using sink = await openSink(type, { ...BASE, host: '127.0.0.1', port: smtp.port, tls: 'none' })
  for (const version of ['1', '2', '3']) await sink.deliver([messageOf({ version }, type)], never)
  const [, second, third] = taken.map((raw) => partsOf(raw).headers)
  for (const it of [second, third]) expect(it).toMatchObject({ references: theirs, 'in-reply-to': theirs })
})

test('explain shows recipients and mail, without a server', async () => {
  const config = await optionsOf(type, BASE)
  const preview = type.preview?.(messageOf({}, type), config)
  expect(preview?.target).toContain('oncall@example.com')
  expect(preview?.body).toContain('Subject: [test] ConfigMap default/web changed')
})

test('a mistake has file, line and column', async () => {
  const text = `watch: [Pod]
sinks:
  mail:
    type: email
    host: relay.example.com
    tls: none
    auth: { user: herald, password: secret }
    from: kubeherald@example.com
    to: [oncall@example.com, "{{ name }}@example.com"]
rules: [{ name: all, to: [mail] }]
`
  const loaded = await loadConfig({
    file: 'kubeherald.yaml',
    text,
    env: {},
    readFile: () => '',
    sinkTypes: builtInSinks,
  })
  const places = (loaded.ok ? [] : loaded.problems).map(({ line, column }) => [line, column])
  expect(loaded.ok).toBe(false)
  expect(places).toEqual(
    expect.arrayContaining([
      [7, 11],
      [9, 30],
    ]),
  )
})

test('the examples of the page are valid', async () => {
  const page = readFileSync(new URL('../../../sinks/email/README.md', import.meta.url), 'utf8')
  const examples = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => text)
  expect(examples.length).toBeGreaterThan(2)
  for (const text of examples) {
    const loaded = await loadConfig({
      file: 'kubeherald.yaml',
      text,
      env: { SMTP_PASSWORD: 'secret' },
      readFile: () => createAuthority('own').cert,
      sinkTypes: builtInSinks,
    })
    expect(loaded.ok ? [] : loaded.problems).toEqual([])
  }
})
