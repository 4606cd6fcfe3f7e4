import { expect, test } from 'vitest'
import { subjectOf, writeMail } from '../../../sinks/email/format.ts'
import email from '../../../sinks/email/index.ts'
import { composeMail } from '../../../sinks/email/mime.ts'
import type { Message, SinkType } from '../../../src/sink/index.ts'
import { hostileMessages, messageOf } from '../../../src/sink/testkit/messages.ts'
import { type ParsedMail, partsOf } from './mail.ts'

const type = email as SinkType
const HEADERS = {
  from: { name: 'kubeherald', address: 'kubeherald@example.com' },
  recipients: { to: [{ name: 'On-call, "prod" Größe', address: 'oncall@example.com' }], cc: [] },
  messageId: '<1@example.com>',
  root: undefined,
  userAgent: 'kubeherald/test',
  dateMs: Date.parse('2026-11-21T09:14:07Z'),
}

async function bytesOf(message: Message): Promise<string> {
  return String(
    await composeMail(message, { ...HEADERS, subject: subjectOf(message, undefined) }, writeMail(message)),
  )
}

async function mailOf(message: Message): Promise<ParsedMail> {
  return partsOf(await bytesOf(message))
}

test('a mail has title, text, fields, changes, quote, command, links and source, as text and as HTML', async () => {
  const message = messageOf(
    {
      summary: {
        severity: 'warning',
        title: 'Pod shop/web-1 is crash-looping',
        text: 'container app, 7 times in 12 min',
        fields: [{ title: 'Node', value: 'node-3' }],
        quote: 'Back-off restarting\nfailed container',
        changes: [{ path: 'status.phase', old: 'Running', new: 'Failed' }],
        command: 'kubectl -n shop logs web-1',
      },
      labels: { team: 'shop' },
    },
    type,
  )
  const { content } = message
  const links = [{ title: 'Grafana &amp; more', url: 'https://g.example.com/?a=1&b="2"' }]
  const mail = await mailOf(Object.create(message, { content: { value: { ...content, links } } }) as Message)
  expect(mail.text).toMatchInlineSnapshot(`
    "🟠 Pod shop/web-1 is crash-looping

    container app, 7 times in 12 min

    Node: node-3
    team: shop

    Changed
      status.phase: Running → Failed

    > Back-off restarting
    > failed container

    $ kubectl -n shop logs web-1

    Grafana & more: https://g.example.com/?a=1&b="2"

    -- 
    cluster test · rule all · 2026-11-21 09:14:07 UTC
    "
  `)
  for (const part of [
    '<b>Changed</b>',
    'node-3',
    '<pre',
    'href="https://g.example.com/?a=1&amp;b=&quot;2&quot;"',
  ])
    expect(mail.html).toContain(part)
})

test('a mail has the end of the container’s log, as it is', async () => {
  const lines = Array.from({ length: 40 }, (_, i) => `step ${i} <b>`).join('\n')
  const logs = { container: 'app', previous: true, text: `${lines}\npanic: connection refused` }
  const message = messageOf({ logs, summary: { command: 'kubectl logs web-1' } }, type)
  const { text, html } = await mailOf(message)
  expect(text).toContain(`| Log of app:\n| step 0 <b>\n`)
  expect(text).toContain('| panic: connection refused\n\n$ kubectl logs web-1')
  expect(html).toMatch(/<pre[^>]*>Log of app:\nstep 0 &lt;b&gt;\n[^<]*panic: connection refused<\/pre>/)
  const short = writeMail(message, { short: true })
  expect(short.truncated).toBe(true)
  expect(short.text).toMatch(/\| Log of app:\n\| …\n(\| step \d+ <b>\n)+\| panic: connection refused\n/)
})

test('a log beyond what a mail shows has its beginning cut, and the mail is marked', () => {
  const text = `${'x'.repeat(99)}\n`.repeat(150)
  const logs = { container: 'app', previous: true, text: `${text}panic` }
  const mail = writeMail(messageOf({ logs }, type))
  expect(mail.truncated).toBe(true)
  expect(mail.text).toMatch(/\| Log of app:\n\| …\n(\| x{99}\n)+\| panic\n/)
  expect(mail.text.length).toBeLessThan(10_000)
})

