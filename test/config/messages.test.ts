import { expect, test } from 'vitest'
import { createContents } from '../../src/render/message.ts'
import { messageOf } from '../sinks/bed.ts'
import { loadText, messagesOf, problemsOf } from './load-text.ts'

function withMessage(message: string, messages = ''): string {
  const sinks = `sinks: { screen: { type: stdout${messages && `, messages: ${messages}`} } }`
  return `watch: [Pod]\n${sinks}\nrules:\n  - name: all\n    to: screen\n    message: ${message}\n`
}

test.each([
  ['"{{ nmae }}"', '6:18'],
  ["'it''s {{ nmae }}'", '6:24'],
  ['"\\u00e9\\t{{ nmae }}"', '6:26'],
  ['{{ nmae }}', undefined],
  ['|\n      Hello\n      {{ nmae }}', '8:10'],
  ['|2-\n        Hello\n        {{ nmae }}', '8:12'],
  ['>\n      Hello\n      there\n\n      {{ nmae }}', '10:10'],
  ['Hello\n      {{ nmae }}', '7:10'],
  ['{ title: "{{ nmae }}" }', '6:27'],
  ['{ fields: { A: ok, B: "{{ nmae }}" } }', '6:40'],
  ['{ links: { A: "https://a.example.com/{{ nmae }}" } }', '6:54'],
  ['\n      title: |\n        {{ kind }}\n        {% if nmae %}x{% endif %}', '9:15'],
])('a fault in %j is told at its place', async (message, place) => {
  const found = await messagesOf(withMessage(message))
  if (place === undefined) expect(found.length).toBeGreaterThan(0)
  else
    expect(found.filter((it) => it.includes('nmae'))).toEqual([
      `${place} ${found[0]?.split(' ').slice(1).join(' ')}`,
    ])
})

test('the messages of a sink are checked like those of a rule', async () => {
  expect(await problemsOf(withMessage('x', '{ text: "{{ name | upcas }}" }'))).toEqual([
    'error 2:63 "text": there is no filter "upcas" = did you mean "upcase"?',
  ])
  expect(await problemsOf(withMessage('x', '{ txt: a }'))).toEqual([
    'error 2:46 unknown key "txt" = did you mean "text"?',
  ])
})

test('a message may be a text or parts, nothing else', async () => {
  expect(await messagesOf(withMessage('[a]'))).toEqual([
    '6:14 "message" must be text or a map of keys and values, not a list',
  ])
  expect(await messagesOf(withMessage('{ fields: [a] }'))).toHaveLength(1)
  expect(await messagesOf(withMessage('{ quote: maybe }'))).toEqual([
    '6:23 "quote" must be true or false, not text',
  ])
})

test('what a secret stands for is in no message, and the place is that of the whole text', async () => {
  const found = await problemsOf(withMessage('"${env:TOKEN} {{ nmae }}"'), { env: { TOKEN: 'hunter2' } })
  expect(found).toEqual(['error 6:14 "message": there is no "nmae" = did you mean "name"?'])
  const leaking = await problemsOf(withMessage('"{{ ${env:TOKEN} }}"'), { env: { TOKEN: 'hunter2' } })
  expect(leaking.join()).not.toContain('hunter2')
})

test('what is loaded makes messages, and a fault of one names line and column', async () => {
  const bomb = '{% for i in (1..99999999) %}{% endfor %}'
  const loaded = await loadText(
    withMessage(`|\n      {{ kind }} {{ name }}\n      ${bomb}`, '"{{ cluster }}"'),
  )
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const contents = createContents(loaded.config, () => ({}))
  expect(contents(messageOf({ rule: 'other' }), 'screen').title).toBe('test')
  expect(() => contents(messageOf({ rule: 'all' }), 'screen')).toThrow(
    '/etc/kubeherald/kubeherald.yaml:8:7: the template does more than a message may take',
  )
})

test.each([
  ['sinks: { hook: { type: webhook, url: "${env:URL}" } }', 2],
  ['sinks: { hook: { type: webhook, url: "https://a.example", timeout: "${env:URL}" } }', 2],
  ['sinks: { chat: { type: slack, token: "${env:URL}", channel: "#a" } }', 2],
])('of an empty variable that %s needs, the hint has its name', async (sinks, line) => {
  const text = `watch: [Event]\n${sinks}\nrules: [{ name: a, to: [] }]\n`
  const problems = await problemsOf(text, { env: { URL: '' } })
  expect(problems.filter((it) => it.includes(` ${line}:`)).join()).toMatch(/= .*\$\{env:URL\} is empty/)
})
