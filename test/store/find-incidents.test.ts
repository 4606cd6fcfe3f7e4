import { expect, test } from 'vitest'
import { createSinkActions } from '../../src/app/sink-set/actions.ts'
import { findIncidents, listIncidents } from '../../src/store/control/incidents.ts'
import { encodeState } from '../../src/store/limits/limit-states.ts'
import { limitsIn, START_MS } from '../rules/limits/bed.ts'
import { SOURCE } from './objects.ts'
import { startRealLimits } from './real-limits-bed.ts'
import { startStoreBed } from './store-bed.ts'

const RULE = 'r'
const PER_NAMESPACE = { after: '1h', per: 'namespace' } as const

/** An incident of all objects of a namespace, and a click on "acknowledge" of a message about one of them. */
async function startIncident(written: Parameters<typeof limitsIn>[0]) {
  const it = await startRealLimits([{ name: RULE, ...limitsIn({ ...written, resolve: PER_NAMESPACE }) }])
  const { happen } = await it.watch()
  const { reader: redis, keys, clock } = it
  const actions = createSinkActions({ redis, keys, clock, rules: () => [] })
  return Object.assign(it, {
    happen,
    acknowledge: (name: string, by = 'slack:U1') =>
      actions.acknowledge({ rule: RULE, kind: 'Pod', namespace: 'shop', name, isRegarded: true }, by),
  })
}

test('an incident of several objects is acknowledged by any of them that a notification was about', async () => {
  await using it = await startIncident({ throttle: { per: 'namespace', every: '1h' } })
  await it.happen({ at: 0, name: 'a', reason: 'BackOff' })
  await it.happen({ at: 1, name: 'b', reason: 'BackOff' })
  expect((await it.ledger()).rules[RULE]).toMatchObject({ sent: 1, suppressed: { throttle: 1 } })
  expect((await listIncidents(it.reader, it.keys)).items).toMatchObject([{ object: 'Pod shop/b' }])
  expect(await it.acknowledge('c')).toEqual({ kind: 'none' })
  expect(await it.acknowledge('a')).toMatchObject({ kind: 'done', by: 'slack:U1' })
  // The list shows this one.
  expect(await it.acknowledge('b', 'slack:U2')).toMatchObject({ kind: 'already', by: 'slack:U1' })
})

test('an incident keeps the last objects of many notifications, and forgets them with its end', async () => {
  await using it = await startIncident({})
  for (let i = 0; i < 60; i++) await it.happen({ at: i, name: `web-${i}`, reason: 'BackOff' })
  await it.happen({ at: 60, name: 'web-15', reason: 'BackOff' })
  const isFound = async (name: string) => {
    const isAbout = (object: { name: string }) => object.name === name
    return (await findIncidents(it.reader, it.keys, { rule: RULE, isAbout })).length === 1
  }
  expect(await isFound('web-0')).toBe(false)
  expect(await isFound('web-15')).toBe(true)
  expect(await isFound('web-59')).toBe(true)
  it.clock.ms = START_MS + 2 * 3_600_000
  await it.fire()
  await it.happen({ at: 2 * 3_600, name: 'new', reason: 'BackOff' })
  expect(await isFound('web-59')).toBe(false)
  expect(await isFound('new')).toBe(true)
})

test('an incident of one object is found among more states than a list reads', async () => {
  await using it = await startStoreBed()
  const { reader: redis, keys } = it
  const own = async (source: string, rule: string, uids: readonly string[]) => {
    const state = { v: 1, limit: 'for-resolve', rule, waiting: 0, sinceMs: START_MS, atMs: START_MS }
    const value = encodeState({ text: JSON.stringify(state), expiresAfterMs: 60_000 }, START_MS)
    await redis.hset(keys.sources, source, JSON.stringify({ ...SOURCE, key: source }))
    await redis.hset(keys.ownLimits(source), ...uids.flatMap((uid) => [`${uid}:${rule}`, value]))
    await redis.hset(keys.index(source), ...uids.flatMap((uid) => [uid, `shop/${uid}/\n1`]))
  }
  const many = Array.from({ length: 12_000 }, (_, i) => `u-${i}`)
  await own('s1', RULE, many)
  await own('s2', 'other', ['web'])
  await own('s3', RULE, ['web'])
  expect(await listIncidents(redis, keys)).toMatchObject({ isComplete: false })
  const actions = createSinkActions({ redis, keys, clock: { now: () => START_MS }, rules: () => [] })
  const { kind } = SOURCE.resource
  const target = { rule: RULE, kind, namespace: 'shop', name: 'web', isRegarded: false }
  expect(await actions.acknowledge(target, 'slack:U1')).toMatchObject({ kind: 'done' })
  expect(await redis.hkeys(keys.acknowledged)).toEqual([`web:${RULE}`])
})
