import { expect, test } from 'vitest'
import { scanManager, scanObject } from '../../src/watch/decode/scan.ts'

const AT = '2026-11-21T09:00:00Z'
const LATER = '2026-11-21T09:00:01Z'
const FIELDS = { 'f:data': { 'f:manager': {}, 'f:a}"]': {} } }

function managerOf(managedFields: unknown, more: object = {}): string | undefined {
  const metadata = {
    name: 'a',
    uid: 'u',
    resourceVersion: '1',
    managedFields,
    labels: { manager: 'no' },
    ...more,
  }
  return scanManager(scanObject(Buffer.from(JSON.stringify({ metadata, items: [{ manager: 'no' }] })))!)
}

test.each([
  [
    'the latest',
    [
      { manager: 'a', time: AT },
      { manager: 'b', time: LATER },
      { manager: 'c', time: AT },
    ],
    'b',
  ],
  [
    'whatever the order',
    [
      { manager: 'b', time: LATER, fieldsV1: FIELDS },
      { manager: 'a', time: AT },
    ],
    'b',
  ],
  ['one of its own behind the fields', [{ time: AT, fieldsV1: FIELDS, manager: 'a' }], 'a'],
  [
    'not the status in the same second',
    [
      { manager: 'a', time: AT },
      { manager: 's', time: AT, subresource: 'status' },
    ],
    'a',
  ],
  [
    'the same the other way round',
    [
      { manager: 's', time: AT, subresource: 'status' },
      { manager: 'a', time: AT },
    ],
    'a',
  ],
  [
    'a scale is more than a status',
    [
      { manager: 's', time: AT, subresource: 'status' },
      { manager: 'a', time: AT, subresource: 'scale' },
    ],
    'a',
  ],
  [
    'the status where it came later',
    [
      { manager: 'a', time: AT },
      { manager: 's', time: LATER, subresource: 'status' },
    ],
    's',
  ],
  ['with quotes in it', [{ manager: 'a"b', time: AT }], 'a"b'],
  ['one without a time', [{ manager: 'a' }], undefined],
  ['none', [], undefined],
  ['null', null, undefined],
  ['a map', { manager: 'a', time: AT }, undefined],
  ['numbers', [1, { manager: 2, time: 3 }], undefined],
])('who wrote last: %s', (_, managedFields, expected) => {
  expect(managerOf(managedFields)).toBe(expected)
})

test('who wrote last is not known without managedFields', () => {
  expect(managerOf(undefined, { finalizers: ['[{"manager":"a"}]'] })).toBeUndefined()
})

const usual = (manager: string, time: string, subresource?: string) => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time,
  fieldsType: 'FieldsV1',
  fieldsV1: {
    'f:spec': { 'k:{"manager":"x","time":"9","fieldsV1":"y","subresource":"status"}': { '.': {} } },
  },
  ...(subresource && { subresource }),
})

test.each([
  ['the latest', [usual('a', AT), usual('b', LATER), usual('c', AT)], 'b'],
  ['not the status in the same second', [usual('s', AT, 'status'), usual('a', AT)], 'a'],
  ['the status where it came later', [usual('a', AT), usual('s', LATER, 'status')], 's'],
  ['an escape', [usual('a"\u0001', AT)], 'a"\u0001'],
  ['not ASCII', [usual('é', AT)], 'é'],
])('who wrote last, as API servers say it: %s', (_, managedFields, expected) => {
  expect(managerOf(managedFields)).toBe(expected)
})
