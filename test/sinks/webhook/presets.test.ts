import { describe, expect, test } from 'vitest'
import webhook from '../../../sinks/webhook/index.ts'
import { PRESET_NAMES, type PresetName } from '../../../sinks/webhook/presets/names.ts'
import { plainOf, plainOfHtml, shortened } from '../../../sinks/webhook/presets/parts.ts'
import type { Message } from '../../../src/sink/index.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { messageOf, openSink } from '../bed.ts'
import { threeMessages, told } from './messages.ts'
import { bodyOf, loadedPresets } from './preset-body.ts'

const never = new AbortController().signal
async function jsonOf(name: PresetName, message: Message, options: object = {}): Promise<any> {
  return JSON.parse(await bodyOf(name, message, options))
}

/** Bulk requests of Elasticsearch have two lines an event. */
function documentsIn(body: string): unknown[] {
  return body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

test.each(PRESET_NAMES)('%s: a crash, a roll-out and an end look as in the golden file', async (name) => {
  const messages = threeMessages(loadedPresets[name].markup)
  const options = name === 'mattermost' ? { channel: 'ops', username: 'kubeherald' } : {}
  const bodies = await Promise.all(
    Object.entries(messages).map(async ([what, message]) => {
      const documents = documentsIn(await bodyOf(name, message, options))
      return [what, documents.length === 1 ? documents[0] : documents]
    }),
  )
  const text = `${JSON.stringify(Object.fromEntries(bodies), null, 2)}\n`
  await expect(text).toMatchFileSnapshot(`../../golden/webhook/${name}.json`)
})

const NASTY = [
  '@everyone @here @channel @all <!channel> <users/all> <@U1> <@&123> <#C1> <at>All</at>',
  '**bold** __u__ ~~s~~ `c` ``` x ``` [a](https://evil.example.com) ![i](x) # h\n# h\n- l\n> q\n1. n',
  '{{DATE(2017-02-14T06:00:00Z)}} <b>x</b> <a href="https://evil.example.com">y</a> &lt; &amp; :smile: ~town-square',
  '"quote" \\ \u0000\u0007\u202e \ud800 😀'.repeat(3),
].join('\n')

const nasty = (name: PresetName, length = 1) =>
  told(
    {
      severity: 'error',
      title: NASTY.repeat(length),
      text: NASTY.repeat(length),
      fields: Array.from({ length: 8 }, () => ({ title: NASTY, value: NASTY.repeat(length) })),
      quote: NASTY.repeat(length),
      changes: Array.from({ length: 8 }, () => ({
        path: NASTY,
        old: NASTY.repeat(length),
        new: { x: NASTY },
      })),
      command: NASTY,
      about: { kind: NASTY, namespace: NASTY, name: NASTY },
    },
    loadedPresets[name].markup,
    { name: NASTY, uid: NASTY, rule: 'r'.repeat(63) },
    { links: [{ title: 'x', url: 'https://e.example.com/?a=)|>"b' }], logs: NASTY.repeat(length) },
  )

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsIn)
}

/** What is outside of blocks of code, with escapes taken away together with what they escape. */
function live(text: string): string {
  return text.replace(/```\n[\s\S]*?\n```/g, '').replace(/\\[\s\S]/g, '')
}

test.each(PRESET_NAMES)('%s: the log of a container is shown, and cut from its beginning', async (name) => {
  const lines = Array.from({ length: 200 }, (_, i) => `step ${i} is done`).join('\n')
  const logs = `Log of app:\n${lines}\npanic`
  const body = await bodyOf(name, told({}, loadedPresets[name].markup, {}, { logs }))
  expect(body).toContain('Log of app')
  expect(body).toContain('panic')
})

test.each(PRESET_NAMES)('%s: hostile objects of any size make valid JSON within the limits', async (name) => {
  for (const length of [1, 10, 1_000]) {
    const texts = textsIn(documentsIn(await bodyOf(name, nasty(name, length))))
    for (const text of texts) {
      expect(text.isWellFormed()).toBe(true)
      expect(text).not.toMatch(/[\u0000-\u0008\u202a-\u202e]/)
    }
  }
})

test('discord: a link that is too long once it is encoded is left out, and not the message', async () => {
  const links = [`https://e.example.com/?q=${'('.repeat(1_900)}`, 'https://e.example.com/?q=(1)']
  const crash = threeMessages(loadedPresets.discord.markup)['crash']!
  const content = { ...crash.content, links: links.map((url) => ({ title: 'x', url })) }
  const [embed] = (await jsonOf('discord', { ...crash, content })).embeds
  expect(embed.url).toBe('https://e.example.com/?q=%281%29')
})

