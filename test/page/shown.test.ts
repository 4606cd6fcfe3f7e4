import { describe, expect, test } from 'vitest'
import { createRing } from '../../src/observe/page/data/ring.ts'
import { noteSamples, ratesOf, samplesOf } from '../../src/observe/page/data/samples.ts'
import { sseReader } from '../../src/observe/page/data/sse.ts'
import { decodedPart, eventLink, isEventId, objectLink, withQuery } from '../../src/observe/page/links.ts'
import { joinPages, outcomeText, untitledText } from '../../src/observe/page/outcome.ts'
import { inOneLine, pieces, webLink } from '../../src/observe/page/shown.ts'

describe('text of others', () => {
  test('characters that are not seen or turn the text are shown by their codes', () => {
    const { pieces: parts, cut } = pieces('a\u202egpj.exe\u0000\u200b\n', 100)
    expect(parts).toEqual([
      { text: 'a' },
      { code: 'U+202E' },
      { text: 'gpj.exe' },
      { code: 'U+0000' },
      { code: 'U+200B' },
      { text: '\n' },
    ])
    expect(cut).toBe(0)
  })

  test('a megabyte is cut, and no character in two', () => {
    const { pieces: parts, cut } = pieces('x'.repeat(99) + '😀'.repeat(500_000), 100)
    expect(parts).toEqual([{ text: `${'x'.repeat(99)}\ufffd` }])
    expect(cut).toBe(1_000_000 - 1)
  })

  test('markup stays as it is written, also in titles', () => {
    expect(inOneLine('<script>\n\u2066x')).toBe('<script> ‹U+2066›x')
  })

  test.each([
    ['https://example.com/a?b=c', true],
    ['http://example.com', true],
    ['javascript:alert(1)', false],
    [' javascript:alert(1)//https://example.com', false],
    ['data:text/html,<script>', false],
    ['https://', false],
    ['https://a b', false],
  ])('%s is a link: %s', (text, isLink) => {
    expect(webLink(text) !== undefined).toBe(isLink)
  })
})

test('until when an event is suppressed, with the date on another day', () => {
  const atMs = new Date(2026, 10, 26, 13, 35, 10).getTime()
  const until = (limit: string, ms: number | undefined) =>
    outcomeText({ outcome: 'suppressed', atMs, limit, untilMs: ms === undefined ? ms : atMs + ms })
  expect(until('throttle', 1_800_000)).toBe('suppressed by throttle until 14:05')
  expect(until('debounce', 10_000)).toBe('suppressed by debounce until 13:35:20')
  expect(until('mute', 12 * 3_600_000)).toBe('suppressed by mute until 2026-11-27 01:35')
  expect(until('acknowledged', 1_800_000)).toBe('suppressed: acknowledged until 14:05')
  expect(until('resolve', undefined)).toBe('suppressed by resolve')
})

test('an event without a title was sent as data, waits, or was not sent', () => {
  const untitled = (...outcomes: ('delivered' | 'suppressed' | 'waiting' | 'failed' | 'dead')[]) =>
    untitledText(outcomes.map((outcome) => ({ outcome })))
  expect(untitled('suppressed', 'delivered')).toBe('sent as data, which has no title')
  for (const outcome of ['waiting', 'failed'] as const)
    expect(untitled('suppressed', outcome)).toBe('nothing was sent yet')
  for (const outcome of ['suppressed', 'dead'] as const) expect(untitled(outcome)).toBe('no message was sent')
})

