import { afterAll, describe, expect, test } from 'vitest'
import { builtInSinks } from '../../sinks/index.ts'
import type { SinkConfig } from '../../src/config/schema.ts'
import { silentLog } from '../../src/log.ts'
import type { SinkType } from '../../src/sink/index.ts'
import { openSinkSet } from '../../src/sink-set/set.ts'
import { numbered, startLaneBed } from '../queue/lane-bed.ts'
import { waitFor } from '../wait-for.ts'
import { contextOf, optionsOf } from './bed.ts'
import { FAULTS, type Peer } from './outages/peer.ts'
import { startWebhookPeer } from './outages/webhook.ts'

/** Each sink's peer, started once. */
const PEERS: Record<string, () => Promise<Peer>> = { webhook: startWebhookPeer }

const OBJECTS = ['a', 'b', 'c']
const BEFORE = 10
const ALL = 30

describe.each(Object.keys(PEERS))('a %s peer that fails', (name) => {
  let started: Promise<Peer> | undefined
  const peerOf = () => (started ??= PEERS[name]!())
  afterAll(async () => (await started)?.[Symbol.asyncDispose]())

  test.each(FAULTS)(
    '%s: nothing is lost, the order holds, no attempt is burnt, and health says it',
    async (fault) => {
      const peer = await peerOf()
      const excuse = peer.without?.[fault]
      if (excuse !== undefined) return expect(excuse).not.toBe('')
      const already = (await peer.took()).length
      const isWrong = fault === 'wrong credentials'
      await using it = await startLaneBed()
      const { type, configOf } = await typeOf(peer)
      const parts = { typeOf: () => type, contextOf: () => contextOf({ name: 'out' }), log: silentLog }
      const set = await openSinkSet([await configOf(isWrong ? peer.wrongOptions!() : peer.options())], parts)
      const lanes = it.work(
        { out: set.sinks.get('out')! },
        { maxBatch: type.maxBatch, deliverTimeoutMs: 3_000 },
      )

      for (const object of OBJECTS) await it.put(`out/${object}`, ...numbered(object, ALL).slice(0, BEFORE))
      await peer.begin(fault)
      lanes.wake(OBJECTS.map((object) => `out/${object}`))
      await waitFor(() => lanes.statuses()[0]?.lastError !== undefined, { what: 'the failure to be told' })
      for (const object of OBJECTS) await it.put(`out/${object}`, ...numbered(object, ALL).slice(BEFORE))
      const during = lanes.statuses()[0]
      expect(during).toMatchObject(fault === 'throttles' ? { aside: 0 } : { healthy: false, aside: 0 })
      expect((await it.ledger()).sinks['out']).toMatchObject({ dead: 0 })

      await peer.mend()
      if (isWrong) {
        await set.reopen([await configOf(peer.options())])
        lanes.tryNow(['out'])
      }
      await it.drained('out')
      const took = (await peer.took()).slice(already)
      for (const object of OBJECTS) {
        const own = took.filter((it) => it.startsWith(`${object}@`))
        expect(firstsOf(own)).toEqual(numbered(object, ALL))
      }
      const ledger = await it.ledger()
      expect(ledger.sinks['out']).toMatchObject({ delivered: OBJECTS.length * ALL, dead: 0, pending: 0 })
      expect(ledger.balanced).toBe(true)
      expect(lanes.statuses()[0]).toMatchObject({ healthy: true, aside: 0, failingTargets: 0 })
      await set.close()
    },
    60_000,
  )
})

/** Without repeats. */
function firstsOf(names: readonly string[]): string[] {
  return [...new Set(names)]
}

async function typeOf({ type }: Peer) {
  const sinkType = (await builtInSinks[type as keyof typeof builtInSinks]()) as SinkType
  const configOf = async (options: object): Promise<SinkConfig> => ({
    name: 'out',
    type,
    options: await optionsOf(sinkType, options),
    source: JSON.stringify(options),
  })
  return { type: sinkType, configOf }
}
