import { expect, test } from 'vitest'
import { compileTemplate } from '../../../src/sink/index.ts'
import { leastCpuMs } from '../../cpu-time.ts'
import { markup, POD, problemsIn, rendered, subjectOf } from './subject.ts'

test.each([
  ['{{ kind }} {{ namespace }}/{{ name }} in {{ cluster }}', 'Pod shop/web in prod'],
  [
    '{{ labels["app.kubernetes.io/name"] }} {{ object.metadata.labels["app.kubernetes.io/name"] }}',
    'web web',
  ],
  ['{{ owner.kind }} {{ owner.name }}', 'ReplicaSet web-5d4f'],
  ['{{ message.title }}', 'Pod shop/web is starting on node node-1'],
  ['{{ about | kubectl }}', 'kubectl -n shop describe pod web'],
  ['{{ object.spec.priority }}{{ object.spec.flag }}', '0false'],
  ['{% for it in object.spec.containers %}{{ forloop.index }}{{ it.name }} {% endfor %}', '1a 2b '],
  ['{% if labels contains "team" %}yes{% endif %}', 'yes'],
  ['{% if object.spec.priority %}zero is true{% endif %}', 'zero is true'],
  ['{% increment n %}{% increment n %}', '01'],
  ['{% raw %}{{ name }}{% endraw %}{% comment %}{{ x }}{% endcomment %}', '{{ name }}'],
])('%s gives %s', (source, text) => {
  expect(rendered(source)).toBe(text)
})

test('what is filled in is escaped, what is written is not', () => {
  expect(rendered('<b>{{ labels.team }}')).toBe('<b>&lt;!channel>')
  expect(rendered('{{ labels.team | raw }}')).toBe('<!channel>')
  expect(rendered('{{ labels.team | upcase }}{% echo labels.team %}')).toBe('&lt;!CHANNEL>&lt;!channel>')
  expect(rendered('{{ labels.team | raw | downcase }}')).toBe('&lt;!channel>')
  expect(rendered('{{ labels.team | code }}')).toBe('`&lt;!channel>`')
})

test('what was captured is escaped once', () => {
  expect(rendered('{% capture it %}<i>{{ labels.team }}{% endcapture %}{{ it }}')).toBe('<i>&lt;!channel>')
})

test('objects and lists are compact JSON, what is missing is nothing', () => {
  expect(rendered('{{ object.spec.containers }}')).toBe('[{"name":"a","restarts":2},{"name":"b"}]')
  expect(rendered('{{ object.spec.containers[0] }}')).toBe('{"name":"a","restarts":2}')
  expect(rendered('[{{ object.no.such.thing }}{{ nil }}{{ event.reason }}]')).toBe('[]')
})

test('a missing field is the default of its filter, and no condition', () => {
  expect(rendered('{{ object.spec.nope | default: "none" }}{% if object.nope %}x{% endif %}')).toBe('none')
})

const HOSTILE = {
  metadata: {
    labels: JSON.parse(
      '{"constructor":"c","__proto__":"p","toString":"t","valueOf":"v","toJSON":"j","then":"x","length":"9"}',
    ),
  },
  spec: { polluted: JSON.parse('{"__proto__":{"polluted":"yes"}}') },
}

