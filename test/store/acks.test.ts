import type { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { ACKNOWLEDGE, ackArguments, ackResults } from '../../src/store/lanes/ack-script.ts'
import { createAcks } from '../../src/store/lanes/acks.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { runScript } from '../../src/store/redis/script.ts'
import { startLaneBed } from './lane-bed.ts'

const LANE = 'hook/n0'

/** Three deliveries in one entry of a lane whose slot has the token `mine`. */
async function startEntry() {
  const it = await startLaneBed()
  await it.redis.hset(it.keys.slots, 'hook/0', 'mine')
  await it.put(LANE, 'a@1', 'b@1', 'c@1')
  const [[id = ''] = []] = await it.redis.xrange(it.keys.lane(LANE), '-', '+')
  return { it, id }
}

test('an acknowledgement that is sent twice counts once, with gaps, and the last one frees the keys', async () => {
  const { it, id } = await startEntry()
  await using _ = it
  const send = async (...places: number[]) => {
    const acks = [{ entryId: id, count: 3, places }]
    const { names, args } = ackArguments(it.keys, [{ lane: LANE, token: 'mine', acks }])
    return ackResults(await runScript(it.redis, ACKNOWLEDGE, names, args))
  }
  await send(1)
  await send(1)
  expect(await it.ledger()).toMatchObject({ balanced: true, sinks: { hook: { delivered: 1, pending: 2 } } })
  await send(0, 1, 2)
  expect(await send(0, 1, 2)).toEqual([{ kind: 'done', missing: 1 }])
  expect(await it.ledger()).toMatchObject({ balanced: true, sinks: { hook: { delivered: 3, pending: 0 } } })
  expect(await it.redis.exists(it.keys.lane(LANE), it.keys.progress(LANE))).toBe(0)
})

test('one who lost the slot acknowledges nothing', async () => {
  const { it, id } = await startEntry()
  await using _ = it
  const troubles = createTroubles(silentLog)
  const acks = createAcks({ redis: it.redis, keys: it.keys, troubles, log: silentLog, onOutOfMemory() {} })
  const group = {
    lane: LANE,
    token: 'theirs',

    acks: [{ entryId: id, count: 3, places: [0] }],
  }
  expect(await acks.add(group)).toBe('fenced')
  expect(await acks.add({ ...group, token: 'mine' })).toBe('done')
  expect(await it.ledger()).toMatchObject({ balanced: true, sinks: { hook: { delivered: 1, pending: 2 } } })
  acks.close()
})

for (const command of ['hincrby', 'xadd', 'hset', 'xdel'])
  test(`without permission for ${command} nothing of an acknowledgement is left, and it is made when it is back`, async () => {
    const { it, id } = await startEntry()
    await using _ = it
    const payload = Buffer.from('x')
    const dead = { rule: 'r', reason: 'rejected' as const, detail: 'no', atMs: 1, payload, count: 1 }
    const acks = [
      { entryId: id, count: 3, places: [0] },
      { entryId: id, count: 3, places: [1], dead },
    ]
    const send = async (places: number[]) => {
      const all = [...acks, { entryId: id, count: 3, places }]
      const group = { lane: LANE, token: 'mine', acks: all }
      const { names, args } = ackArguments(it.keys, [group])
      return runScript(it.redis, ACKNOWLEDGE, names, args)
    }
    await it.server.command('ACL', 'SETUSER', 'default', `-${command}`)
    const places = command === 'xdel' ? [2] : []
    await expect(send(places)).rejects.toThrow(/NOPERM|can't run/)
    expect(await it.redis.xlen(it.keys.deadLetters)).toBe(0)
    expect(await it.ledger()).toMatchObject({
      ...{ balanced: true, verified: true },
      sinks: { hook: { enqueued: 3, delivered: 0, dead: 0, pending: 3 } },
    })
    await it.server.command('ACL', 'SETUSER', 'default', `+${command}`)
    await send([2])
    expect(await it.ledger()).toMatchObject({
      ...{ balanced: true, verified: true },
      sinks: { hook: { delivered: 2, dead: 1, pending: 0 } },
    })
  })

/** How long after the end of one acknowledgement the next is added, in turns of the queue of microtasks. */
const TURNS = Array.from({ length: 20 }, (_, turns) => turns)

for (const ends of ['done', 'fenced'] as const)
  test(`an acknowledgement that comes whenever the one before ends is not forgotten, but ${ends}`, async () => {
    const redis = { evalsha: async () => ['done 0'] } as unknown as Redis
    const group = { lane: LANE, token: 'mine', isUrgent: true }
    const add = async (turns: number) => {
      const parts = { troubles: createTroubles(silentLog), log: silentLog, onOutOfMemory() {} }
      const acks = createAcks({ redis, keys: keysOf('test'), ...parts })
      await acks.add({ ...group, acks: [{ entryId: '1-0', count: 1, places: [0] }] })
      for (let turn = 0; turn < turns; turn++) await Promise.resolve()
      const second = acks.add({ ...group, acks: [{ entryId: '2-0', count: 1, places: [0] }] })
      if (ends === 'fenced') acks.close()
      return second
    }
    expect(new Set(await Promise.all(TURNS.map(add)))).toEqual(new Set([ends]))
  })
