import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isQuarantine } from '../../src/store/keys.ts'
import { seeded } from '../seeded-random.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

/** Chains return to their lane while more of their deliveries are on the way behind what they have quarantined. */

const OBJECTS = 10
const CHANGES = 1_000
const [SINK, LANE] = ['hook', 'hook/n1']

test('nothing overtakes a chain that returns to its lane, Redis answering late', async () => {
  await using it = await startLaneBed()
  await using proxy = await startTcpProxy(Number(new URL(it.server.url).port))
  proxy.delayAnswers(5)
  const random = seeded(5)
  const sink = scriptedSink(() => (random() < 0.1 ? ODD : DELIVERED))
  const url = `redis://127.0.0.1:${proxy.port}`
  const lanes = it.work({ [SINK]: sink }, { minFailingMs: 600_000, url })
  const versions = new Map<string, number>()
  let returned = 0
  let before = 0
  for (let i = 0; i < CHANGES; i++) {
    const name = `object-${Math.floor(random() * OBJECTS)}`
    versions.set(name, (versions.get(name) ?? 0) + 1)
    await it.put(LANE, `${name}@${versions.get(name)}`)
    lanes.wake([LANE])
    const quarantined = (await it.redis.hkeys(it.keys.pending)).filter(isQuarantine).length
    if (quarantined < before) returned++
    before = quarantined
    await pause(10 * random())
  }
  await waitFor(() => sink.took.length >= CHANGES, { timeoutMs: 60_000, what: 'all deliveries' })
  expect(returned).toBeGreaterThan(10)
  for (const [name, last] of versions) {
    const took = sink.took.filter((it) => it.startsWith(`${name}@`))
    expect(took).toEqual(Array.from({ length: last }, (_, i) => `${name}@${i + 1}`))
  }
})
