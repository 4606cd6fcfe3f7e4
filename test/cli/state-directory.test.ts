import { expect, test } from 'vitest'
import { stateDirectoryFault } from '../../src/cli/run/run-redis.ts'
import { UsageError } from '../../src/cli/usage-error.ts'

test('a full disk is reported with the directory and a way out', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
    code: 'ENOSPC',
    syscall: 'write',
  })
  const fault = stateDirectoryFault('/state', full)
  expect(fault).toBeInstanceOf(UsageError)
  expect((fault as Error).message).toBe(
    'cannot write in the state directory /state: there is no space left; choose another with --state-dir',
  )
})

test('other faults stay as they are', () => {
  const spawn = Object.assign(new Error('spawn redis-server EACCES'), { code: 'EACCES', syscall: 'spawn x' })
  const refused = new Error('another kubeherald runs with it')
  expect(stateDirectoryFault('/state', spawn)).toBe(spawn)
  expect(stateDirectoryFault('/state', refused)).toBe(refused)
})
