import { expect, test } from 'vitest'
import { fieldSelectorFault } from '../../../src/config/lint/watch.ts'

test.each(['status.phase=Running', 'status.phase==Running', 'a!=b,c=d', 'a=', 'a=b\\,c', 'a=b\\=c'])(
  '%s is a field selector',
  (text) => {
    expect(fieldSelectorFault(text)).toBeUndefined()
  },
)

test.each([
  ['status.phase', 0, 12],
  ['a=b,c', 4, 1],
  ['=b', 0, 2],
  ['a=b,', 4, 1],
  ['a\\=b', 0, 4],
])('%s is none, at %i', (text, offset, length) => {
  expect(fieldSelectorFault(text)).toMatchObject({ offset, length })
})
