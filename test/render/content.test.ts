import { describe, expect, test } from 'vitest'
import type { ContainerLog } from '../../src/model/delivery.ts'
import { compileMessage, createContents } from '../../src/render/message.ts'
import { MessageTemplates } from '../../src/render/message-schema.ts'
import { type Content, endOfLog, type Summary } from '../../src/sink/index.ts'
import { markup, NOW, subjectOf } from '../sink/template/subject.ts'
import type { MessageParts } from '../sinks/bed.ts'

const WORDS: Summary = {
  severity: 'warning',
  title: 'Pod shop/web <was> restarted',
  text: 'because',
  about: { kind: 'Pod', namespace: 'shop', name: 'web' },
  fields: [{ title: 'Node', value: 'a<b' }],
  quote: 'what it <said>',
  changes: [{ path: 'spec.x', old: 1, new: 2 }],
  command: 'kubectl describe pod web',
}

const DEFAULT: Content = {
  severity: 'warning',
  title: 'Pod shop/web &lt;was> restarted',
  text: 'because',
  fields: [{ title: 'Node', value: 'a&lt;b' }],
  links: [],
  quote: 'what it <said>',
  changes: [{ path: 'spec.x', old: 1, new: 2 }],
  command: 'kubectl describe pod web',
}

function contentOf(ofRule: unknown, ofSink?: unknown, parts: MessageParts = {}): Content {
  const parsed = (it: unknown) => (it === undefined ? undefined : MessageTemplates.parse(it))
  const message = Object.defineProperty(subjectOf(parts), 'summary', { value: WORDS })
  return compileMessage(parsed(ofRule), parsed(ofSink), markup, { clock: { now: () => NOW } })(message)
}

test('without templates the words are told, escaped', () => {
  expect(contentOf(undefined)).toEqual(DEFAULT)
  expect(contentOf({})).toEqual(DEFAULT)
})

test('a text is all that is said', () => {
  expect(contentOf('*{{ labels.team }}*\n in {{ cluster }}\n')).toEqual({
    severity: 'warning',
    title: '*&lt;!channel>* in prod',
    text: '',
    fields: [],
    links: [],
    quote: '',
    changes: [],
    command: '',
  })
})

test('parts that are not given keep their defaults', () => {
  expect(contentOf({ text: '{{ message.text }}, {{ message.quote }}' })).toEqual({
    ...DEFAULT,
    text: 'because, what it &lt;said>',
    // The text has it.
    quote: '',
  })
  expect(contentOf({ quote: false, changes: false, command: false, fields: false })).toEqual({
    ...DEFAULT,
    quote: '',
    changes: [],
    command: '',
    fields: [],
  })
})

test('fields are the given ones, without those that are empty', () => {
  const fields = {
    '<Team>': '{{ labels.team | code }}',
    Gone: '{{ object.nope }}',
    Restarts: '{{ object.spec.containers[0].restarts }}',
  }
  expect(contentOf({ fields }).fields).toEqual([
    { title: '&lt;Team>', value: '`&lt;!channel>`' },
    { title: 'Restarts', value: '2' },
  ])
})

test('a severity is a word, or a template that gives one; anything else leaves it as it was', () => {
  expect(contentOf({ severity: 'error' }).severity).toBe('error')
  expect(contentOf({ severity: '{% if name == "web" %} Resolved {% endif %}' }).severity).toBe('resolved')
  expect(contentOf({ severity: '{{ object.nope }}' }).severity).toBe('warning')
  expect(() => MessageTemplates.parse({ severity: 'bad' })).toThrow('must be error, warning, info, resolved')
})

test('a title that comes out empty is that of the words', () => {
  expect(contentOf({ title: ' {{ object.nope }}\n' }).title).toBe(DEFAULT.title)
})

test("a rule's parts win over the sink's, and a rule's text over everything", () => {
  const ofSink = { title: 'sink', text: 'sink', command: false }
  expect(contentOf({ title: 'rule' }, ofSink)).toMatchObject({ title: 'rule', text: 'sink', command: '' })
  expect(contentOf('rule', ofSink)).toMatchObject({ title: 'rule', text: '', quote: '' })
  expect(contentOf({ text: 'rule' }, 'sink')).toMatchObject({
    title: 'sink',
    text: 'rule',
    quote: '',
    fields: [],
  })
})

