import { expect, test } from 'vitest'
import { closeAll, stagesOf } from '../../src/app/shutdown.ts'

test('a shutdown goes from readiness to the connections, whatever started first', async () => {
  const opened = new AsyncDisposableStack()
  const stages = stagesOf(opened)
  const closed: string[] = []
  for (const [name, stage] of Object.entries(stages)) stage.defer(() => void closed.push(name))
  stages.lanes.defer(async () => {
    await new Promise(setImmediate)
    closed.push('last of lanes')
  })
  await closeAll(opened)
  const before = ['readiness', 'site', 'sources', 'logs', 'last of lanes', 'lanes']
  expect(closed).toEqual([...before, 'deadLetters', 'reports', 'base', 'connections'])
})

test('every part is closed although others fail, and the first error is reported', async () => {
  const opened = new AsyncDisposableStack()
  const stages = stagesOf(opened)
  const closed: string[] = []
  for (const [name, stage] of Object.entries(stages))
    stage.defer(() => {
      closed.push(name)
      throw new Error(name)
    })
  stages.sources.defer(() => void closed.push('another source'))
  stages.site.defer(() => Promise.reject(new Error('last of site')))
  await expect(closeAll(opened)).rejects.toThrow('readiness')
  expect(new Set(closed)).toEqual(new Set([...Object.keys(stages), 'another source']))
})

test('sources are closed at the same time', async () => {
  const opened = new AsyncDisposableStack()
  const { sources } = stagesOf(opened)
  const { promise, resolve } = Promise.withResolvers<void>()
  sources.defer(resolve)
  sources.defer(() => promise)
  await closeAll(opened)
})
