import { expect, test } from 'vitest'
import { compileTemplate, compileTree } from '../../src/sink/index.ts'
import { problemsIn } from './subject.ts'

const LABEL = 'a key with "." or "/" needs brackets and quotes'
const FOREIGN = 'this is another template language'

test.each([
  ['{{ nmae }}', '[nmae] there is no "nmae" = did you mean "name"?'],
  ['{{ metadata.name }}', '[metadata] there is no "metadata" = write object.metadata'],
  ['{{ message.titel }}', '[titel] "message" has no "titel" = did you mean "title"?'],
  ['{{ name | upcas }}', '[upcas] there is no filter "upcas" = did you mean "upcase"?'],
  ['{{ name | toJson }}', '[toJson] there is no filter "toJson" = here it is called "json"'],
  [
    '{{ name | escape }}',
    '[escape] there is no filter "escape" = values are escaped already; | raw leaves them as they are',
  ],
  [
    '{{ name | default "x" }}',
    '[| default "x"] "default" lacks its colon = what a filter takes follows a colon: | default: "x"',
  ],
  [
    '{{ labels.app.kubernetes.io/name }}',
    `[labels.app.kubernetes.io/name] ${LABEL} = write labels["app.kubernetes.io/name"]`,
  ],
  [
    '{{ object.metadata.annotations.example.com }}',
    `[object.metadata.annotations.example.com] ${LABEL} = write object.metadata.annotations["example.com"]`,
  ],
  [
    '{{ .Object.metadata.name }}',
    '[.Object.metadata.name] a name cannot begin with a dot = names have no dot in front: write object.metadata.name',
  ],
  ['{{ .Name }}', '[.Name] a name cannot begin with a dot = names have no dot in front: write name'],
  [
    '{{ printf "%s" name }}',
    `[printf "%s" name] ${FOREIGN} = write texts and values side by side: {{ namespace }}/{{ name }}`,
  ],
  ['{{ $x := name }}', `[$x := name] ${FOREIGN} = write {% assign x = … %}`],
  ['{{ name && kind }}', '[&&] "&&" cannot stand here = write "and", in {% if … and … %}'],
  ['{% if name = "x" %}{% endif %}', '[=] "=" cannot stand here = comparisons are written "=="'],
  [
    '{{ name kind }}',
    '[kind] there is nothing between "name" and "kind" = texts stand outside of {{ }}; filters follow "|"',
  ],
  ['{{ name', '[{{] this "{{" is not closed with "}}"'],
  ['{{ name\nthird {{ kind }}', '[{{] this "{{" is not closed with "}}"'],
  ['{{ name\n{% if kind %}a{% endif %} {{ kind }}', '[{{] this "{{" is not closed with "}}"'],
  ['{{ name | default: "x }}', '[{{ name | default: "x }}] a quote behind this "{{" is not closed'],
  ['{{ }}', '[{{ }}] there is nothing between "{{" and "}}"'],
  ['{{ name == }}', '[==] a value is missing behind "=="'],
  ['{{ object.a[ }}', '[ ] a "[" is not closed'],
  ['{% if name %}x', '[if] "if" is never ended = write {% endif %}'],
  ['{% endif %}', '[endif] there is no "if" that this could end'],
  ['{% if name %}{% else if kind %}{% endif %}', '[if kind] "else if" is one word = write {% elsif … %}'],
  ['{% range x %}', '[range] there is no tag "range" = write {% for it in … %}'],
  [
    '{% for c in object.list | sort %}{% endfor %}',
    '[| sort] this cannot stand here = write {% assign list = … | sort %} in front of it',
  ],
  ['{% assign name = "x" %}', '[name] "name" has a meaning already = choose another name'],
  [
    '{{ name | as_is }}',
    '[as_is] "as_is" keeps the type of a value that stands alone = leave it out: this is text',
  ],
])('%s: %s', (source, problem) => {
  expect(problemsIn(source)).toEqual([problem])
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
