import { expect, test } from 'vitest'
import { told, withRules } from './load-text.ts'

const TAG = 'YAML takes this for a tag:'
const QUOTES = 'text that begins with "!" needs quotes:'

test.each([
  ['!has(object.x)', `${TAG} !has(object.x) = ${QUOTES} "!has(object.x)"`],
  [
    '!has(object.x) && event.reason == "a" # why',
    `${TAG} !has(object.x) = ${QUOTES} '!has(object.x) && event.reason == "a"'`,
  ],
  [
    '!event.message.contains("oom")',
    `${TAG} !event.message.contains( = ${QUOTES} '!event.message.contains("oom")'`,
  ],
  [
    `!event.message.contains('it"s')`,
    `${TAG} !event.message.contains('it = ${QUOTES} '!event.message.contains(''it"s'')'`,
  ],
  ['!!event.synthesized', `${TAG} !!event.synthesized = ${QUOTES} "!!event.synthesized"`],
  // YAML makes `event.synthesized` of it: the opposite.
  ['! event.synthesized', `YAML leaves this "!" out = ${QUOTES} "! event.synthesized"`],
  [`! "object.x == 'a'"`, `YAML leaves this "!" out = ${QUOTES} "!(object.x == 'a')"`],
  [
    '!has(object.x) && event.message.contains(" # ") # why',
    `${TAG} !has(object.x) = ${QUOTES} '!has(object.x) && event.message.contains(" # ")'`,
  ],
  [
    "!has(object.x) && event.message.contains(' # ')",
    `${TAG} !has(object.x) = ${QUOTES} "!has(object.x) && event.message.contains(' # ')"`,
  ],
  ['!', `YAML leaves this "!" out = ${QUOTES} "!"`],
])('"if: %s" is no text to YAML, and said to be none', async (written, said) => {
  const rules = `  - name: a\n    when: { kind: Event }\n    if: ${written}\n    to: screen\n`
  const problems = await told(withRules(rules))
  expect(problems.filter((it) => it.startsWith('error'))).toEqual([`error 6:9 ${said}`])
})

test('a text that is told to be one is one', async () => {
  const rules =
    '  - name: !!str a\n    when: { kind: Event }\n    if: !!str event.synthesized\n    to: screen\n'
  expect(await told(withRules(rules, '[Event]'))).toEqual([])
})

test.each([
  ['! web-*', '"!web-*"'],
  ['! "web-*"', '"!web-*"'],
  ["! 'web-*' # why", '"!web-*"'],
])('"name: %s" is offered as a pattern', async (written, meant) => {
  const rules = `  - name: a\n    when:\n      name: ${written}\n    to: screen\n`
  const said = await told(withRules(rules))
  expect(said).toContain(`error 6:13 YAML leaves this "!" out = ${QUOTES} ${meant}`)
  const mended = await told(withRules(rules.replace(written, meant)))
  expect(mended.filter((it) => it.startsWith('error'))).toEqual([])
})