test('text of objects is no markup, in neither part', async () => {
  const evil = '<script>alert(1)</script> <b>bold</b> & "quotes" &lt; <img src=x onerror=1>'
  const fields = [{ title: evil, value: evil }]
  const changes = [{ path: evil, old: evil, new: { [evil]: evil } }]
  const { text, html } = await mailOf(
    messageOf(
      { name: 'x', summary: { title: evil, text: evil, quote: evil, command: evil, fields, changes } },
      type,
    ),
  )
  expect(html).not.toMatch(/<(script|img|b>bold)/)
  expect(text.split(evil).length).toBeGreaterThan(6)
})

test.each(['a\r\nBcc: all@example.com', 'a\nX-Evil: 1\n\n<p>body', 'a\u2028b\u0000c', 'a\rb'])(
  'a line break begins no header: %j',
  async (evil) => {
    const message = messageOf(
      {
        name: evil,
        rule: evil,
        event: { cluster: evil, name: evil, id: `kit/${evil}/1/ADDED` },
        summary: { title: evil },
      },
      type,
    )
    const raw = await bytesOf(message)
    const { headers } = partsOf(raw)
    expect(Object.keys(headers)).not.toContain('bcc')
    expect(Object.keys(headers)).not.toContain('x-evil')
    expect(headers['subject']).toMatch(/^[^\r\n]*$/)
    expect(raw.slice(0, raw.indexOf('\r\n\r\n'))).not.toMatch(/[^\r]\n|\r[^\n]|\0/)
  },
)

test('marks of direction and controls are not shown, in subject or text', async () => {
  const evil = 'safe\u202egnp.exe\u2066\u0007\u009b'
  const { headers, text, html } = await mailOf(
    messageOf({ summary: { title: evil, text: evil, quote: evil } }, type),
  )
  for (const it of [headers['subject'], text, html]) expect(it).not.toMatch(/[\u202e\u2066\u0007\u009b]/)
})

test('subjects and addresses may have any characters; every header line is short and in ASCII', async () => {
  const title = `Größe 你好 ${'🔴'.repeat(200)}`
  const raw = await bytesOf(messageOf({ summary: { title } }, type))
  const head = raw.slice(0, raw.indexOf('\r\n\r\n'))
  expect(head).toMatch(/^[\t\r\n\x20-\x7e]*$/)
  for (const line of head.split('\r\n')) expect(line.length).toBeLessThan(200)
  const { headers } = partsOf(raw)
  expect(headers['subject']).toMatch(/^\[test\] Größe 你好 (🔴)+…$/u)
  expect(headers['subject']?.length).toBeLessThanOrEqual(200)
  expect(headers['to']).toContain('oncall@example.com')
})

test.each([
  ['a name of 10,000 characters', { name: 'n'.repeat(10_000) }],
  [
    'a megabyte of text',
    { summary: { text: 'x'.repeat(1_000_000), quote: 'y <'.repeat(400_000), title: 't'.repeat(1_000_000) } },
  ],
  [
    'a field of a megabyte of entities',
    { summary: { fields: [{ title: 'f', value: '<'.repeat(1_000_000) }] } },
  ],
  [
    'a thousand changes',
    {
      summary: {
        changes: Array.from({ length: 1_000 }, (_, i) => ({
          path: `p${i}`,
          old: 'a'.repeat(9_999),
          new: null,
        })),
      },
    },
  ],
])('%s makes no large mail, and is marked as cut', async (_, parts) => {
  const message = messageOf(parts, type)
  const raw = await bytesOf(message)
  expect(raw.length).toBeLessThan(200_000)
  if ('summary' in parts && !('changes' in (parts.summary as object)))
    expect(writeMail(message).truncated).toBe(true)
  const short = writeMail(message, { short: true })
  expect(short.text.length + short.html.length).toBeLessThan(12_000)
})

test('HTML that a template wrote is shown as such, and as its text in the plain part', async () => {
  const message = messageOf({}, type)
  const content = { ...message.content, title: 'a <b>bold</b> title &amp; more', text: 'line<br>break' }
  const { text, html } = writeMail(Object.create(message, { content: { value: content } }) as Message)
  expect(html).toContain('a <b>bold</b> title &amp; more')
  expect(text).toContain('a bold title & more')
  expect(text).toContain('line\nbreak')
})

test('hostile messages of the kit are mails', async () => {
  for (const { message } of hostileMessages(type)) {
    const { headers, text } = await mailOf(message)
    expect(headers['subject']).toBeTruthy()
    expect(text.isWellFormed()).toBe(true)
  }
})
