import { expect, test } from 'vitest'
import { leftOut } from './components.ts'

const can = { files: ['can/**'], missing: undefined }
const cannot = { files: ['cannot/**'], missing: 'what needs a moon' }

test('suites whose component is missing are left out', () => {
  expect(leftOut([can, cannot], {})).toEqual([cannot])
})

test('where everything has to run, none is left out: what is missing is a failure', () => {
  expect(leftOut([can, cannot], { CI: 'true' })).toEqual([])
})
