import { expect, test } from 'vitest'
import { silentLog } from '../../src/log.ts'
import { prepareSchema } from '../../src/queue/schema.ts'
import type { Outcome } from '../../src/sink/index.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, numbered, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

/** A queue of layout 1: lanes by uid, so that the lives of one name lie in different lanes. */
async function startFormer() {
  const it = await startLaneBed()
  await it.redis.set(it.keys.schema, '1')
  for (let i = 0; i < 16; i++) await it.put(`hook/${i}`, ...numbered(`o${i}`, 40), `web${i}@1`)
  await it.redis.set(it.keys.owner('hook/3'), 'token')
  await it.redis.hset(it.keys.pending, 'hook/gone', 0)
  return it
}

test('what layout 1 left is delivered whole and in order before lanes by name go on', async () => {
  await using it = await startFormer()
  expect(await prepareSchema({ redis: it.redis, keys: it.keys, log: silentLog })).toBeUndefined()
  expect(await it.redis.scard(it.keys.formerLanes)).toBe(16)
  expect(await it.redis.exists(it.keys.owner('hook/3'))).toBe(0)
  // Objects that were made again since, in lanes by name.
  for (let i = 0; i < 16; i++) await it.put(`hook/n${(i + 5) % 16}`, `web${i}@2~again`)
  const sink = scriptedSink(async () => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    return DELIVERED
  })
  it.work({ hook: sink })
  await it.drained('hook')
  for (let i = 0; i < 16; i++) {
    const of = (name: string) => sink.took.filter((took) => took.startsWith(`${name}@`))
    expect(of(`o${i}`)).toEqual(numbered(`o${i}`, 40))
    expect(of(`web${i}`)).toEqual(numbered(`web${i}`, 2))
  }
  expect(await it.redis.exists(it.keys.formerLanes)).toBe(0)
  expect(await it.ledger()).toMatchObject({ balanced: true, sinks: { hook: { delivered: 16 * 42 } } })
})

test('an object of layout 1 that fails holds back its own name alone', async () => {
  await using it = await startFormer()
  await prepareSchema({ redis: it.redis, keys: it.keys, log: silentLog })
  let mended = false
  const sink = scriptedSink(({ event }) => (event.name === 'web0' && !mended ? ODD : DELIVERED))
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000 })
  const trickle = it.trickle(lanes)
  await it.put('hook/n9', 'web0@2~again', 'other@1')
  lanes.wake(['hook/n9'])
  await waitFor(() => sink.took.includes('other@1'), { what: 'the other object of the lane by name' })
  expect(sink.took.filter((name) => name.startsWith('web0'))).toEqual([])
  await trickle.stop()
  mended = true
  await it.drained('hook')
  expect(sink.took.filter((name) => name.startsWith('web0'))).toEqual(['web0@1', 'web0@2'])
})

test('a target named like a lane by name does not wait for one named like a lane by uid', async () => {
  await using it = await startLaneBed()
  await it.redis.set(it.keys.schema, '1')
  await it.put('log/7', ...numbered('number', 3))
  await it.put('log/n7', ...numbered('letter', 3))
  await prepareSchema({ redis: it.redis, keys: it.keys, log: silentLog })
  const missing: Outcome = { kind: 'retry', reason: 'network', detail: 'no such topic', scope: 'target' }
  let isThere = false
  const sink = scriptedSink(({ event }) => (event.name === 'number' && !isThere ? missing : DELIVERED))
  const lanes = it.work({ log: sink }, { namesLanes: true })
  await waitFor(() => sink.took.length === 3, { what: 'the target that takes deliveries' })
  expect(sink.took).toEqual(numbered('letter', 3))
  isThere = true
  lanes.tryNow(['log'])
  await it.drained('log')
  expect(sink.took).toEqual([...numbered('letter', 3), ...numbered('number', 3)])
})
