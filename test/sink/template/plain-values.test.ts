import { expect, test } from 'vitest'
import { compileTemplate, compileTree, type Message } from '../../../src/sink/index.ts'
import { plainTemplateOf } from '../../../src/sink/template/program.ts'
import { markup, POD, subjectOf } from './subject.ts'

const OBJECT = {
  ...POD,
  spec: { ...POD.spec, text: 'a <b> "c"\n{{ name }} {% if %}', empty: null, toString: 'own', size: 3 },
}
const subject = () => subjectOf({ object: OBJECT, kubeEvent: { reason: 'BackOff', count: 3 } })

const PATHS = [
  ...[
    'name',
    'time',
    'cluster',
    'synthesized',
    'notice',
    'manager',
    'digest',
    'resolved',
    'suppressed',
    'id',
  ],
  ...['event.reason', 'event.count', 'event.regarding.name', 'event.regarding', 'owner.kind', 'owner'],
  ...['message.title', 'message.fields', 'about.name', 'labels.team', 'labels["app.kubernetes.io/name"]'],
  ...[
    "labels['team']",
    'labels',
    'namespaceLabels.env',
    'changes',
    'object',
    'object.spec',
    'object.spec.text',
  ],
  ...['object.spec.priority', 'object.spec.flag', 'object.spec.empty', 'object.spec.empty.x', 'object.no.x'],
  ...[
    'object.spec.containers',
    'object.spec.containers.size',
    'object.spec.containers.first.name',
    'name.length',
  ],
  ...[
    'object.spec.containers.length',
    'object.spec.toString',
    'object.toString',
    'object.constructor',
    'name.size',
  ],
  ...['object.spec.size', 'object.__proto__', 'object.metadata.labels.team', 'object.metadata.size'],
]
const SOURCES = [
  ...PATHS.map((path) => `{{ ${path} }}`),
  ...PATHS.map((path) => `<{{${path}}}> {{ kind }}`),
  ...[
    '{{- name -}} x',
    'x {{ name -}} ',
    '{{ name }}{{name}}',
    '}} {{ name }} }',
    '{{ name | upcase }}',
    '{{ 1 }}',
  ],
  ...[
    '{{ true }}',
    '{{ nil }}',
    "{{ 'text' }}",
    '{{ name }} {% if name %}x{% endif %}',
    '{% raw %}{{ x }}{% endraw %}',
  ],
  ...['{{ object.metadata.name-}} x', '{{\n name\n}}', '{{ name contains "w" }}'],
]

/** A comment is for the engine. */
const ENGINE = '{% comment %}{% endcomment %}'

function outcome(source: string): string {
  const compiled = compileTemplate(source, markup)
  if (!compiled.ok) return `refused: ${compiled.problems[0]?.message}`
  try {
    return compiled.template.render(subject())
  } catch (error) {
    return `failed: ${(error as Error).message}`
  }
}

test('a template without filters, conditions and loops gives what the engine gives', () => {
  expect(plainTemplateOf('{{ name }} of {{ object.spec.text }}')).toBeDefined()
  expect(plainTemplateOf(`{{ name }}${ENGINE}`)).toBeUndefined()
  for (const source of SOURCES) expect([source, outcome(source)]).toEqual([source, outcome(source + ENGINE)])
})

test('a failure of the subject is one of the template, with its place', () => {
  const broken = subject()
  Object.defineProperty(broken, 'object', {
    get: () => {
      throw new Error('no JSON')
    },
  })
  const compiled = compileTemplate('x {{ object.a }}')
  expect(() => compiled.ok && compiled.template.render(broken)).toThrow(/no JSON \(character \d/)
})

test('a subject that is rendered again after a change is read again', () => {
  const compiled = compileTemplate('{{ object.v }}')
  const render = (v: number) => compiled.ok && compiled.template.render(subjectOf({ object: { v } }))
  expect([render(1), render(2), render(1)]).toEqual(['1', '2', '1'])
})

function treeOf(data: unknown) {
  const compiled = compileTree(data)
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems))
  return compiled.tree
}

test('json() of a tree is the JSON of render()', () => {
  const data = JSON.parse(`{
    "2": "x", "1": "{{ name }}", "__proto__": "{{ object.spec.text }}", "\\"q\\n": [1, true, null, "plain", [], {}],
    "list": ["{{ object.spec.containers | as_is }}", "{{ object.gone | as_is }}", "{{ object.spec.priority | as_is }}"],
    "deep": { "spec": "{{ object.spec | as_is }}", "event": "{{ event | as_is }}", "n": 1.5, "title": "{{ message.title }}" },
    "all": "{{ object | as_is }}", "not-all": "{{ object }}"
  }`)
  const tree = treeOf(data)
  expect(tree.json(subject())).toBe(JSON.stringify(tree.render(subject())))
  for (const value of [Number.NaN, 'x', null, []])
    expect(treeOf(value).json(subject())).toBe(JSON.stringify(value))
})

test('a whole object is written as it was sent, in one line', () => {
  const tree = treeOf({ object: '{{ object | as_is }}' })
  const sent = (objectJson: string) => {
    const message = subject()
    Object.defineProperty(message, 'objectJson', { value: Buffer.from(objectJson) })
    Object.defineProperty(message, 'object', { get: () => JSON.parse(objectJson) })
    return tree.json(message as Message)
  }
  // A number that does not fit into a double is not rounded.
  expect(sent('{"n":12345678901234567890,"é":"😀"}')).toBe('{"object":{"n":12345678901234567890,"é":"😀"}}')
  expect(sent('{\n  "n": 1\n}')).toBe('{"object":{"n":1}}')
})