describe('pages of a story', () => {
  const event = { type: 'ADDED', kind: 'Pod', name: 'web-1' } as const
  const at = (atMs: number, sink: string, outcome: 'delivered' | 'waiting' | 'dead', more = {}) => ({
    ...{ sink, rule: 'all', outcome, atMs, attempts: 1 },
    ...more,
  })
  const item = (id: string, ...outcomes: ReturnType<typeof at>[]) => ({ ...event, id, atMs: 9, outcomes })

  test('an event whose records are on two pages has one row with all of them', () => {
    const rows = joinPages(
      [item('x', at(5, 'a', 'delivered'))],
      [
        item('x', at(4, 'b', 'delivered')),
        item('w', at(3, 'a', 'delivered')),
        item('w', at(2, 'b', 'delivered')),
      ],
    )
    expect(rows.map(({ id, outcomes }) => [id, outcomes.map((it) => it.sink)])).toEqual([
      ['x', ['a', 'b']],
      ['w', ['a', 'b']],
    ])
  })

  test('what is on the first page of now and on that of before is there once, without what is over', () => {
    const before = [item('x', at(5, 'a', 'delivered'), at(4, 'b', 'waiting'))]
    const [row] = joinPages([item('x', at(6, 'b', 'delivered'), at(5, 'a', 'delivered'))], before)
    expect(row?.outcomes).toEqual([at(6, 'b', 'delivered'), at(5, 'a', 'delivered')])
  })

  test('a dead letter and its record on another page are one outcome', () => {
    const letter = at(5, 'a', 'dead', { attempts: 0, deadLetterId: '1-0' })
    const older = [item('x', at(5, 'a', 'dead'), at(1, 'a', 'dead'))]
    const [row] = joinPages([item('x', letter)], older)
    expect(row?.outcomes).toEqual([at(5, 'a', 'dead', { deadLetterId: '1-0' }), at(1, 'a', 'dead')])
    const [gone] = joinPages([item('x', at(5, 'a', 'dead'))], row ? [row] : [])
    expect(gone?.outcomes).toEqual([at(5, 'a', 'dead'), at(1, 'a', 'dead')])
  })
})

test('addresses encode each part', () => {
  expect(objectLink({ kind: 'Pod', namespace: 'shop', name: 'a/../b?' })).toBe(
    '/objects/Pod/shop/a%2F..%2Fb%3F',
  )
  expect(objectLink({ kind: 'Node', name: 'n1' })).toBe('/objects/Node/_/n1')
  expect(eventLink('demo/uid/1/ADDED')).toBe('/events/demo%2Fuid%2F1%2FADDED')
  expect(withQuery('/history', { sink: 'a&b', rule: undefined })).toBe('/history?sink=a%26b')
  expect([isEventId('demo/uid/1/ADDED'), isEventId('deploy/shop/web')]).toEqual([true, false])
})

test('a part of an address is decoded; one that cannot be is text all the same', () => {
  expect(['system%3Anode', 'a%2Fb', 'web', '%zz'].map(decodedPart)).toEqual([
    'system:node',
    'a/b',
    'web',
    '%zz',
  ])
})

describe('server-sent events', () => {
  test('messages come out of pieces of any size, without comments', () => {
    const text = ': hello\n\nevent: record\nid: 1-0\ndata: {"a":1}\n\ndata: x\ndata: y\n\n'
    for (let size = 1; size < text.length; size += 3) {
      const read = sseReader()
      const messages = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
        read(text.slice(i * size, (i + 1) * size)),
      ).flat()
      expect(messages).toEqual([
        { event: 'record', id: '1-0', data: '{"a":1}' },
        { event: 'message', id: undefined, data: 'x\ny' },
      ])
    }
  })

  test('a block without data is no message, and its id is a position all the same', () => {
    const read = sseReader()
    const blocks = read('retry: 1000\nid: 5-0.1~0-0.0\n\n: on\nid: 6-0.1~0-0.0\n\n: on\n\n')
    expect(blocks.map(({ id, data }) => [id, data])).toEqual([
      ['5-0.1~0-0.0', undefined],
      ['6-0.1~0-0.0', undefined],
    ])
  })

  test('what never ends is not kept', () => {
    const read = sseReader()
    for (let i = 0; i < 50; i++) read('x'.repeat(100_000))
    expect(read('\n\nevent: record\ndata: 1\n\n').at(-1)).toEqual({
      event: 'record',
      id: undefined,
      data: '1',
    })
  })
})

test('a ring keeps the newest', () => {
  const ring = createRing<number>(3)
  for (const it of [1, 2, 3, 4]) ring.push(it)
  expect([0, 1, 2, 3].map((it) => ring.newest(it))).toEqual([4, 3, 2, undefined])
  expect(ring.length).toBe(3)
  ring.clear()
  expect([ring.length, ring.newest(0)]).toEqual([0, undefined])
})

test('rates are measured over ten seconds, and a counter that began again is no negative rate', () => {
  const at = (atMs: number, delivered: number) =>
    noteSamples([{ name: 'oncall', enqueued: delivered, delivered, pending: 0 }], atMs)
  for (const [atMs, delivered] of [
    [0, 0],
    [2_000, 100],
    [12_000, 1_100],
    [14_000, 0],
  ] as const)
    at(atMs, delivered)
  expect(ratesOf(samplesOf('oncall')).map((it) => it.delivered)).toEqual([50, 100, 0])
})
