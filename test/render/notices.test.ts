import { expect, test } from 'vitest'
import { formatMessage } from '../../sinks/slack/format.ts'
import slack from '../../sinks/slack/index.ts'
import { jsonLine, messageText, textLine } from '../../sinks/stdout/index.ts'
import { PRESET_NAMES } from '../../sinks/webhook/presets/names.ts'
import { subjectKey } from '../../sinks/webhook/presets/parts.ts'
import { compileMessage } from '../../src/render/message.ts'
import { MessageTemplates } from '../../src/render/message-schema.ts'
import { endsThread, type Resolved, threadGroupOf } from '../../src/sink/index.ts'
import { decodeEntry, encodeEntries } from '../../src/store/entry.ts'
import { DEPLOYMENT } from '../rules/events.ts'
import { openBed } from '../rules/limits/bed.ts'
import { refusalOf } from '../servers/slack/limits.ts'
import { listingOf } from '../servers/slack/listing.ts'
import { bodyOf, loadedPresets } from '../sinks/webhook/preset-body.ts'
import { NOTICES, noticeMessage } from './notices.ts'

const entries = Object.entries(NOTICES)
const notice = (name: keyof typeof NOTICES) => NOTICES[name]!

const LOOKS: Readonly<Record<string, () => string[] | Promise<string[]>>> = {
  slack: () =>
    entries.map(([name, it]) => {
      const message = noticeMessage(it, slack)
      const rendered = formatMessage(message, { over: endsThread(message) })
      expect(refusalOf(rendered.text, undefined, rendered.attachments)).toBeUndefined()
      expect(rendered.truncated).toBe(false)
      return `── ${name}\n${listingOf(rendered)}`
    }),
  ...Object.fromEntries(
    PRESET_NAMES.map((name) => [
      name,
      () =>
        Promise.all(
          entries.map(async ([title, it]) => {
            const options = name === 'alertmanager' ? { labels: { severity: 'page' } } : {}
            const body = await bodyOf(name, noticeMessage(it, loadedPresets[name].markup), options)
            const documents = body
              .trim()
              .split('\n')
              .map((line) => JSON.stringify(JSON.parse(line), null, 1))
            return `── ${title}\n${documents.join('\n')}\n`
          }),
        ),
    ]),
  ),
  'stdout-message': () => entries.map(([, it]) => messageText(noticeMessage(it))),
  'stdout-text': () => entries.map(([, it]) => textLine(noticeMessage(it), false)),
  cloudevents: () => entries.map(([, it]) => jsonLine(noticeMessage(it))),
}

test.each(Object.entries(LOOKS))(
  '%s shows digests, ends and what was suppressed as in the golden file',
  async (name, look) => {
    await expect((await look()).join('\n')).toMatchFileSnapshot(`../golden/notices/${name}.txt`)
  },
)

test('a notice comes out of a lane as it went in', () => {
  for (const [, it] of entries)
    expect(encodeEntries([it]).flatMap(({ payload }) => decodeEntry(payload))).toEqual([it])
})

test('the id of a notice is not that of its event, and the same for each attempt', () => {
  const it = notice('back-offs that stopped')
  expect(noticeMessage(it).id).toBe(`${it.event.id}/resolved/trouble`)
  expect(JSON.parse(noticeMessage(it).cloudEvent.toString()).id).toBe(noticeMessage(it).id)
  expect(noticeMessage(notice('one after others were suppressed')).id).toBe(it.event.id)
  const input = { ...it, event: { ...it.event, id: `${it.event.id}/resolved/trouble` } }
  expect(noticeMessage(input).id).toBe(input.event.id)
})

test('the severity of a rule stands in for that of the words, but what is over is over', () => {
  const severe = (name: keyof typeof NOTICES) =>
    noticeMessage(notice(name), {}, { rule: { severity: 'info' } }).content.severity
  expect(severe('a digest of back-offs')).toBe('info')
  expect(severe('one after others were suppressed')).toBe('info')
  expect(severe('a Node that is ready again')).toBe('resolved')
})

function templates(message: unknown) {
  return compileMessage(MessageTemplates.parse(message), undefined)
}

