import { expect, test } from 'vitest'
import { formatMessage } from '../../../sinks/slack/format.ts'
import { type ActionsBlock, charactersOf, type Rendered } from '../../../sinks/slack/markup.ts'
import type { Message } from '../../../src/sink/index.ts'
import { refusalOf } from '../../servers/slack/limits.ts'
import { tellOf } from './bed.ts'

interface Field {
  title: string
  value: string
}

const buttons: ActionsBlock = {
  type: 'actions',
  block_id: 'kubeherald_actions',
  elements: ['a', 'b', 'c'].map((id) => ({
    type: 'button',
    action_id: id,
    text: { type: 'plain_text', text: id },
    value: 'v'.repeat(300),
  })),
}

/** A message whose blocks have nearly all the room, apart from text and fields. */
function crowded(text: string, fields: Field[]): Message<any> {
  const changes = Array.from({ length: 8 }, () => ({
    path: 'p'.repeat(500),
    old: 'o'.repeat(500),
    new: 'n'.repeat(500),
  }))
  const links = Array.from({ length: 3 }, () => ({
    title: 'Logs',
    url: `https://logs.example.com/?q=${'a'.repeat(600)}`,
  }))
  return tellOf({
    summary: { text, fields, quote: 'q'.repeat(1_000), changes },
    content: { logs: 'l'.repeat(2_500), links },
  })
}

function charactersIn({ text, attachments }: Rendered): number {
  return text.length + (attachments[0]?.blocks ?? []).reduce((n, it) => n + charactersOf(it), 0)
}

function fieldsIn({ attachments }: Rendered): string[] {
  const blocks = attachments[0]?.blocks ?? []
  return blocks.flatMap((it) => ('fields' in it ? (it.fields ?? []) : [])).map(({ text }) => text)
}

test('fields share the room that other blocks leave; those that have none are left out', () => {
  const fields = Array.from({ length: 8 }, (_, i) => ({ title: `Field ${i}`, value: 'v'.repeat(3_000) }))
  const numbers = new Set<number>()
  for (let length = 0; length <= 2_900; length += 50) {
    const text = 'x'.repeat(length)
    const rendered = formatMessage(crowded(text, fields), { buttons })
    const others = charactersIn(formatMessage(crowded(text, []), { buttons }))
    expect(refusalOf(rendered.text, undefined, rendered.attachments)).toBeUndefined()
    expect(charactersIn(rendered)).toBeLessThanOrEqual(Math.max(11_000, others))
    expect(rendered.truncated).toBe(true)
    const shown = fieldsIn(rendered)
    expect(shown.map((it) => it.replace(/v{20,}…$/, 'value'))).toEqual(
      shown.map((_, i) => `*Field ${i}*\nvalue`),
    )
    numbers.add(shown.length)
  }
  expect(numbers.size).toBeGreaterThan(2)
  expect([...numbers]).toEqual(expect.arrayContaining([0, 8]))
})

test('short fields are shown whole though the room is small', () => {
  const fields = ['shop', 'node-3'].map((value, i) => ({ title: `Field ${i}`, value }))
  const room = 11_000 - charactersIn(formatMessage(crowded('', []), { buttons }))
  const rendered = formatMessage(crowded('x'.repeat(room - 200), fields), { buttons })
  expect(fieldsIn(rendered)).toEqual(['*Field 0*\nshop', '*Field 1*\nnode-3'])
  expect(rendered.truncated).toBe(false)
})
