import { expect, test } from 'vitest'
import { FencedError } from '../../src/model/change.ts'
import { waitFor } from '../wait-for.ts'
import { came, image, startOldBed } from './old-bed.ts'
import { never } from './store-bed.ts'

const told = (version: number) =>
  `MODIFIED a@${version}: spec.containers[name=web].image v${version - 1} → v${version}`

const step = (version: number) => [came('MODIFIED', 'a', version, image(`v${version}`))]

test('queue.md: a commit whose reply is lost tells its change once, and the next one what was before it', async () => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 1, image('v1')))
  for (const version of [2, 3, 4, 5]) {
    it.proxy.cutAfter('evalsha')
    await session.commit(step(version), String(version), never)
  }
  expect(await it.told()).toEqual([2, 3, 4, 5].map(told))
})

test('queue.md: a commit that is lost between read and write is tried again with what was before', async () => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 1, image('v1')))
  for (const version of [2, 3, 4]) {
    it.proxy.hold('evalsha', { cut: true })
    await session.commit(step(version), String(version), never)
  }
  expect(await it.told()).toEqual([2, 3, 4].map(told))
})

test('an EXEC that comes late, after its commit was tried again, leaves the newer object in place', async () => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 1, image('v1')))
  const late = it.proxy.hold('evalsha', { cut: true })
  await session.commit(step(2), '2', never)
  await session.commit(step(3), '3', never)
  late.release()
  await session.commit(step(4), '4', never)
  expect(await it.told()).toEqual([2, 3, 4].map(told))
})

test('a process that dies between read and write leaves the old object to the next one', async () => {
  await using it = await startOldBed()
  const first = await it.begun(came('ADDED', 'a', 1, image('v1')))
  const before = await it.reader.hgetallBuffer(it.hash)
  const late = it.proxy.hold('evalsha', { cut: true })
  const stop = new AbortController()
  const commit = first.commit(step(2), '2', stop.signal)
  await late.seen
  stop.abort()
  await expect(commit).rejects.toThrow()
  expect(await it.reader.hgetallBuffer(it.hash)).toEqual(before)
  const next = await it.open()
  late.release()
  await next.commit(step(2), '2', never)
  expect(await it.told()).toEqual([told(2)])
})

test('a session that was replaced touches no old object', async () => {
  await using it = await startOldBed()
  const old = await it.begun(came('ADDED', 'a', 1, image('v1')))
  const next = await it.open()
  const before = await it.reader.hgetallBuffer(it.hash)
  await expect(old.commit(step(2), '2', never)).rejects.toThrow(FencedError)
  await expect(old.commit([came('DELETED', 'a', 2)], '2', never)).rejects.toThrow(FencedError)
  expect(await it.reader.hgetallBuffer(it.hash)).toEqual(before)
  await next.commit(step(2), '2', never)
  expect(await it.told()).toEqual([told(2)])
})

test('queue.md: Redis is killed under commits, and every change says what was before it', async () => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 1, image('v1')))
  let done = 1
  const commits = (async () => {
    for (; done < 150; done++) await session.commit(step(done + 1), String(done + 1), never)
  })()
  for (const count of [30, 80]) {
    await waitFor(() => done >= count, { what: 'some commits' })
    await it.server.kill()
    await it.server.restart()
  }
  await commits
  expect(await it.told()).toEqual(Array.from({ length: 149 }, (_, i) => told(i + 2)))
})
