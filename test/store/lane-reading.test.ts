import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { LaneReading } from '../../src/store/lanes/lane-reader.ts'
import { LaneWorker } from '../../src/store/lanes/lane-worker.ts'
import type { LaneOwner, LaneServices } from '../../src/store/lanes/owned-lanes.ts'
import type { Quarantine } from '../../src/store/lanes/quarantine.ts'
import { readLane } from '../../src/store/lanes/read-lane.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { waitFor } from '../wait-for.ts'
import { startLaneBed } from './lane-bed.ts'

const refusal = Object.assign(new Error('NOPERM no permission'), { name: 'ReplyError' })

test('a lane that Redis refuses to read is no trouble of a process that does not own it any more', () => {
  const troubles = createTroubles(silentLog)
  const reading = new LaneReading({ troubles, log: silentLog } as LaneServices, 'hook/n0', false)
  reading.failed(refusal)
  expect(troubles.first()).toContain('hook/n0')
  reading.leave()
  expect(troubles.first()).toBeUndefined()
})

/** The worker of a lane whose only read is under way, until `refuse` ends it. */
async function startReadUnderWay() {
  const troubles = createTroubles(silentLog)
  const reply = Promise.withResolvers<never>()
  let asked = false
  let given = 0
  const pipeline = {
    xrangeBuffer: () => pipeline,
    hscan: () => pipeline,
    exec() {
      asked = true
      return reply.promise
    },
  }
  const state = { name: 'hook', batchSize: 1, breaker: { isOpen: () => false }, failureShare: {} }
  const worker = new LaneWorker(
    {
      troubles,
      log: silentLog,
      keys: keysOf('test'),
      redis: { pipeline: () => pipeline },
      sinks: new Map([['hook', state]]),
      budget: { waitsMs: () => 0, share: () => 1, take: async () => {}, give: () => given++ },
    } as unknown as LaneServices,
    { mayStart: () => false } as unknown as LaneOwner,
    {} as Quarantine,
    { name: 'hook/n0', token: '1', isEmpty: false },
  )
  worker.pump()
  await waitFor(() => asked, { what: 'the read' })
  return {
    worker,
    troubles,
    async refuse() {
      const before = given
      reply.reject(refusal)
      await waitFor(() => given > before, { what: 'the end of the read' })
    },
  }
}

test('a read that Redis refuses is a trouble of the process that owns the lane', async () => {
  const { worker, troubles, refuse } = await startReadUnderWay()
  await refuse()
  expect(troubles.first()).toContain('hook/n0')
  worker.drop()
  expect(troubles.first()).toBeUndefined()
})

test('a read that Redis refuses after the process has left the lane is no trouble of it', async () => {
  const { worker, troubles, refuse } = await startReadUnderWay()
  worker.drop()
  await refuse()
  expect(troubles.first()).toBeUndefined()
})

test('entries that are much larger than the memory reserved for their read are left for the next one', async () => {
  await using it = await startLaneBed()
  for (let i = 1; i <= 3; i++) await it.put('hook/n0', `a@${i}`)
  const first = await readLane(it.redis, it.keys, 'hook/n0', '-', 3, 1)
  expect(first).toMatchObject({ entries: [{ items: [{ delivery: { event: { resourceVersion: '1' } } }] }] })
  expect([first.entries.length, first.more]).toEqual([1, true])
  const rest = await readLane(it.redis, it.keys, 'hook/n0', `(${first.entries[0]?.id}`, 3)
  expect([rest.entries.length, rest.more]).toEqual([2, false])
})
