import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { leftOut } from './components.ts'
import { CLUSTER_FILES, OWN_PROCESS_FILES, SLOW_FILES, SLOW_OWN_PROCESS_FILES } from './slow-files.ts'

const can = { files: ['can/**'], missing: undefined }
const cannot = { files: ['cannot/**'], missing: 'what needs a moon' }

test('suites whose component is missing are left out', () => {
  expect(leftOut([can, cannot], {})).toEqual([cannot])
})

test('where everything has to run, none is left out: what is missing is a failure', () => {
  expect(leftOut([can, cannot], { CI: 'true' })).toEqual([])
})

test('each entry of the lists of files names some file', () => {
  const cwd = new URL('..', import.meta.url).pathname
  expect(
    [...CLUSTER_FILES, ...SLOW_FILES, ...SLOW_OWN_PROCESS_FILES, ...OWN_PROCESS_FILES].filter(
      (glob) => globSync(glob, { cwd }).length === 0,
    ),
  ).toEqual([])
})
