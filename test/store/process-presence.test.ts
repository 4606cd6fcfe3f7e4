import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Heartbeat, openPresence } from '../../src/store/lanes/live-processes.ts'

/** Only what the kernel knows makes a process one that has ended. */

const FILE = fileURLToPath(new URL('present-process.ts', import.meta.url))
const ELSEWHERE = 'boot/pid:[1]'

async function startBed() {
  const stack = new AsyncDisposableStack()
  const id = `test-${process.pid}-${Math.random().toString(16).slice(2)}`
  const child: ChildProcess = fork(FILE, [id], { execArgv: [] })
  stack.defer(() => void child.kill('SIGKILL'))
  const [where] = (await once(child, 'message')) as [Heartbeat]
  const own = await openPresence(`${id}-own`)
  stack.defer(() => own.close())
  const kill = async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  /** Has it ended, by a heartbeat that says otherwise than its own? */
  const hasEnded = async (about: Partial<Heartbeat> = {}) =>
    (await own.endedAmong([{ ...where, id, sinks: [], beat: 1, ...about }])).has(id)
  return { child, own, kill, hasEnded, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const isLinux = process.platform === 'linux'

test('of our pid namespace: one runs, is frozen, is killed', async () => {
  await using it = await startBed()
  expect(await it.hasEnded()).toBe(false)
  it.child.kill('SIGSTOP')
  expect(await it.hasEnded()).toBe(false)
  await it.kill()
  expect(await it.hasEnded()).toBe(true)
})

test.runIf(isLinux)('of another pid namespace of our pod: one runs, is frozen, is killed', async () => {
  await using it = await startBed()
  expect(await it.hasEnded({ place: ELSEWHERE })).toBe(false)
  it.child.kill('SIGSTOP')
  expect(await it.hasEnded({ place: ELSEWHERE })).toBe(false)
  await it.kill()
  expect(await it.hasEnded({ place: ELSEWHERE })).toBe(true)
})

test('of another place and network, or without a socket, nobody is known to have ended', async () => {
  await using it = await startBed()
  await it.kill()
  expect(await it.hasEnded({ place: ELSEWHERE, network: 'boot/net:[1]' })).toBe(false)
  expect(await it.hasEnded({ place: ELSEWHERE, network: undefined })).toBe(false)
  expect(await it.hasEnded({ place: ELSEWHERE, host: 'another' })).toBe(false)
})

test.runIf(isLinux)('a later process has the pid: the former one has ended', async () => {
  await using it = await startBed()
  const { pid, start } = it.own.where
  expect(await it.hasEnded({ pid, start })).toBe(false)
  expect(await it.hasEnded({ pid, start: '1' })).toBe(true)
  // Where that is unknown.
  expect(await it.hasEnded({ pid, start: undefined })).toBe(false)
})