test('templates see the notice, the digest, what was suppressed and the labels of the rule', () => {
  const text = templates(
    '{{ notice }} {{ digest.count }} {{ digest.by.namespace }} {{ digest.items[1].regarding.name }} {{ message.labels.team }}' +
      '{% if notice %}{% else %}{{ suppressed.count }}{% endif %} {{ resolved.why }}',
  )
  expect(text(noticeMessage(notice('a digest of back-offs'))).title).toBe('digest 12 shop web-2 pay')
  expect(text(noticeMessage(notice('one after others were suppressed'))).title).toBe('pay14')
  expect(text(noticeMessage(notice('back-offs that stopped'))).title).toBe('resolved pay quiet')
})

test('a title by a template shows that it is over, unless the template does so itself', () => {
  const title = (source: string, name: keyof typeof NOTICES) =>
    templates({ title: source })(noticeMessage(notice(name))).title
  expect(title('{{ kind }} {{ name }} has trouble', 'a Node that is ready again')).toBe(
    'Resolved: Node worker-3 has trouble',
  )
  expect(templates('{{ name }} has trouble')(noticeMessage(notice('back-offs that stopped'))).title).toMatch(
    /^Resolved: web-1\.17a1 has trouble$/,
  )
  expect(title('{{ name }} has trouble', 'a digest of back-offs')).not.toMatch(/resolved/i)
  expect(title('{{ name }} has trouble', 'one after others were suppressed')).not.toMatch(/resolved/i)
  const own = '{% if resolved %}{{ resolved.title }}: all is well{% endif %}'
  expect(title(own, 'a Node that is ready again')).toBe(
    'Node worker-3 is not ready: its kubelet does not answer: all is well',
  )
  expect(title('[{{ cluster }}] {{ message.title }}', 'a Pod that is deleted')).toBe(
    '[prod-eu] Resolved: Pod shop/web-1 is crash-looping, 5 restarts',
  )
})

test('a title shows once that it is over, whatever its text and its objects are called', () => {
  const over = noticeMessage(notice('a Node that is ready again'))
  const title = (source: string) => templates({ title: source })(over).title
  expect(title('{{ message.title | upcase }}')).toMatch(/^RESOLVED: NODE WORKER-3/)
  const tested = '{% if message.severity == "resolved" %}OK{% else %}NOT READY{% endif %} {{ name }}'
  expect(title(tested)).toBe('OK worker-3')
  const chosen =
    "{%- case message.severity -%}{%- when 'resolved' -%}OK{%- else -%}NOT READY{%- endcase %} {{ name }}"
  expect(title(chosen)).toBe('OK worker-3')
  expect(title('{{ name }}: notice board')).toBe('Resolved: worker-3: notice board')
  expect(title('{{ name }}: not resolved yet')).toBe('Resolved: worker-3: not resolved yet')
})

test.each([
  '{{ message["title"] }}',
  "[{{ cluster }}] {{ message[ 'title' ] }}",
  '{% assign part = "title" %}{{ message[part] }}',
  '{% assign m = message %}[{{ cluster }}] {{ m.title }}',
  '{{ name }} {{ message["severity"] | remove: "resolved" }}',
  '{{ name | append: " notice" }}',
  "{{ name | append: ', not yet resolved' | remove: ', not yet resolved' }}",
  '{{ name }}{{ object.status.resolved }}{{ labels["notice"] }}',
])('a title shows once that it is over, however its template reads it: %s', (source) => {
  const { title } = templates({ title: source })(noticeMessage(notice('a Node that is ready again')))
  expect(title.match(/resolved/gi)).toHaveLength(1)
})

test('a template for the severity does not replace that of a resolve notification, unless it reads it', () => {
  const over = noticeMessage(notice('a Node that is ready again'))
  const severity = (source: string) => templates({ severity: source })(over).severity
  expect(severity('error')).toBe('resolved')
  expect(severity('{% if namespace == "prod" %}error{% else %}info{% endif %}')).toBe('resolved')
  expect(severity('{% if object.status.resolved %}info{% else %}error{% endif %}')).toBe('resolved')
  expect(severity('{% if labels["notice"] == "resolved" %}info{% else %}error{% endif %}')).toBe('resolved')
  expect(severity('{% if notice == "resolved" %}info{% else %}error{% endif %}')).toBe('info')
  expect(severity('{% if message.severity == "resolved" %}info{% else %}error{% endif %}')).toBe('info')
  expect(severity('{{ resolved.why | replace: "ended", "warning" }}')).toBe('warning')
})

