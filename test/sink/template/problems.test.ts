import { expect, test } from 'vitest'
import { compileTemplate, compileTree } from '../../../src/sink/index.ts'
import { problemsIn } from './subject.ts'

test.each([
  ['{{ nmae }}', 'nmae'],
  ['{{ metadata.name }}', 'metadata'],
  ['{{ message.titel }}', 'titel'],
  ['{{ name | upcas }}', 'upcas'],
  ['{{ name | toJson }}', 'toJson'],
  ['{{ name | escape }}', 'escape'],
  ['{{ name | default "x" }}', '| default "x"'],
  ['{{ labels.app.kubernetes.io/name }}', 'labels.app.kubernetes.io/name'],
  ['{{ object.metadata.annotations.example.com }}', 'object.metadata.annotations.example.com'],
  ['{{ .Object.metadata.name }}', '.Object.metadata.name'],
  ['{{ .Name }}', '.Name'],
  ['{{ printf "%s" name }}', 'printf "%s" name'],
  ['{{ $x := name }}', '$x := name'],
  ['{{ name && kind }}', '&&'],
  ['{% if name = "x" %}{% endif %}', '='],
  ['{{ name kind }}', 'kind'],
  ['{{ name', '{{'],
  ['{{ name\nthird {{ kind }}', '{{'],
  ['{{ name\n{% if kind %}a{% endif %} {{ kind }}', '{{'],
  ['{{ name | default: "x }}', '{{ name | default: "x }}'],
  ['{{ }}', '{{ }}'],
  ['{{ name == }}', '=='],
  ['{{ object.a[ }}', ' '],
  ['{% if name %}x', 'if'],
  ['{% endif %}', 'endif'],
  ['{% if name %}{% else if kind %}{% endif %}', 'if kind'],
  ['{% range x %}', 'range'],
  ['{% for c in object.list | sort %}{% endfor %}', '| sort'],
  ['{% assign name = "x" %}', 'name'],
  ['{{ name | as_is }}', 'as_is'],
  ['{{ time | date: "%H:%M", "Europe/Berln" }}', '"Europe/Berln"'],
  ["{{ time | date: '%H:%M', 'CEST' }}", "'CEST'"],
  ['{{ name | append }}', 'append'],
  ['{{ name | upcase | prepend }}', 'prepend'],
])('%s is wrong at %s', (source, wrong) => {
  expect(problemsIn(source)).toEqual([expect.stringContaining(`[${wrong}] `)])
})

test.each([
  ['{{ metadata.name }}', 'object.metadata'],
  ['{{ nmae }}', '"name"'],
  ['{{ name | toJson }}', 'json'],
  ['{{ name | default "x" }}', '| default: "x"'],
  ['{{ labels.app.kubernetes.io/name }}', 'labels["app.kubernetes.io/name"]'],
  ['{{ .Name }}', 'write name'],
  ['{{ .InvolvedObject.Name }}', 'event.regarding.name'],
  ['{{ .Status.Phase }}', 'object.status.phase'],
  ['{% range x %}', '{% for it in'],
  ['{{ if name }}', '{% if'],
  ['{% if name = "x" %}{% endif %}', '"=="'],
  ['{% if name %}x', '{% endif %}'],
])('of %s the hint has %s', (source, hint) => {
  expect(problemsIn(source)[0]?.split(' = ').slice(1).join(' = ')).toContain(hint)
})

test('everything is told at once, from left to right', () => {
  const source =
    '{{ nmae }} {% if kindd %}{{ name | upcas }}{% for x in nowhere %}{% endif %} {{ .Kind }} {{ open'
  expect(problemsIn(source).map((it) => it.split(' = ')[0])).toEqual([
    '[nmae] there is no "nmae"',
    '[kindd] there is no "kindd"',
    '[upcas] there is no filter "upcas"',
    '[for] "for" is never ended',
    '[nowhere] there is no "nowhere"',
    '[.Kind] a name cannot begin with a dot',
    '[{{] this "{{" is not closed with "}}"',
  ])
})

test.each([
  [
    '{{ time | date: "%H:%M", "Europe/Berlin" }} {{ time | date: "%H", "+02:00" }} {{ time | date: "%H", namespace }} {{ time | date: "%H", 60 }}',
  ],
  ['{% assign x = name | upcase %}{{ x }}{% capture y %}{% endcapture %}{{ y }}{% increment z %}{{ z }}'],
  [
    '{% for it in object.list limit: 3 offset: 1 reversed %}{{ it.a.b }}{{ forloop.last }}{% else %}none{% endfor %}',
  ],
  ['{% case type %}{% when "ADDED", "MODIFIED" %}a{% when "DELETED" or "x" %}b{% else %}c{% endcase %}'],
  ['{% liquid\n assign x = 1\n if x == 1\n echo x\n endif\n%}'],
  [
    '{%- if labels contains "a" and not synthesized -%}{{- event.regarding.fieldPath -}}{%- elsif name -%}{%- endif -%}',
  ],
  [
    '{{ object["any"].thing[0].at[name] }}{{ labels["a.b/c"].size }}{{ changes[0].path }}{{ message.fields.first.value }}',
  ],
  [
    '{{ "}}" }}{{ true }}{{ nil }}{{ -1.5 }}{{ (1..3) | join: "-" }}{% comment %}{{ nope | x }}{% endcomment %}',
  ],
  ['{{ object.constructor }}{{ labels.__proto__ }}'],
])('nothing is wrong with %s', (source) => {
  expect(problemsIn(source)).toEqual([])
})

test('any text is answered, and no place lies outside of it', () => {
  const bits = [
    '{{',
    '}}',
    '{%',
    '%}',
    ' name ',
    '|',
    ' if ',
    'endif',
    '"',
    "'",
    '[',
    ']',
    '(',
    ')',
    '.',
    ':',
    ',',
    '-',
    'raw',
    ' for ',
    '\n',
    '==',
    '$',
    '😀',
    'liquid',
    'comment',
    'assign',
  ]
  let seed = 1
  const next = (n: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % n
  }
  for (let i = 0; i < 3_000; i++) {
    const source = Array.from({ length: 1 + next(14) }, () => bits[next(bits.length)]).join('')
    const compiled = compileTemplate(source)
    for (const { offset, length } of compiled.ok ? [] : compiled.problems) {
      expect(offset, source).toBeGreaterThanOrEqual(0)
      expect(length, source).toBeGreaterThan(0)
      expect(offset, source).toBeLessThanOrEqual(source.length)
    }
  }
})

test('problems of a tree carry the path of their text', () => {
  const compiled = compileTree({ a: ['{{ name }}', '{{ nmae }}'], b: { c: 'x {{ name | as_is }}' } })
  expect(compiled.ok ? [] : compiled.problems).toMatchObject([
    { path: ['a', 1], offset: 3, length: 4 },
    { path: ['b', 'c'], hint: 'write nothing around it: "{{ object.spec.replicas | as_is }}"' },
  ])
})