test.each(['discord', 'mattermost'] as const)(
  '%s: nothing in an object pings, links or formats',
  async (name) => {
    const { embeds, attachments } = await jsonOf(name, nasty(name))
    // The fallback is plain text.
    const [{ url, color, fallback, ...shown }] = embeds ?? attachments
    for (const text of textsIn(shown).map(live)) {
      expect(text).not.toMatch(/@(everyone|here|channel|all)/)
      expect(text).not.toMatch(/<[@#!]|<users|\*\*|__|\[a\]\(|^#|^> |`/m)
      if (name === 'mattermost') expect(text).not.toMatch(/~town|:smile:|https:\/\/evil/)
    }
  },
)

test.each([1, 1_000])('telegram: nothing in an object mentions or links, %i times', async (length) => {
  const { markup } = loadedPresets.telegram
  const text =
    '@oncall_lead #tag $USD /start a@evil.com evil.com http://evil.com http://10.0.0.1/x tg://resolve?domain=x '
  const long = text.repeat(length)
  const summary = {
    title: long,
    text: long,
    quote: long,
    command: text,
    fields: [{ title: text, value: long }],
  }
  const links = [{ title: markup.escape!(text), url: 'https://e.example.com/' }]
  const body = await jsonOf('telegram', told(summary, markup, {}, { links }))
  // No entity is found in code.
  const shown = plainOfHtml(body.text.replace(/<pre>[\s\S]*?<\/pre>/g, ''))
  expect(shown).toContain('oncall_lead')
  expect(shown).not.toMatch(/[@#$]\w|(?<![\w/])\/\w|\w\.[a-z]|:\/\//)
})

test('telegram: values are whole where no entity is found, in code and addresses of a rule', async () => {
  const { markup } = loadedPresets.telegram
  const node = 'ip-10-0-1-23.ec2.internal'
  const image = 'quay.io/app@sha256:1'
  const inserted = markup.escape!
  const text = [
    `<code>kubectl describe node ${inserted(node)}</code>`,
    `<pre>cd ${inserted('/var/log')}\n${inserted(image)}</pre>`,
    `<a href="https://grafana.example.com/?node=${inserted(node)}">${inserted(node)}</a>`,
    inserted(node),
  ].join('\n')
  const title = `Node <code>${inserted(node)}</code>`
  const fields = [{ title: 'Image', value: `<code>${inserted(image)}</code>` }]
  const body = await jsonOf('telegram', told({}, markup, {}, { title, text, fields }))
  expect(body.text).toContain(`Node <code>${node}</code>`)
  expect(body.text).toContain(`<code>kubectl describe node ${node}</code>`)
  expect(body.text).toContain(`<pre>cd /var/log\n${image}</pre>`)
  expect(body.text).toContain(`<a href="https://grafana.example.com/?node=${node}">${inserted(node)}</a>`)
  expect(body.text).toContain(`\n${inserted(node)}\n`)
  expect(body.text).toContain(`<code>${image}</code>`)
})

test('mattermost, rocket-chat: a title has escapes where it is Markdown only', async () => {
  const title = 'Deployment shop/web: r.io/my_app@sha256:1 [x]'
  const links = [{ title: 'x', url: 'https://e.example.com/' }]
  const attachmentOf = async (name: PresetName, content: object) =>
    (await jsonOf(name, told({ title }, loadedPresets[name].markup, {}, content))).attachments[0]
  for (const content of [{}, { links }])
    expect((await attachmentOf('rocket-chat', content)).title).toContain(title)
  const { title: marked, title_link, text, fallback } = await attachmentOf('mattermost', { links })
  expect(marked).toContain('my\\_app')
  expect(title_link).toBeUndefined()
  expect(text).toContain('[x](https://e.example.com/)')
  expect(fallback).toContain(title)
})

test('discord: allowed_mentions are none, always', async () => {
  for (const message of [nasty('discord'), ...Object.values(threeMessages(loadedPresets.discord.markup))])
    expect((await jsonOf('discord', message)).allowed_mentions).toEqual({ parse: [] })
})

test('discord: title, fields, description and all together keep their limits', async () => {
  for (const length of [1, 3, 30]) {
    const { embeds, content } = await jsonOf('discord', nasty('discord', length))
    const [{ title, description, fields, footer }] = embeds
    expect(content).toBeUndefined()
    expect(title.length).toBeLessThanOrEqual(256)
    expect(description.length).toBeLessThanOrEqual(4_096)
    expect(fields.length).toBeLessThanOrEqual(25)
    for (const field of fields) {
      expect(field.name.length).toBeLessThanOrEqual(256)
      expect(field.value.length).toBeLessThanOrEqual(1_024)
    }
    const all = textsIn({ title, description, fields, footer })
    expect(all.reduce((sum, it) => sum + it.length, 0)).toBeLessThanOrEqual(6_000)
    expect(description.match(/```/g).length % 2).toBe(0)
  }
})

test('mattermost: a message has at most 16,383 characters', async () => {
  const texts = textsIn(await jsonOf('mattermost', nasty('mattermost', 100)))
  expect(texts.reduce((sum, it) => sum + it.length, 0)).toBeLessThanOrEqual(16_383)
})

test('teams: what others said is in runs, which know no markup; what is in blocks is escaped', async () => {
  const { body } = (await jsonOf('teams', nasty('teams'))).attachments[0].content
  for (const text of textsIn(body.filter(({ type }: any) => type !== 'RichTextBlock')).map(live))
    expect(text).not.toMatch(/<at>|\*\*|\[a\]\(|\{\{DATE|^#|^- |`/m)
  expect((await jsonOf('teams', nasty('teams', 1_000))).attachments[0].content.body.length).toBeGreaterThan(3)
})

test('google-chat: cards hold no tag but our own, and nobody is called', async () => {
  const { cardsV2, fallbackText } = await jsonOf('google-chat', nasty('google-chat'))
  for (const text of textsIn(cardsV2)) {
    const own = text.replace(/<\/?b>|<br>|<font color="#\w{6}">|<\/font>/g, '')
    if (!text.startsWith('https:')) expect(own).not.toMatch(/<[a-z/]/i)
  }
  expect(fallbackText).not.toMatch(/<users/)
})

test('pagerduty: one object and rule is one incident: triggered, and resolved when it is over or gone', async () => {
  const { crash, resolved } = threeMessages({})
  const triggered = await jsonOf('pagerduty', crash!)
  expect(triggered).toMatchObject({
    event_action: 'trigger',
    routing_key: 'R0UTINGKEY',
    payload: { severity: 'error' },
  })
  // The first is of an Event about the pod, the second of the pod itself.
  const ended = await jsonOf('pagerduty', resolved!)
  expect(ended).toEqual({
    routing_key: 'R0UTINGKEY',
    event_action: 'resolve',
    dedup_key: triggered.dedup_key,
  })
  const gone = told({ severity: 'warning' }, {}, { type: 'DELETED' })
  expect((await jsonOf('pagerduty', gone)).event_action).toBe('resolve')
  const key = { action: 'acknowledge' }
  expect(await jsonOf('pagerduty', crash!, key)).toEqual({
    routing_key: 'R0UTINGKEY',
    event_action: 'acknowledge',
    dedup_key: triggered.dedup_key,
  })
})

describe.each<[PresetName, string]>([
  ['pagerduty', 'dedup_key'],
  ['opsgenie', 'alias'],
  ['incident-io', 'deduplication_key'],
  ['grafana-oncall', 'alert_uid'],
])('%s', (name, key) => {
  const keyOf = async (message: Message) => (await jsonOf(name, message))[key] as string
  const about = (name: string, kind: string, uid: string | undefined, event = '17a1') =>
    messageOf({
      rule: 'trouble',
      name: `${name}.${event}`,
      uid: `uid-of-the-event-${uid}-${event}`,
      event: { cluster: 'prod-eu', kind: 'Event', namespace: 'shop' },
      kubeEvent: {
        regarding: { kind, name, ...(kind === 'Pod' && { namespace: 'shop' }), ...(uid && { uid }) },
      },
    })

  test('a pod of a StatefulSet that was created again is the same alert: the end of its crashes closes it', async () => {
    expect(await keyOf(about('db-0', 'Pod', 'before'))).toBe(await keyOf(about('db-0', 'Pod', 'after')))
    expect(await keyOf(about('db-0', 'Pod', 'x'))).not.toBe(await keyOf(about('db-1', 'Pod', 'x')))
  })

  test('a Node is one alert, though the kubelet gives its name as its uid, and others its uid', async () => {
    expect(await keyOf(about('worker-3', 'Node', 'worker-3'))).toBe(
      await keyOf(about('worker-3', 'Node', '6f1c')),
    )
  })

  test('Events about what has no uid, such as reports of kubeherald, are alerts of their own', async () => {
    const [one, other] = ['a', 'b'].map((cause) => about('oncall', 'Kubeherald', undefined, cause))
    expect(await keyOf(one!)).not.toBe(await keyOf(other!))
  })
})

test('pagerduty: keys and summaries keep their limits, and long keys stay different', async () => {
  const keyOf = async (name: string) => {
    const { dedup_key, payload } = await jsonOf('pagerduty', told({ title: 't'.repeat(3_000) }, {}, { name }))
    expect(dedup_key.length).toBeLessThanOrEqual(255)
    expect(payload.summary.length).toBeLessThanOrEqual(1_024)
    return dedup_key
  }
  expect(await keyOf(`${'u'.repeat(400)}1`)).not.toBe(await keyOf(`${'u'.repeat(400)}2`))
})

test('what is shortened ends in no half of a character, an entity or an escape', async () => {
  expect(shortened('abcdef', 6)).toBe('abcdef')
  expect(shortened('abcdef', 5)).toBe('abcd…')
  expect(shortened('abc😀def', 5)).toBe('abc…')
  expect(shortened('ab&#60;def', 6)).toBe('ab…')
  expect(shortened('abc\\*def', 5)).toBe('abc…')
  expect(shortened('ab\\\\cdef', 5)).toBe('ab\\\\…')
})

test('what is read of a text in markup is the text', async () => {
  for (const text of ['a *b* [c](d)', '# x', '<b> & "q"', "it's"]) {
    expect(plainOf(loadedPresets.teams.markup.escape!(text))).toBe(text)
    expect(plainOfHtml(loadedPresets['google-chat'].markup.escape!(text))).toBe(text)
  }
})

test('marks and links of templates are not read, in any markup that has them', () => {
  const plain = (name: 'mattermost' | 'telegram' | 'lark', text: string) =>
    loadedPresets[name].markup.plain!(text)
  expect(plain('mattermost', '**web** \\*is\\* _down_: [runbook](https://example.com)')).toBe(
    'web *is* down: runbook',
  )
  expect(plain('telegram', '<b>web</b> &#60;is&#62; <a href="https://example.com">down</a>')).toBe(
    'web <is> down',
  )
  expect(plain('lark', '**web** is [down](https://example.com)')).toBe('web is down')
  const mentions = '@here ~all :boom: {{x}} https://example.com'
  for (const name of ['mattermost', 'discord', 'teams', 'telegram'] as const) {
    const { markup } = loadedPresets[name]
    expect(markup.plain!(markup.escape!(mentions))).toBe(mentions)
  }
})

test('ordinary names stay readable', async () => {
  for (const text of ['Pod shop/web-5d9c-x2x: 7 restarts (12m), nginx:1.28, 50%', 'v1.2-rc+3'])
    for (const name of ['discord', 'mattermost', 'teams', 'telegram'] as const)
      expect(loadedPresets[name].markup.escape!(text)).toBe(text)
})

test('a sink with a preset sends it, unsigned without a secret, and notes what was shortened', async () => {
  await using hook = await startReceiver()
  hook.answer(() => ({ status: 204 }))
  await using sink = await openSink(webhook, { url: hook.url, preset: 'discord' })
  const outcomes = await sink.deliver([messageOf(), nasty('discord', 100)], never)
  expect(outcomes).toEqual([{ kind: 'delivered' }, { kind: 'delivered', note: 'truncated' }])
  expect(hook.requests[0]!.headers).not.toHaveProperty('webhook-signature')
  expect(JSON.parse(hook.requests[0]!.body).embeds).toHaveLength(1)
})

test('discord: the body has how long to wait, to the millisecond', async () => {
  await using hook = await startReceiver()
  const body = '{"message":"You are being rate limited.","retry_after":0.65,"global":false}'
  hook.answer(() => ({ status: 429, body, headers: { 'retry-after': '1' } }))
  await using sink = await openSink(webhook, { url: hook.url, preset: 'discord' })
  expect(await sink.deliver([messageOf()], never)).toMatchObject([
    { kind: 'retry', reason: 'rate-limited', scope: 'sink', afterMs: 650 },
  ])
})

test('pagerduty answers 202, and needs no url', async () => {
  await using hook = await startReceiver()
  hook.answer(() => ({ status: 202 }))
  const options = { preset: 'pagerduty', routingKey: 'R0UTINGKEY' }
  await using sink = await openSink(webhook, { ...options, url: hook.url })
  expect(await sink.deliver([messageOf()], never)).toEqual([{ kind: 'delivered' }])
  await using standard = await openSink(webhook, options)
  expect(standard).toHaveProperty('deliver')
})

test('a routing key that an answer repeats is not shown', async () => {
  await using hook = await startReceiver()
  hook.answer(({ body }) => ({ status: 400, body }))
  await using sink = await openSink(webhook, { url: hook.url, preset: 'pagerduty', routingKey: 'R0UTINGKEY' })
  const outcomes = await sink.deliver([messageOf()], never)
  expect(outcomes).toMatchObject([{ kind: 'rejected' }])
  expect(JSON.stringify(outcomes)).not.toContain('R0UTINGKEY')
})
