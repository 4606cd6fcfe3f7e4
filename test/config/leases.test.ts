import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { leaseNamespace } from '../../src/watch/schema.ts'
import { loadText, problemsOf } from './load-text.ts'

const withLeases = (leases: string) =>
  `leases: ${leases}\nwatch: [Event]\nsinks: { s: { type: stdout } }\nrules: [{ name: all, to: s }]`

async function settings(leases: string): Promise<unknown> {
  const loaded = await loadText(withLeases(leases))
  return loaded.ok ? loaded.config.leases : loaded.problems
}

test('true is a map of client-go’s defaults; without the key there are none', async () => {
  const defaults = { durationSeconds: 15, renewDeadlineSeconds: 10, retryPeriodSeconds: 2 }
  expect(await settings('true')).toEqual(defaults)
  expect(await settings('{ namespace: tools }')).toEqual({ ...defaults, namespace: 'tools' })
  expect(await settings('false')).toBe(false)
  const loaded = await loadText(withLeases('false').replace(/.*\n/, ''))
  expect(loaded.ok && loaded.config.leases).toBe(false)
})

test.each([
  ['{ durationSeconds: 1.5 }', '1:28 "durationSeconds" must be a whole number of seconds, at least 1'],
  ['{ durationSeconds: 15s }', '1:28 "durationSeconds" must be a whole number of seconds, at least 1'],
  ['{ retryPeriodSeconds: 0 }', '1:31 "retryPeriodSeconds" must be a whole number of seconds, at least 1'],
  [
    '{ durationSeconds: 10 }',
    '1:28 "durationSeconds" must be more than "renewDeadlineSeconds", which is 10: a holder has to stop before others may start',
  ],
  [
    '{ durationSeconds: 5 }',
    '1:28 "durationSeconds" must be more than "renewDeadlineSeconds", which is 10: a holder has to stop before others may start',
  ],
  [
    '{ renewDeadlineSeconds: 12, retryPeriodSeconds: 10 }',
    '1:33 "renewDeadlineSeconds" must be more than 1.2 times "retryPeriodSeconds", which is 10: one failure has to leave time for another try',
  ],
  ['{ namespace: Tools }', '1:22 "namespace" is not a name of a namespace: use a-z, 0-9 and "-"'],
])('leases: %s', async (leases, message) => {
  expect((await problemsOf(withLeases(leases))).join('\n')).toContain(message)
})

test('a rule that a default breaks is told at the key that stands there', async () => {
  expect(await problemsOf(withLeases('{ retryPeriodSeconds: 9 }'))).toEqual([
    expect.stringContaining(
      '1:31 "retryPeriodSeconds" must be less than "renewDeadlineSeconds", which is 10, divided by 1.2',
    ),
  ])
  expect(await problemsOf(withLeases('{ renewDeadlineSeconds: 20 }'))).toEqual([
    expect.stringContaining('1:33 "renewDeadlineSeconds" must be less than "durationSeconds", which is 15'),
  ])
})

test('misspelt keys and other types are told with what to write', async () => {
  expect(await problemsOf(withLeases('{ leaseDuration: 15 }'))).toEqual([
    expect.stringContaining('unknown key "leaseDuration"'),
  ])
  expect(await problemsOf(withLeases('yes please'))).toEqual([expect.stringContaining('"leases" must be')])
})

test('the namespace is the configured one, else the pod’s, else the context’s', () => {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-namespace-'))
  try {
    const file = join(dir, 'namespace')
    expect(leaseNamespace({}, {}, undefined, file)).toBe('default')
    expect(leaseNamespace({}, {}, 'of-context', file)).toBe('of-context')
    writeFileSync(file, 'of-account\n')
    expect(leaseNamespace({}, {}, 'of-context', file)).toBe('of-account')
    expect(leaseNamespace({}, { POD_NAMESPACE: 'of-pod' }, 'of-context', file)).toBe('of-pod')
    expect(leaseNamespace({ namespace: 'asked' }, { POD_NAMESPACE: 'of-pod' }, undefined, file)).toBe('asked')
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
