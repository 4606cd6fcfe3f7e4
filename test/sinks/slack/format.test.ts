import { expect, test } from 'vitest'
import { formatDigest, formatMessage, type ThreadContext } from '../../../sinks/slack/format.ts'
import { cutMarkup, cutText, inMrkdwn, plainOfMrkdwn, type Rendered } from '../../../sinks/slack/markup.ts'
import type { Message } from '../../../src/sink/index.ts'
import { refusalOf } from '../../servers/slack/limits.ts'
import { listingOf } from '../../servers/slack/listing.ts'
import { startSlack } from '../../servers/slack.ts'
import { never, openSlack, type SlackParts, tellOf } from './bed.ts'

const TIME = '2026-11-21T09:14:07.312Z'

function told(parts: SlackParts): Message<any> {
  return tellOf({ rule: 'crash-loops', ...parts, event: { time: TIME, cluster: 'prod-eu', ...parts.event } })
}

const backOff: SlackParts = {
  version: '81',
  kubeEvent: {
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting failed container app in pod web-1',
  },
  event: { kind: 'Event' },
  summary: {
    severity: 'error',
    title: 'Pod shop/web-1 is crash-looping',
    text: 'container app, 7 times in 12 min',
    fields: [
      { title: 'Namespace', value: 'shop' },
      { title: 'Owner', value: 'Deployment web' },
      { title: 'Node', value: 'node-3' },
      { title: 'Reason', value: 'BackOff' },
    ],
    quote: 'Back-off restarting failed container app in pod web-1',
    command: 'kubectl -n shop logs web-1 -c app --previous',
  },
}

const rollout: SlackParts = {
  rule: 'deployments',
  summary: {
    severity: 'info',
    title: 'Deployment shop/web rolled out nginx:1.26 → nginx:1.27',
    about: { kind: 'Deployment', namespace: 'shop', name: 'web' },
    changes: [
      { path: 'spec.template.spec.containers[name=web].image', old: 'nginx:1.26', new: 'nginx:1.27' },
      { path: 'spec.replicas', old: 2, new: 3 },
      { path: 'metadata.annotations.owner', new: { team: 'shop' } },
      { path: 'status.phase', old: 'Running' },
    ],
    command: 'kubectl -n shop rollout status deployment web',
  },
  content: {
    links: [
      { title: 'Grafana', url: 'https://grafana.example.com/d/web?ns=shop&from=now-1h' },
      { title: 'Runbook', url: 'https://runbooks.example.com/web' },
    ],
  },
}

const hostile =
  '<!channel> <@U0123456789> <https://evil.example|click> <#C0123456789> &lt;!here&gt; ``` *_~ \u202eRTL\u0000 @here'

const messages: [name: string, parts: SlackParts, around?: ThreadContext][] = [
  ['crash-loop', backOff],
  ['crash-loop-called', backOff, { mention: ['<!here>', '<@U0123456789>'] }],
  ['rollout', rollout],
  [
    'warning',
    { summary: { severity: 'warning', title: 'Node node-3 is under memory pressure', text: 'since 4 min' } },
  ],
  [
    'resolved',
    { summary: { severity: 'resolved', title: 'Pod shop/web-1 is ready again', text: 'after 12 min' } },
  ],
  [
    'deleted',
    { type: 'DELETED', summary: { severity: 'info', title: 'Pod shop/web-1 was deleted' } },
    { over: true },
  ],
  [
    'first-message-later',
    backOff,
    {
      began: {
        title: 'Pod shop/web-1 was killed for memory',
        sinceMs: Date.parse(TIME) - 720_000,
        changes: 6,
      },
    },
  ],
  ['nothing-but-a-title', { summary: { severity: 'info', title: 'ConfigMap shop/settings changed' } }],
  [
    'template-with-markup',
    {
      content: {
        title: '*<https://ci.example.com/7|Build 7>* failed',
        text: '• one\n• two',
        fields: [{ title: 'Team', value: '<@U0123456789>' }],
      },
    },
  ],
  [
    'long-quote',
    {
      summary: {
        severity: 'warning',
        title: 'Job shop/import failed',
        quote: `first line\n${'Traceback '.repeat(331)}`,
      },
    },
  ],
  [
    'many-changes',
    {
      summary: {
        severity: 'info',
        title: 'Deployment shop/web changed',
        changes: Array.from({ length: 11 }, (_, i) => ({
          path: `spec.field${i}`,
          old: i,
          new: 'v'.repeat(i * 30),
        })),
      },
    },
  ],
  [
    'hostile',
    {
      event: { name: hostile },
      summary: {
        title: `Pod ${hostile}`,
        text: hostile,
        fields: [{ title: hostile, value: hostile }],
        quote: hostile,
        changes: [{ path: hostile, old: hostile, new: { constructor: hostile } }],
        command: `kubectl describe pod '${hostile}'`,
      },
      content: { links: [{ title: 'a|b', url: 'https://logs.example.com/?q=a|b>c' }] },
    },
  ],
]