test('keys that JavaScript has a meaning for are plain keys', () => {
  const object = { object: HOSTILE }
  expect(
    rendered('{{ labels.constructor }}{{ labels.__proto__ }}{{ labels.toString }}', markup, object),
  ).toBe('cpt')
  expect(
    rendered(
      '{{ object.constructor }}{{ object.__proto__ }}{{ object.spec.constructor.name }}',
      markup,
      object,
    ),
  ).toBe('')
  expect(rendered('{{ object.spec.polluted.polluted }}', markup, object)).toBe('')
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test.each([
  ['{{ labels }}'],
  ['{{ labels | append: "x" }}'],
  ['{{ labels | upcase }}'],
  ['{{ labels | plus: 1 }}'],
  ['{{ labels | date: "%Y" }}'],
  ['{{ labels | sort | join }}'],
  ['{{ labels | sum }}'],
  ['{{ labels | where: "a", labels }}'],
  ['{{ labels | map: labels }}'],
  ['{{ labels | slice: 0, 3 }}'],
  ['{{ labels | group_by: "a" }}'],
  ['{{ labels | first }}{{ labels | last }}{{ labels | size }}{{ labels.size }}'],
  ['{% if labels > 1 or labels contains labels or name contains labels or labels == name %}x{% endif %}'],
  ['{% case labels %}{% when "x" %}{% endcase %}'],
  [
    '{{ labels | json }}{{ labels | yaml }}{{ labels | shorten: 5 }}{{ labels | quantity }}{{ labels | age }}',
  ],
  ['{{ labels | kubectl }}{{ labels | duration }}{{ labels | code }}'],
])('labels named toString and valueOf break nothing: %s', (source) => {
  expect(() => rendered(source, markup, { object: HOSTILE })).not.toThrow()
})

test.each(['include', 'render', 'layout', 'block'])('no file is read: there is no tag "%s"', (tag) => {
  expect(problemsIn(`{% ${tag} "./package.json" %}`)).toEqual([
    `[${tag}] there is no tag "${tag}" = templates read no files: share texts with anchors and x-… keys of YAML`,
  ])
})

/** A bomb takes about 50 ms, and seconds unguarded. */
const MAX_CPU_MS = 1_000

const BOMBS = [
  ['a long range', '{% for i in (1..100000000) %}x{% endfor %}'],
  ['loops in loops', '{% for i in (1..9999) %}{% for j in (1..9999) %}{% endfor %}{% endfor %}'],
  [
    'loops over what is in the object',
    '{% for a in object.list %}{% for b in object.list %}{% for c in object.list %}{% for d in object.list %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}',
  ],
  [
    'loops that end at once, over a large map',
    '{% for a in (1..9999) %}{% for b in object.map %}{% break %}{% endfor %}{% endfor %}',
  ],
  [
    'counting a large map again and again',
    '{% for a in (1..9999) %}{% if object.map.size > 1 %}{% endif %}{% endfor %}',
  ],
  ['loops that write', '{% for i in (1..9999) %}{% for j in (1..9999) %}{{ j }}{% endfor %}{% endfor %}'],
  [
    'loops that compare',
    '{% for i in (1..9999) %}{% for j in (1..9999) %}{% if object.spec.containers contains j %}{% endif %}{% endfor %}{% endfor %}',
  ],
  [
    'lists that are compared by case',
    '{% for i in (1..3000) %}{% case object.long %}{% when object.long, object.long %}{% endcase %}{% endfor %}',
  ],
  [
    'lists in lists that are compared',
    '{% for i in (1..5000) %}{% if object.nested == object.nested %}{% endif %}{% endfor %}',
  ],
  [
    'text that doubles',
    '{% assign x = "0123456789" %}{% for i in (1..99) %}{% assign x = x | append: x %}{% endfor %}{{ x }}',
  ],
  [
    'captures that double',
    '{% assign x = "0123456789" %}{% for i in (1..99) %}{% capture x %}{{x}}{{x}}{% endcapture %}{% endfor %}',
  ],
  [
    'lists that double',
    '{% assign x = "a,b" | split: "," %}{% for i in (1..99) %}{% assign x = x | concat: x %}{% endfor %}',
  ],
  [
    'replacements that multiply',
    '{% assign x = "aaaaaaaaaaaaaaaaaaaa" %}{% for i in (1..9) %}{% assign x = x | replace: "a", x %}{% endfor %}',
  ],
  ['wide numbers', '{{ "now" | date: "%1000000000d" }}'],
  [
    'JSON again and again',
    '{% for i in (1..9999) %}{% assign x = object | json %}{% assign y = object | yaml %}{% endfor %}',
  ],
  [
    'sorting again and again',
    '{% assign x = (1..9999) %}{% for i in x %}{% assign y = x | sort %}{% endfor %}',
  ],
  [
    'uniq again and again',
    '{% assign x = (1..9999) %}{% for i in x %}{% assign y = x | where: "a" %}{% endfor %}',
  ],
] as const

test.each(BOMBS)('a bomb fails instead of standing in the way of others: %s', async (_, source) => {
  const list = Array.from({ length: 100 }, (_, i) => i)
  const long = Array.from({ length: 10_000 }, (_, i) => i)
  const map = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key-${i}`, i]))
  const object = { ...POD, data: { blob: 'x'.repeat(100_000) }, list, map, long, nested: [long] }
  const cpuMs = await leastCpuMs(MAX_CPU_MS, () =>
    expect(() => rendered(source, markup, { object })).toThrow(
      'the template does more than a message may take',
    ),
  )
  expect(cpuMs).toBeLessThan(MAX_CPU_MS)
})

test('an object as large as etcd takes it can be written as JSON', () => {
  const object = { data: { blob: 'x'.repeat(1_500_000) } }
  expect(rendered('{"object":{{ object | json | raw }}}', markup, { object })).toHaveLength(1_500_000 + 31)
})

test('a time zone of an object that does not exist is named', () => {
  const object = { metadata: { annotations: { zone: 'Europe/Berln' } } }
  expect(() => rendered('{{ time | date: "%H:%M", annotations.zone }}', markup, { object })).toThrow(
    /time zone.*Europe\/Berln/,
  )
})

test('a template that is too long is told, not parsed', () => {
  expect(problemsIn(`{{ name }}${'x'.repeat(100_001)}`)[0]).toContain('longer than')
})

test('blocks that are nested thousands deep are refused', () => {
  const source = '{% if name %}'.repeat(7_000) + '{% endif %}'.repeat(7_000)
  expect(compileTemplate(source).ok && (() => rendered(source))()).toBe(false)
})

test.each([
  ['plain text', true],
  ['{ "json": {} }', true],
  ['', true],
  ['{{ name }}', false],
  ['{% if name %}{% endif %}', false],
  ['{% comment %}x{% endcomment %}', false],
])('%j is constant: %s', (source, constant) => {
  const compiled = compileTemplate(source)
  expect(compiled.ok && compiled.template.constant).toBe(constant)
  if (constant) expect(compiled.ok && compiled.template.render(subjectOf())).toBe(source)
})