test.each([
  ['https://a.example.com/d/{{ name }}?ns={{ namespace }}', 'https://a.example.com/d/web?ns=shop'],
  ['https://{{ cluster }}.example.com/{{ name }}', 'https://prod.example.com/web'],
  ['https://a.example.com', 'https://a.example.com/'],
  [
    'https://a.example.com/{{ object.evil }}',
    'https://a.example.com/%40evil.example%2F..%2F%3Fx%3D%22%7C%3E%27%28%29',
  ],
  [
    'https://a.example.com/?q={{ object.evil }}&x=1',
    'https://a.example.com/?q=%40evil.example%2F..%2F%3Fx%3D%22%7C%3E%27%28%29&x=1',
  ],
  ['https://a.example.com/{{ object.evil | raw }}', undefined],
  ['https://a.example.com/x/{{ object.dots }}/y', undefined],
  ['https://a.example.com/x|y>', 'https://a.example.com/x%7Cy%3E'],
  ['{% if name %}https://a.example.com/{{ name }}{% endif %}', 'https://a.example.com/web'],
  ['{% if name %}{{ object.url }}{% endif %}', undefined],
  ['{% if name %}https://{% endif %}{{ object.host }}/x', undefined],
  ['{% if name %}https://{% endif %}{{ object.other }}/x', undefined],
  ['{% if name %}https://a{% endif %}{{ object.other }}/x', undefined],
  ['{% if name %}javascript:alert(1)//{% endif %}', undefined],
  ['{% if name %}https://a.example.com{{ object.host }}{% endif %}', undefined],
  [
    '{% capture h %}{{ object.host }}{% endcapture %}https://a.example.com/{{ h }}',
    'https://a.example.com/%40evil.example',
  ],
  ['{% if nope %}{% endif %}', undefined],
])('the link %s becomes %s', (template, url) => {
  const source = template.replace('if nope', 'if object.nope')
  const object = {
    url: 'https://evil.example/',
    host: '@evil.example',
    evil: `@evil.example/../?x="|>'()`,
    dots: '..',
    other: '.evil.example',
  }
  const links = url === undefined ? [] : [{ title: '&lt;Logs>', url }]
  expect(contentOf({ links: { '<Logs>': source } }, undefined, { object }).links).toEqual(links)
})

test.each([
  ['{{ object.url }}', 'is no http or https address'],
  ['/d/{{ name }}', 'is no http or https address'],
  ['ftp://a.example.com/', 'is no http or https address'],
  ['https://{{ object.host }}/x', 'may not take its host from an object'],
  ['https://a.example.com{{ name }}', 'may not take its host from an object'],
  ['https://a@{{ name }}/', 'may not take its host from an object'],
  ['https://user@a.example.com/{{ name }}', 'may not take its host from an object'],
  ['https://', 'is not an address that can be read'],
])('the link %s %s', (link, problem) => {
  expect(MessageTemplates.safeParse({ links: { a: link } }).error?.message).toContain(problem)
})

test('a template that fails names its place in the file', () => {
  const bomb = MessageTemplates.parse({ title: 'x {% for i in (1..99999999) %}{% endfor %}' })
  const placeOf = (path: readonly PropertyKey[], offset?: number) => `k.yaml:${path.join('.')}:${offset}`
  const markupOf = () => markup
  const message = subjectOf({ rule: 'b' })
  const rules = [{ name: 'a' }, { name: 'b', message: bomb }]
  expect(() => createContents({ rules, sinks: [], placeOf }, markupOf)(message, 's')).toThrow(
    'k.yaml:rules.1.message.title:2: the template does more than a message may take',
  )
  const sinks = [{ name: 's', messages: bomb }]
  expect(() => createContents({ rules: [], sinks, placeOf }, markupOf)(message, 's')).toThrow(
    'k.yaml:sinks.s.messages.title:2: the template does',
  )
})

test('a delivery of a rule that is gone is told by its sink', () => {
  const sinks = [{ name: 's', messages: MessageTemplates.parse('{{ rule }}') }]
  const contents = createContents({ rules: [], sinks }, () => markup)
  expect(contents(subjectOf({ rule: 'gone' }), 's').title).toBe('gone')
  expect(contents(subjectOf({ rule: 'gone' }), 'other').title).toBe('Pod shop/web is starting on node node-1')
})

describe('the log of a container', () => {
  const logs = { container: 'app', previous: true, text: 'one\n<two>' }
  const withLogs = (ofRule: unknown, log: object = logs) =>
    contentOf(ofRule, undefined, { logs: log as ContainerLog })

  test('is below a line that says what it is, in plain text', () => {
    expect(withLogs(undefined).logs).toMatch(/^[^\n]*app[^\n]*previous[^\n]*\none\n<two>$/)
    expect(withLogs(undefined, { previous: false, text: '' }).logs).toMatch(/empty/)
  })

  test('that could not be had is one line with the reason', () => {
    const log = withLogs(undefined, { previous: false, error: 'the pod no longer exists' }).logs
    expect(log).toMatch(/^[^\n]*the pod no longer exists[^\n]*$/)
  })

  test('is in templates, and can be hidden', () => {
    expect(withLogs({ text: '{{ logs.container }}: {{ logs.text }}' }).text).toBe('app: one\n&lt;two>')
    expect(withLogs({ logs: false })).toEqual(DEFAULT)
    expect(withLogs('{{ logs.text }}')).not.toHaveProperty('logs')
  })
})

test('a message that is traced has the log, too', () => {
  const logs = { previous: false, text: 'x' }
  expect(subjectOf({ logs, trace: { traceparent: '00-1-1-01' } }).logs).toEqual(logs)
})

test.each([40, 100, 300, 3_000])(
  'a log that is cut to %d characters keeps its first line and its end',
  (max) => {
    const log = `Log of app:\n${Array.from({ length: 100 }, (_, i) => `line ${i} 😀`).join('\n')}`
    const cut = endOfLog(log, max)
    expect(cut.length).toBeLessThanOrEqual(max)
    expect(cut).toMatch(/^Log of app:\n[\s\S]*line 99 😀$/)
    expect(cut.isWellFormed()).toBe(true)
    expect(endOfLog('x'.repeat(5_000), max).length).toBeLessThanOrEqual(max)
  },
)
