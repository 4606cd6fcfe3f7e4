import { expect, test } from 'vitest'
import { type Heartbeat, LiveProcesses } from '../../src/store/lanes/live-processes.ts'

const never = new AbortController().signal
const LONG_MS = 600_000

const beatOf = (id: string, released = 0): Heartbeat => ({
  ...{ id, host: 'h', place: 'p', pid: 1, sinks: [], beat: 1 },
  released,
})

test('who waits for a process learns that it is dead', async () => {
  const processes = new LiveProcesses('us')
  const [us, them] = [beatOf('us'), beatOf('them')]
  processes.look([us, them], [us, them])
  expect(processes.isAlive('them')).toBe(true)
  const gone = processes.wait(processes.changes, LONG_MS, never)
  processes.look([us, them], [us])
  await gone
  expect(processes.isAlive('them')).toBe(false)
})

test('who waits for a process learns that it has left a source', async () => {
  const processes = new LiveProcesses('us')
  const us = beatOf('us')
  processes.look([us, beatOf('them')], [us, beatOf('them')])
  const left = processes.wait(processes.changes, LONG_MS, never)
  processes.look([us, beatOf('them', 1)], [us, beatOf('them', 1)])
  await left
  expect(processes.isAlive('them')).toBe(true)
})

test('a change between a look and the waiting is not missed', async () => {
  const processes = new LiveProcesses('us')
  processes.look([beatOf('them')], [beatOf('them')])
  const { changes } = processes
  processes.look([], [])
  await processes.wait(changes, LONG_MS, never)
  expect(processes.isAlive('them')).toBeUndefined()
})

test('processes that come, and those that stay, wake nobody', async () => {
  const processes = new LiveProcesses('us')
  const { changes } = processes
  processes.look([beatOf('us')], [beatOf('us')])
  processes.look([beatOf('us'), beatOf('them', 3)], [beatOf('us'), beatOf('them', 3)])
  processes.look([beatOf('us'), beatOf('them', 3)], [beatOf('us'), beatOf('them', 3)])
  expect(processes.changes).toBe(changes)
})

test('waiting ends with its signal', async () => {
  const stop = new AbortController()
  const waiting = new LiveProcesses('us').wait(0, LONG_MS, stop.signal)
  stop.abort(new Error('stopped'))
  await expect(waiting).rejects.toThrow('stopped')
})
