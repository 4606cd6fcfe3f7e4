import { expect, test } from 'vitest'
import { refusalOf } from './slack/limits.ts'

const text = (length: number) => ({ type: 'mrkdwn', text: 'x'.repeat(length) })
const section = (length: number) => ({ type: 'section', text: text(length) })
const times = <T>(count: number, it: T): T[] => Array.from({ length: count }, () => it)
const attachment = (...blocks: object[]) => [{ color: '#fff', blocks }]

test.each<[what: string, text: string, attachments: object[], error: string]>([
  ['text of 40,000', 'x'.repeat(40_000), [], ''],
  ['text of 40,001', 'x'.repeat(40_001), [], 'msg_too_long'],
  ['a section of 3,000', 'x', attachment(section(3_000)), ''],
  ['a section of 3,001', 'x', attachment(section(3_001)), 'invalid_blocks'],
  ['50 blocks', 'x', attachment(...times(50, section(10))), ''],
  ['51 blocks', 'x', attachment(...times(51, section(10))), 'invalid_blocks'],
  ['10 fields', 'x', attachment({ type: 'section', fields: times(10, text(5)) }), ''],
  ['11 fields', 'x', attachment({ type: 'section', fields: times(11, text(5)) }), 'invalid_blocks'],
  ['a field of 2,000', 'x', attachment({ type: 'section', fields: [text(2_000)] }), ''],
  ['a field of 2,001', 'x', attachment({ type: 'section', fields: [text(2_001)] }), 'invalid_blocks'],
  ['13,000 in all', 'x', attachment(...times(13, section(1_000))), ''],
  ['14,000 in all', 'x', attachment(...times(14, section(1_000))), 'msg_blocks_too_long'],
  ['nothing', '', [], 'no_text'],
])("the tests' Slack is as strict as the real one: %s", (_, said, attachments, error) => {
  expect(refusalOf(said, undefined, attachments)?.error ?? '').toBe(error)
})
