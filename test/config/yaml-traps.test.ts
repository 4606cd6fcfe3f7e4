// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { expect, test } from 'vitest'
import { codesOf, loadText, problemsOf, withRules } from './load-text.ts'

const ruleWith = (line: string) =>
  withRules(`  - name: a\n    when: { kind: Event }\n    ${line}\n    to: screen\n`, '[Event]')

test.each([
  ['if: !has(object.x)', 'yaml-bang 6:9'],
  ['if: !has(object.x) && event.reason == "a" # why', 'yaml-bang 6:9'],
  ['if: !event.message.contains("oom")', 'yaml-bang 6:9'],
  ['if: ! event.synthesized', 'yaml-bang 6:9'],
  [`if: ! "object.x == 'a'"`, 'yaml-bang 6:9'],
  ['if: !', 'yaml-bang 6:9'],
  ['when: { namespace: !kube-system }', 'yaml-bang 6:24'],
  ['name: *-canary', 'yaml-star 6:11'],
  ['when: { name: * }', 'yaml-star 6:19'],
  ['message: {{ name }} is down', 'yaml-braces 6:14'],
  ['message: {{ name }}', 'yaml-braces 6:14'],
  ['message: failed: {{ name }}', 'yaml-braces 6:22'],
  ['\tif: x', 'yaml-tab 6:5'],
  ['if: event.message.contains("issue #12")', 'yaml-comment 6:9'],
  ['when: { message: /issue #12/ }', 'yaml-comment 6:29'],
  ['to: { a: { channel: #ops } }', 'yaml-comment 6:25'],
  ['if: event.message.contains("error: x")', 'invalid-yaml 6:9'],
  ['if: "event.reason" == "Failed"', 'invalid-yaml 6:9'],
  ['if: "event.reason == Failed', 'invalid-yaml 6:9'],
  ['if: | event.count > 3', 'invalid-yaml 6:9'],
  ['throttle: every: 10m', 'invalid-yaml 6:15'],
  ['when: { regarding: labels: app: web }', 'invalid-yaml 6:32'],
  ['when: { age: >5m }', 'invalid-yaml 6:18'],
  ['when: { name: /web-[0-9]{1,2}/ }', 'invalid-yaml 6:19'],
  ['changed: [metadata.labels["a/b"]]', 'invalid-yaml 6:15'],
  ['when: { name: ${env:NAME} }', 'invalid-yaml 6:19'],
  ['when: { kind: Pod }}', 'invalid-yaml 6:24'],
  ['if: @x', 'invalid-yaml 6:9'],
  ['if: "\\d"', 'invalid-yaml 6:10'],
])('%s is found where it begins', async (line, expected) => {
  expect((await codesOf(ruleWith(line))).filter((it) => /yaml/.test(it))).toEqual([expected])
})

test.each([
  ['- name: a\n     when: { kind: Pod }\n     to: screen', '5:6'],
  ['- name: a\n   when: { kind: Pod }\n   to: screen', '5:4'],
  ['- name: a\n  when: { kind: Pod }\n  to: screen', '5:3'],
  ['- name: a\n    when: { kind: Pod }\n     to: screen', '6:6'],
  ['- name: a\n    when:\n      kind: Pod\n     name: b\n    to: screen', '7:6'],
  ['- name: a\n    to: screen\n redis: {}', '6:2'],
])('a key in a column of its own is found in its line: %j', async (rule, place) => {
  expect(await codesOf(withRules(`  ${rule}\n`))).toContain(`invalid-yaml ${place}`)
})

test('a text with an explicit tag is a text', async () => {
  const rules =
    '  - name: !!str a\n    when: { kind: Event }\n    if: !!str event.synthesized\n    to: screen\n'
  expect(await codesOf(withRules(rules, '[Event]'))).toEqual([])
})

