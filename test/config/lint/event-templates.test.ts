import { expect, test } from 'vitest'
import { codesOf } from '../load-text.ts'

const SINK = '{ type: slack, token: xoxb-0000000000, channel: "#a" }'
const codes = (watch: string, keys: string) =>
  codesOf(`watch: ${watch}\nsinks: { chat: ${SINK} }\nrules:\n  - { name: r, ${keys}, to: chat }\n`)

test.each([
  ['[Event]', "message: '{{ labels.team }}'", ['missing-field 4:29']],
  [
    '[Event]',
    "message: { fields: { Team: 'labels {{ event.reason }} {{ labels }}' } }",
    ['missing-field 4:73'],
  ],
  ['[Event]', "message: '{% if owner %}{% endif %}'", ['missing-field 4:32']],
  ['[Event]', 'message: \'{{ event.owner.name }} {{ message.labels.a }} labels {{ "owner" }}\'', []],
  ['[Event, Pod]', "message: '{{ labels.team }}'", []],
  ['[Pod]', "message: '{{ labels.team }} {{ owner.name }}'", []],
])('with watch: %s and %s there is: %j', async (watch, keys, expected) => {
  expect(await codes(watch, keys)).toEqual(expected)
})
