import { expect, test } from 'vitest'
import { readFrame, readLongFrame, scanObject } from '../../src/watch/decode/scan.ts'
import { createLineSplitter } from '../../src/watch/decode/splitters.ts'
import { seeded } from '../seeded-random.ts'

const STRINGS = [
  '',
  'plain',
  'quote " in it',
  'back\\slash',
  'brace } and ]',
  'ünïcödé ✓',
  '\u2028',
  'tab\tand\nline',
  '"metadata":{"uid":"x"}',
]

function randomValue(random: () => number, depth: number): unknown {
  const kind = Math.floor(random() * (depth > 3 ? 4 : 6))
  if (kind === 0) return STRINGS[Math.floor(random() * STRINGS.length)]
  if (kind === 1) return Math.floor(random() * 1e6)
  if (kind === 2) return random() < 0.5
  if (kind === 3) return null
  const size = Math.floor(random() * 4)
  if (kind === 4) return Array.from({ length: size }, () => randomValue(random, depth + 1))
  return Object.fromEntries(
    Array.from({ length: size }, (_, i) => [
      ['metadata', 'uid', 'name', `k${i}`][i % 4],
      randomValue(random, depth + 1),
    ]),
  )
}

function shuffled(object: Record<string, unknown>, random: () => number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object)
      .map((entry) => ({ entry, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ entry }) => entry),
  )
}

function randomObject(random: () => number): Record<string, any> {
  const metadata = shuffled(
    {
      uid: `uid-${random()}`,
      name: `name-${Math.floor(random() * 1_000)}`,
      resourceVersion: String(Math.floor(random() * 1e9)),
      ...(random() < 0.8 && { namespace: 'some-namespace' }),
      ...(random() < 0.7 && {
        labels: { app: STRINGS[Math.floor(random() * STRINGS.length)], constructor: 'x' },
      }),
      ...(random() < 0.1 && { labels: null }),
      ...(random() < 0.6 && { annotations: { note: 'a "quoted" one', more: 'text' } }),
      ...(random() < 0.6 && {
        managedFields: [{ manager: 'kubectl', fieldsV1: { 'f:metadata': { uid: 'no' } } }],
      }),
      ...(random() < 0.5 && { ownerReferences: [{ uid: 'owner', name: 'owner' }] }),
    },
    random,
  )
  return shuffled(
    {
      kind: 'Thing',
      apiVersion: 'v1',
      metadata,
      spec: randomValue(random, 0),
      status: randomValue(random, 0),
    },
    random,
  )
}

test('reads of 5,000 random objects what JSON.parse reads, in any order of keys', () => {
  const random = seeded(7)
  for (let i = 0; i < 5_000; i++) {
    const object = randomObject(random)
    const text = random() < 0.2 ? JSON.stringify(object, null, 1) : JSON.stringify(object)
    const scanned = scanObject(Buffer.from(text))
    const { uid, name, namespace = '', resourceVersion, labels } = object['metadata']
    expect(scanned, text).toMatchObject({ uid, name, namespace, resourceVersion })
    expect(JSON.parse(scanned?.labelsJson ?? '')).toEqual(labels ?? {})
    if (scanned?.annotations) {
      expect(JSON.parse(Buffer.from(text).toString('utf8', ...scanned.annotations))).toEqual(
        object['metadata'].annotations,
      )
    }
    if (scanned?.managedFields) {
      const [start, end] = scanned.managedFields
      const bytes = Buffer.from(text)
      const { managedFields: _managed, ...rest } = object['metadata']
      const without = JSON.parse(Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]).toString())
      expect(without.metadata).toEqual(rest)
    }
  }
})

test('of a frame cut at any place, none is taken for a change', () => {
  const line = Buffer.from(JSON.stringify({ type: 'ADDED', object: randomObject(seeded(3)) }))
  for (let end = 0; end < line.length; end++)
    expect(readFrame(line.subarray(0, end)).kind, String(end)).toBe('unreadable')
  expect(readFrame(line).kind).toBe('change')
})

test.each([
  [
    'a bookmark',
    { type: 'BOOKMARK', object: { metadata: { resourceVersion: '7' } } },
    { kind: 'bookmark', resourceVersion: '7', initialEventsEnd: false },
  ],
  [
    'an error',
    { type: 'ERROR', object: { code: 410, reason: 'Expired' } },
    { kind: 'error', status: { code: 410, reason: 'Expired' } },
  ],
  ['an object without metadata', { type: 'ADDED', object: { kind: 'X' } }, { kind: 'unreadable' }],
  ['an unknown type', { type: 'WAT', object: { metadata: { uid: 'u', name: 'n' } } }, { kind: 'unreadable' }],
])('tells %s', (_name, frame, expected) => {
  expect(readFrame(Buffer.from(JSON.stringify(frame)))).toMatchObject(expected)
})

test.each([
  ['in the name', '{"metadata":{"uid":"u","name":"\\q","resourceVersion":"5"}}'],
  ['in a key', '{"metadata":{"\\q":1,"uid":"u","name":"n","namespace":"\\u12","resourceVersion":"5"}}'],
])('a frame with a wrong escape %s is not a change, whole or from its beginning', (_name, object) => {
  const line = Buffer.from(`{"type":"ADDED","object":${object}}`)
  expect(readFrame(line).kind).toBe('unreadable')
  expect(readLongFrame(line, 1_000_000).kind).toBe('skipped')
})

test('a frame that has to be parsed, and is too deep for that, is unreadable', () => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const object = `{"a":${deep},"metadata":{"uid":"u","name":"n","resourceVersion":"5"}}`
  expect(readFrame(Buffer.from(`{"type":"ADDED","object":${object}}`)).kind).toBe('change')
  expect(readFrame(Buffer.from(`{"type":"ADDED","object":${object} }`)).kind).toBe('unreadable')
})

test('lines come out whole however the bytes are cut, and only \\n ends one', () => {
  const text = Buffer.from('first\u2028still\rfirst\nsecond ✓\n\nthird\n')
  for (let size = 1; size < text.length; size++) {
    const splitter = createLineSplitter()
    const lines: string[] = []
    for (let at = 0; at < text.length; at += size) {
      splitter.push(text.subarray(at, at + size), (line) => void lines.push(line.toString()))
    }
    expect(lines).toEqual(['first\u2028still\rfirst', 'second ✓', '', 'third'])
  }
})