test.each(messages)('%s looks like its listing', async (name, parts, around) => {
  await expect(listing(formatMessage(told(parts), around))).toMatchFileSnapshot(
    `../../golden/slack/${name}.txt`,
  )
})

test('a digest looks like its listing', async () => {
  await expect(listing(formatDigest(storm()))).toMatchFileSnapshot('../../golden/slack/digest.txt')
})

test('what Slack gets as a last resort is plain text', async () => {
  const { plain } = formatMessage(told(backOff))
  await expect(`${plain}\n`).toMatchFileSnapshot('../../golden/slack/fallback.txt')
})

function listing({ text, attachments }: Rendered): string {
  return listingOf({ text, attachments })
}

function storm(): Message<any>[] {
  const kinds = ['Pod', 'Deployment', 'Job', 'Node']
  return Array.from({ length: 57 }, (_, i) =>
    told({
      name: `web-${i}`,
      rule: i % 5 === 0 ? 'jobs' : 'crash-loops',
      kubeEvent: { reason: ['BackOff', 'Failed', 'OOMKilling'][i % 3] as string },
      event: { time: new Date(Date.parse(TIME) + i * 750).toISOString() },
      summary: {
        severity: i % 9 === 0 ? 'error' : 'warning',
        title: `${kinds[i % 4]} shop/web-${i} has trouble`,
        about: { kind: kinds[i % 4] as string, namespace: i % 2 ? 'shop' : 'pay', name: `web-${i}` },
      },
    }),
  )
}

test('nothing of an object pings anybody, makes a link or names a channel', async () => {
  await using fake = await startSlack({ perSecond: 100, burst: 100 })
  fake.channel('shop')
  await using sink = await openSlack(fake, { mode: 'message', rate: 50 })
  const [, parts] = messages.find(([name]) => name === 'hostile') as (typeof messages)[number]
  const { content: _, ...bad } = parts
  const one = told(bad)
  expect(await sink.deliver([one], never)).toEqual([{ kind: 'delivered' }])
  fake.fault({ method: 'chat.postMessage', error: 'invalid_blocks' })
  await sink.deliver([one], never)
  await sink.deliver(
    Array.from({ length: 60 }, () => one),
    never,
  )
  expect(fake.messages).toHaveLength(3)
  for (const { pings, links, channels, text } of fake.messages) {
    expect({ pings, links, channels }).toEqual({ pings: [], links: [], channels: [] })
    expect(text).not.toMatch(/[\u0000\u202e]/)
  }
})

test.each([
  ['3,000 characters of text', { text: 'x'.repeat(3_000) }],
  [
    'a megabyte of everything',
    { title: 'y'.repeat(1e6), text: 'x'.repeat(1e6), quote: 'z'.repeat(1e6), command: 'c'.repeat(1e6) },
  ],
  [
    'a megabyte of what must be escaped',
    { title: '<&>'.repeat(3e5), text: '<&>'.repeat(3e5), quote: '<&>'.repeat(3e5) },
  ],
  [
    'full fields',
    { fields: Array.from({ length: 12 }, (_, i) => ({ title: `f${i}`, value: '&'.repeat(5_000) })) },
  ],
  [
    'all at once',
    {
      text: '<'.repeat(5_000),
      quote: 'q'.repeat(5_000),
      fields: Array.from({ length: 8 }, () => ({ title: 't'.repeat(500), value: '😀'.repeat(5_000) })),
      changes: Array.from({ length: 40 }, () => ({
        path: 'p'.repeat(500),
        old: 'o'.repeat(5_000),
        new: '\ud83d'.repeat(500),
      })),
    },
  ],
])('%s fits within the limits of Slack', (_, summary) => {
  const { text, attachments, plain } = formatMessage(told({ summary }))
  expect(refusalOf(text, undefined, attachments)).toBeUndefined()
  expect(refusalOf(plain, undefined, [])).toBeUndefined()
  expect(JSON.stringify(attachments)).not.toMatch(/\\ud[89a-f]../)
  expect(plain.length).toBeLessThanOrEqual(3_500)
})