test('a resolve notification names what had begun; without it, the object and the rule', () => {
  const { title, text } = noticeMessage(notice('a Node that is ready again')).summary
  expect(title).toBe('Resolved: Node worker-3 is not ready: its kubelet does not answer')
  expect(text).toMatch(/is ready again.* 12m/)
  const { notice: ended, ...rest } = notice('a Node that is ready again')
  const { title: _, ...untitled } = ended as Resolved
  const older = noticeMessage({ ...rest, notice: untitled }).summary
  expect(older.title).toMatch(/^Resolved: Node worker-3\b.*\btrouble$/)
})

test('in a digest, objects with the same text share a line, with counts above one', () => {
  const { text } = noticeMessage(notice('a digest of back-offs')).summary
  expect(text.split('\n')).toEqual([
    expect.stringMatching(/web-1 \(4 ×\), web-2 \(3 ×\), web-3, [^:]*web-7: Back-off/),
  ])
  expect(text).not.toContain('1 ×')
})

test('a template for the severity wins over the rule, and names that do not exist are found', () => {
  const it = noticeMessage(notice('a digest of back-offs'), {}, { rule: { severity: 'info' } })
  expect(templates({ severity: '{% if digest.count > 10 %}error{% endif %}' })(it).severity).toBe('error')
  const wrong = MessageTemplates.safeParse({ title: '{{ digest.cuont }}' })
  expect(JSON.stringify(wrong.error?.issues)).toContain('count')
})

test('fields of a rule keep what was suppressed and its labels beside them; a text alone does not', () => {
  const it = noticeMessage(notice('one after others were suppressed'))
  const titles = (message: object | string) => templates(message)(it).fields.map(({ title }) => title)
  expect(titles({ fields: { Pod: '{{ about.name }}' } })).toEqual(['Pod', 'Suppressed', 'team', 'runbook'])
  expect(titles({ fields: false })).toEqual([])
  expect(titles('only this')).toEqual([])
})

test('digests of a group belong together, and their end belongs to the object', () => {
  const [one, other] = ['a digest of back-offs', 'a digest of more than it lists'].map((name) =>
    noticeMessage(notice(name)),
  )
  expect(subjectKey(one!)).toBe(subjectKey(other!))
  expect(threadGroupOf(one!, undefined)).toBe(threadGroupOf(other!, undefined))
  const [input, end] = ['one after others were suppressed', 'back-offs that stopped'].map((name) =>
    noticeMessage(notice(name)),
  )
  expect(subjectKey(input!)).toBe(subjectKey(end!))
  expect(threadGroupOf(input!, undefined)).toBe(threadGroupOf(end!, undefined))
  expect(endsThread(end!)).toBe(true)
  expect(endsThread(one!)).toBe(false)
})

test('a digest of objects says what happened to each, and is as severe as the worst', () => {
  const bed = openBed({ group: { by: 'namespace', wait: '30s' } })
  const down = {
    readyReplicas: 0,
    conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
  }
  const deployment = (name: string, replicas: number, status: object) =>
    ({
      name,
      resource: DEPLOYMENT,
      object: { metadata: { name, namespace: 'shop' }, spec: { replicas }, status },
    }) as const
  bed.run(
    { at: 0, ...deployment('web', 3, { readyReplicas: 3, updatedReplicas: 3 }) },
    { at: 5, ...deployment('api', 2, down) },
  )
  bed.until(60)
  const { severity, title, text } = noticeMessage(bed.deliveries[0]!).summary
  expect(severity).toBe('error')
  expect(title).toMatch(/^2 × Deployment changes in shop/)
  expect(text).toMatch(/• web: .*3 of 3 ready/)
  expect(text).toMatch(/• api: could not be rolled out/)
})
