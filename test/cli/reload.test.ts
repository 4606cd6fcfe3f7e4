import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { hangUpReloads } from '../../src/cli/signals.ts'
import { startReceiver } from '../servers/receiver.ts'
import { waitFor } from '../wait-for.ts'
import { configuration, openDesk } from './cli.ts'

test.each([
  ['a daemon with a file', 'kubeherald.yaml', false, true],
  ['on a terminal, which was closed', 'kubeherald.yaml', true, false],
  ['what came through a pipe is not there any more', '-', false, false],
  ['nothing to read', undefined, false, false],
])('SIGHUP, %s', (_, file, isTerminal, reloads) => {
  expect(hangUpReloads(file, isTerminal)).toBe(reloads)
})

test('SIGHUP reads the file again; without a file it ends the process', async () => {
  using desk = openDesk()
  const text = configuration().replace('to: [screen]', 'when: { name: nobody }, to: [screen]')
  const file = desk.write('mine.yaml', text)
  const program = desk.start('demo', '-c', file, '--log-level', 'info')
  const said = (text: string) =>
    waitFor(() => program.output().includes(text), { what: () => program.output() })
  await said('http ')
  process.kill(program.pid, 'SIGHUP')
  await said('configuration reloaded: nothing changed')
  writeFileSync(file, text.replace('nobody', '"${file:there-is-none}"'))
  process.kill(program.pid, 'SIGHUP')
  await said('the configuration changed, and is not good: the one before stays in use')
  await said('mine.yaml:5:37: the file there-is-none cannot be read: there is no such file')
  desk.write('there-is-none', 'web\n')
  await said('configuration reloaded: rules changed')
  await program.end('SIGTERM')

  const starter = desk.start('demo')
  await waitFor(() => starter.output().includes('http '), { what: () => starter.output() })
  await starter.end('SIGHUP')
  expect(starter.output()).toContain('kubeherald stopped')
})

test('a process that is stopping reloads nothing: what changes meanwhile is for its successor', async () => {
  using desk = openDesk()
  await using receiver = await startReceiver()
  receiver.answer(() => ({ hang: true }))
  const text = configuration().replace('{ type: stdout }', `{ type: webhook, url: "${receiver.url}" }`)
  const file = desk.write('mine.yaml', text)
  const program = desk.start('demo', '-c', file, '--log-level', 'info')
  const said = (text: string) =>
    waitFor(() => program.output().includes(text), { what: () => program.output() })
  await waitFor(() => receiver.requests.length > 0, { what: 'a delivery that is under way' })
  process.kill(program.pid, 'SIGTERM')
  await said('stopping')
  writeFileSync(file, 'not: good\n')
  process.kill(program.pid, 'SIGHUP')
  await said('kubeherald stopped')
  expect(program.output()).not.toContain('the configuration changed')
})
