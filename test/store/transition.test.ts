import { expect, test } from 'vitest'
import { isOlder } from '../../src/model/change.ts'
import type { ChangeType } from '../../src/model/event.ts'
import { transitionOf } from '../../src/model/transition.ts'
import { decodeIndexEntry, encodeIndexEntry } from '../../src/store/commit/index-entries.ts'
import { change } from './objects.ts'

const known = (resourceVersion: string) => ({
  resourceVersion,
  namespace: 'default',
  name: 'a',
  labelsJson: '{}',
})

type Row = [type: ChangeType, version: string, known: string | undefined, expected: ChangeType | undefined]

const NEWER: Row[] = [
  ['ADDED', '5', undefined, 'ADDED'],
  ['MODIFIED', '5', undefined, 'ADDED'],
  ['DELETED', '5', undefined, undefined],
  ['ADDED', '5', '4', 'MODIFIED'],
  ['MODIFIED', '5', '4', 'MODIFIED'],
  ['MODIFIED', '10', '9', 'MODIFIED'],
  ['ADDED', '5', '5', undefined],
  ['MODIFIED', '5', '5', undefined],
  ['MODIFIED', '9', '10', undefined],
  ['DELETED', '6', '5', 'DELETED'],
  // Some extension servers delete with the last version of the object.
  ['DELETED', '5', '5', 'DELETED'],
  // Left the selector and came back meanwhile: this deletion was told before.
  ['DELETED', '4', '5', undefined],
  // Case 45: no integers, so any other version is news.
  ['MODIFIED', 'a/b', 'a/c', 'MODIFIED'],
  ['MODIFIED', 'a/b', 'a/b', undefined],
  ['DELETED', 'a/b', 'a/c', 'DELETED'],
  ['MODIFIED', '0', '5', 'MODIFIED'],
  ['MODIFIED', '07', '5', 'MODIFIED'],
]

test.each(NEWER)('case 44, 45: %s at %s, known at %s, means %s', (type, version, entry, expected) => {
  const transition = transitionOf(
    change(type, 'a', version),
    entry ? known(entry) : undefined,
    'newer',
    false,
  )
  expect(transition?.type).toBe(expected)
  if (expected) expect(transition).toMatchObject({ resourceVersion: version, synthesized: false })
})

const DIFFERENT: Row[] = [
  ['ADDED', '4', '5', 'MODIFIED'],
  ['ADDED', '5', '5', undefined],
  ['ADDED', '6', '5', 'MODIFIED'],
  ['ADDED', '4', undefined, 'ADDED'],
  ['DELETED', '4', '5', 'DELETED'],
]

test.each(DIFFERENT)(
  'after a restored etcd any other version is a change: %s at %s, known at %s, means %s',
  (type, version, entry, expected) => {
    const index = entry ? known(entry) : undefined
    expect(transitionOf(change(type, 'a', version), index, 'different', true)?.type).toBe(expected)
  },
)

test.each([
  ['9', '10', true],
  ['10', '9', false],
  ['123', '124', true],
  ['5', '5', false],
  ['x', 'x', false],
  ['9007199254740992', '9007199254740993', true],
  ['0', '1', false],
  ['01', '1', false],
  ['1', '02', false],
  ['-1', '1', false],
  ['1e3', '1', false],
  ['', '1', false],
] as const)('KEP-5504: %s is older than %s: %s', (a, b, expected) => {
  expect(isOlder(a, b)).toBe(expected)
})

test.each([
  { resourceVersion: '1', namespace: 'default', name: 'web', labelsJson: '{"app":"web","a/b":"c"}' },
  { resourceVersion: '1', namespace: '', name: 'node-1', labelsJson: '{}' },
  { resourceVersion: 'b64/+=/{x', namespace: 'n', name: '__proto__', labelsJson: '{"__proto__":"x"}' },
  { resourceVersion: '7', namespace: 'n', name: 'constructor', labelsJson: '{\n "pretty": "yes"\n}' },
])('an index entry gives back what was put in: $name at $resourceVersion', (entry) => {
  expect(decodeIndexEntry(encodeIndexEntry(entry))).toEqual(entry)
})