test('the end of a log is a block of code, with the line that names the container', () => {
  const logs = `Log of app:\n${'``` <!channel> step\n'.repeat(1_000)}panic`
  const { text, attachments } = formatMessage(told({ content: { logs } }))
  expect(refusalOf(text, undefined, attachments)).toBeUndefined()
  const blocks = JSON.stringify(attachments)
  expect(blocks).toMatch(
    /"rich_text_preformatted","elements":\[\{"type":"text","text":"Log of app:[^"]*panic"/,
  )
})

test('many links of a template fit, and those that do not fit are left out whole', () => {
  const links = Array.from({ length: 30 }, (_, i) => ({
    title: 'l',
    url: `https://x.example/${'a'.repeat(i * 100)}`,
  }))
  const { text, attachments } = formatMessage(told({ content: { links } }))
  expect(refusalOf(text, undefined, attachments)).toBeUndefined()
  const shown = [...JSON.stringify(attachments).matchAll(/<https[^>]*/g)]
  expect(shown.length).toBeGreaterThan(1)
  expect(shown.length).toBeLessThan(links.length)
  for (const it of shown) expect(it[0]).toMatch(/\|l$/)
})

test('a digest of 500 hostile messages fits', () => {
  const batch = Array.from({ length: 500 }, (_, i) =>
    told({
      rule: 'r<'.repeat(300),
      summary: {
        title: '<'.repeat(1e3),
        text: '&'.repeat(1e3),
        about: { kind: `${'K'.repeat(300)}${i}`, namespace: 'n'.repeat(300), name: 'x' },
      },
    }),
  )
  const { text, attachments, plain } = formatDigest(batch)
  expect(refusalOf(text, undefined, attachments)).toBeUndefined()
  expect(plain.length).toBeLessThanOrEqual(3_500)
})

test('only what was told by summary or a template counts as shortened', () => {
  expect(formatMessage(told(backOff)).truncated).toBe(false)
  expect(formatMessage(told({ summary: { quote: 'q'.repeat(5_000) } })).truncated).toBe(false)
  expect(formatMessage(told({ summary: { text: 'x'.repeat(5_000) } })).truncated).toBe(true)
})

test.each([
  ['ab&amp;cd', 9, 'ab&amp;cd'],
  ['ab&amp;cd', 8, 'ab&amp;…'],
  ['ab&amp;cd', 7, 'ab…'],
  ['ab&amp;cd', 6, 'ab…'],
  ['ab&amp;cd', 4, 'ab…'],
  ['a😀b', 3, 'a…'],
  ['a😀bc', 4, 'a😀…'],
  ['see <https://x.example|x> now', 12, 'see …'],
  ['see <https://x.example|x> now', 27, 'see <https://x.example|x> …'],
  ['a & b and more', 6, 'a & b…'],
])('%j cut to %i is %j', (text, max, expected) => {
  expect(cutMarkup(text, max)).toBe(expected)
  expect(expected.length).toBeLessThanOrEqual(max)
})

test('no cut of escaped text has half an entity, half a character, or too much', () => {
  const text = inMrkdwn('<a>&😀"\u00e9<<&&😀😀>>'.repeat(5))
  for (let max = 1; max < text.length; max++) {
    const cut = cutMarkup(text, max)
    expect(cut.length).toBeLessThanOrEqual(max)
    expect(cut.isWellFormed()).toBe(true)
    expect(cut.replace(/&(amp|lt|gt);/g, '')).not.toContain('&')
  }
  expect(cutText('😀😀', 3)).toBe('😀…')
})

test('what is read of mrkdwn has no marks, and links and mentions by their titles', () => {
  const text =
    '*web* _is_ `down`: <https://example.com/?a=1&amp;b=2|runbook> <!here> <@U1> &lt;script&gt; a_b_c'
  expect(plainOfMrkdwn(text)).toBe('web is down: runbook @here @U1 <script> a_b_c')
  expect(plainOfMrkdwn(inMrkdwn('<b> & "q" &lt;'))).toBe('<b> & "q" &lt;')
})
