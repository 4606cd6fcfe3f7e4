import { expect, test } from 'vitest'
import { createRecoveryNote, neverBegan } from '../../src/cli/dry-run/tail.ts'
import type { WatchStatus } from '../../src/model/status.ts'
import { configuration, openDesk } from './cli.ts'
import { runHere } from './here.ts'

function status(phase: WatchStatus['phase'], more: Partial<WatchStatus> = {}): WatchStatus {
  const base = { key: 'pods', title: 'pods', resourceVersion: '', lastContactMs: 0, aliveUntilMs: 0 }
  return { ...base, phase, ready: true, ...more } as WatchStatus
}

test('tail refuses filters that nothing could pass', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration())
  expect(await runHere(desk, 'tail', '--kind', 'podd')).toMatchObject({
    code: 2,
    stderr: 'kubeherald: --kind podd: no entry of "watch" is for it; did you mean "Pod"?\n',
  })
  expect(await runHere(desk, 'tail', '--namespace', '/[/')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^kubeherald: --namespace \/\[\/: .*\n$/),
  })
})

test('tail fails when it ends by itself and has seen nothing of the cluster', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration())
  const cluster = { name: 'x', cluster: { server: 'https://127.0.0.1:9' } }
  const context = { name: 'x', context: { cluster: 'x', user: 'x' } }
  desk.env['KUBECONFIG'] = desk.write(
    'kubeconfig',
    JSON.stringify({
      'current-context': 'x',
      clusters: [cluster],
      contexts: [context],
      users: [{ name: 'x' }],
    }),
  )
  const { code, stderr } = await runHere(desk, 'tail', '--for', '1s')
  expect(code).toBe(1)
  expect(stderr).toMatch(/\nkubeherald: nothing was seen: no watch has begun: .*ECONNREFUSED.*\n$/)
})

test('that watches go on again is said once, when all of them do', () => {
  const said: string[] = []
  const look = createRecoveryNote((line) => said.push(line))
  look([status('listing', { ready: false }), status('watching')])
  look([status('watching'), status('watching')])
  expect(said).toEqual([])
  look([status('reconnecting'), status('watching')])
  look([status('listing'), status('watching')])
  expect(said).toEqual([])
  look([status('watching'), status('waiting-for-kind')])
  look([status('watching'), status('watching')])
  expect(said).toEqual(['all watches go on'])
})

test('a watch that began once is enough to have seen something', () => {
  expect(neverBegan([status('reconnecting'), status('resolving', { ready: false })])).toBeUndefined()
  expect(neverBegan([status('resolving', { ready: false })])).toBe('nothing was seen: no watch has begun')
})
