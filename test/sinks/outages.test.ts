import type { Counter, Gauge } from 'prom-client'
import { afterAll, describe, expect, test } from 'vitest'
import { createSinkSet } from '../../src/app/sink-set/set.ts'
import type { SinkConfig } from '../../src/config/schema.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import type { SinkType } from '../../src/sink/index.ts'
import { allSinks, builtInSinks } from '../../src/sink-types.ts'
import { numbered, startLaneBed } from '../store/lane-bed.ts'
import { waitFor } from '../wait-for.ts'
import { contextOf, optionsOf } from './bed.ts'
import { startEmailPeer } from './outages/email.ts'
import { startFilePeer } from './outages/file.ts'
import { startKafkaPeer } from './outages/kafka.ts'
import { FAULTS, type Peer } from './outages/peer.ts'
import { startServicePeer } from './outages/service.ts'
import { startSlackPeer } from './outages/slack.ts'
import { startStdoutPeer } from './outages/stdout.ts'
import { startWebhookPeer } from './outages/webhook.ts'
import { SERVICES } from './webhook/services/index.ts'

/** Each sink's peer, started once. */
const PEERS: Record<string, () => Promise<Peer>> = {
  slack: startSlackPeer,
  kafka: startKafkaPeer,
  webhook: startWebhookPeer,
  email: startEmailPeer,
  file: startFilePeer,
  stdout: startStdoutPeer,
}

/** One whose answers have an outcome for each event, and one that answers 200 to everything: what presets share is the webhook's. */
const PRESETS_WITH_PEERS = ['elasticsearch', 'lark']
const PRESET_PEERS = Object.fromEntries(
  SERVICES.filter((create) => PRESETS_WITH_PEERS.includes(create().name)).map((create) => [
    create().name,
    () => startServicePeer(create),
  ]),
)

test('every built-in sink has a peer that fails', () => {
  expect(Object.keys(PEERS).toSorted()).toEqual(Object.keys(builtInSinks).toSorted())
})

const OBJECTS = ['a', 'b', 'c']
const BEFORE = 5
const DURING = 15
const ALL = 30

const ALL_PEERS = { ...PEERS, ...PRESET_PEERS }

describe.concurrent.each(Object.keys(ALL_PEERS))('a %s peer that fails', (name) => {
  let started: Promise<Peer> | undefined
  const peerOf = () => (started ??= ALL_PEERS[name]!())
  afterAll(async () => (await started)?.[Symbol.asyncDispose]())

  test.for(FAULTS)(
    '%s: nothing is lost, the order holds, no attempt is burnt, and health and metrics say it',
    { concurrent: false },
    async (fault, { skip }) => {
      const peer = await peerOf()
      const excuse = peer.without?.[fault]
      if (excuse !== undefined) return skip(excuse)
      const already = (await peer.took()).length
      const isWrong = fault === 'wrong credentials'
      await using it = await startLaneBed()
      const { type, configOf } = await typeOf(peer)
      const set = createSinkSet({ contextOf: () => contextOf({ name: 'out' }), log: silentLog })
      const use = async (options: object) => (await set.prepare([await configOf(options)], () => type)).use()
      await use(peer.options())
      const metrics = createMetrics()
      const lanes = it.work(
        { out: set.sinks.get('out')! },
        { maxBatch: type.maxBatch, deliverTimeoutMs: 3_000, metrics },
      )
      const triesOf = async (object: string) => {
        const fields = await it.redis.hkeys(it.keys.progress(`out/${object}`))
        return fields.filter((field) => field.includes('/'))
      }

      const put = async (from: number, to: number) => {
        for (const object of OBJECTS) await it.put(`out/${object}`, ...numbered(object, ALL).slice(from, to))
      }
      const wake = () => lanes.wake(OBJECTS.map((object) => `out/${object}`))
      await put(0, BEFORE)
      wake()
      await it.drained('out')

      await using _ = { [Symbol.asyncDispose]: async () => peer.mend() }
      await peer.begin(fault)
      if (isWrong) await use(peer.wrongOptions!())
      await put(BEFORE, DURING)
      wake()
      const during = () => lanes.statuses()[0]
      // A peer that is slow for one message may take others: for a while nobody knows.
      const isTold = () => (fault === 'throttles' ? during()?.lastError !== undefined : !during()?.healthy)
      await waitFor(isTold, { timeoutMs: 25_000, what: 'the failure to be told' })
      await put(DURING, ALL)
      expect(during()).toMatchObject({ quarantined: 0, lastError: expect.any(String) })
      if (fault !== 'throttles') expect(await shown(metrics.sinkHealthy)).toBe(0)
      expect(await shown(metrics.retried)).toBeGreaterThan(0)
      expect((await it.ledger()).sinks['out']).toMatchObject({ dead: 0 })
      expect((await Promise.all(OBJECTS.map(triesOf))).flat()).toEqual([])

      await peer.mend()
      if (isWrong) {
        await use(peer.options())
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
      expect(lanes.statuses()[0]).toMatchObject({ healthy: true, quarantined: 0, failingTargets: 0 })
      expect(await shown(metrics.sinkHealthy)).toBe(1)
      expect(await shown(metrics.delivered)).toBe(OBJECTS.length * ALL)
      await set.close()
    },
  )
})

/** The sum of a metric's values; there is one sink. */
async function shown(metric: Pick<Counter | Gauge, 'get'>): Promise<number> {
  const { values } = await metric.get()
  return values.reduce((sum, { value }) => sum + value, 0)
}

/** Without repeats. */
function firstsOf(names: readonly string[]): string[] {
  return [...new Set(names)]
}

async function typeOf({ type, sinkType: ours }: Peer) {
  const sinkType = ours ?? ((await allSinks[type as keyof typeof allSinks]()) as SinkType)
  const configOf = async (options: object): Promise<SinkConfig> => ({
    name: 'out',
    type,
    options: await optionsOf(sinkType, options),
    source: JSON.stringify(options),
  })
  return { type: sinkType, configOf }
}