test.each([
  'hunter2[x], b: c }',
  'hunter2: x }',
  '"a" hunter2 }',
  '"hunter2',
  '{{ hunter2 }',
  '@hunter2 }',
  '* hunter2 }',
  '*hunter2 }',
  '!hunter2 }',
  '> hunter2 }',
  '"\\hunter2" }',
])('neither message nor hint quotes a password: %s', async (written) => {
  const text = `watch: [Event]\nsinks: { s: { type: stdout } }\nredis: { url: redis://x, password: ${written}`
  const loaded = await loadText(text)
  if (loaded.ok) throw new Error('it was accepted')
  expect(loaded.problems).not.toEqual([])
  for (const { message, hint } of loaded.problems) expect(`${message} ${hint}`).not.toContain('hunter2')
})

test.each([
  ['when: { labels: team in (shop, pay) }', true],
  ['when: { reason: /back(/, type: Warning }', false],
  ['when: { type: Warning, reason: /back(/ }', false],
  ['when: { reason: "/back(/", type: Warning }', false],
])('quotes against a comma are advised only where a comma ends the text: %s', async (line, advised) => {
  const problems = await problemsOf(withRules(`  - name: a\n    ${line}\n    to: screen\n`, '[Event]'))
  expect(problems.some((it) => it.includes('comma'))).toBe(advised)
})

test.each([
  ['a dash at the margin', '-Event\n-Pod', 2],
  ['one dash', '-Event', 2],
  ['indented dashes', '  -Event\n  -Pod', 2],
  ['a dash below another', '  - Event\n  -Pod', 3],
])('%s without a blank behind it is named, and not what follows from it', async (_, entries, line) => {
  const text = `watch:\n${entries}\nsinks: { screen: { type: stdout } }\nrules:\n  - { name: a, to: screen }\n`
  const [problem, ...others] = await problemsOf(text)
  expect(problem).toMatch(new RegExp(`^error ${line}:.* = .*"- "`))
  expect(others).toEqual([])
  const mended = text.replaceAll(/-(?=[EP])/g, '- ')
  expect((await loadText(mended)).ok).toBe(true)
})

test.each([
  ['  -name: a\n   to: screen', 4],
  ['  -name: a\n  to: screen', 4],
  ['  - name: a\n    to: screen\n  -name: b\n    to: screen', 6],
])('a rule that begins with a dash without a blank is named: %j', async (rules, line) => {
  const [problem] = await problemsOf(withRules(`${rules}\n`, '[Event]'))
  expect(problem).toMatch(new RegExp(`^error ${line}:.* = .*"- "`))
})

test.each([
  ['    type:stdout\n    format: message', 4],
  ['    format: message\n    type:stdout', 5],
  ['    { type:stdout }', 4],
])('a colon without a blank behind it is named, and the value is not quoted: %j', async (options, line) => {
  const text = `watch: [Event]\nsinks:\n  screen:\n${options}\nrules:\n  - { name: a, to: screen }\n`
  const [problem = ''] = await problemsOf(text)
  expect(problem).toMatch(new RegExp(`^error ${line}:.*"type:".* = .*blank`))
  expect(problem).not.toContain('stdout')
  expect((await loadText(text.replace('type:stdout', 'type: stdout'))).ok).toBe(true)
})

test.each(['“BackOff”', '[“BackOff”]', '‘BackOff’', '"!“BackOff”"', '„BackOff“'])(
  'typographic quotes are no quotes of YAML: reason: %s',
  async (reason) => {
    const text = withRules(
      `  - name: a\n    when: { kind: Event, reason: ${reason} }\n    to: screen\n`,
      '[Event]',
    )
    expect(await codesOf(text)).toEqual([expect.stringMatching(/^typographic-quotes 5:/)])
    const [problem] = await problemsOf(text)
    expect(problem).toMatch(/ = write "!?BackOff"$/)
  },
)

test('a message with typographic quotes inside is a text like others', async () => {
  const text = withRules(
    `  - name: a\n    when: { kind: Event, message: "*“web”*" }\n    to: screen\n`,
    '[Event]',
  )
  expect(await codesOf(text)).toEqual([])
})

test('a dash that begins a line of a text is none of a list', async () => {
  const rules = '  - name: a\n    message: |\n      -Xmx was too small\n     to: screen\n'
  expect((await problemsOf(withRules(rules, '[Event]'))).join()).not.toContain('"- "')
})
