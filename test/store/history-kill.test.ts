import { describe, expect, test } from 'vitest'
import type { HistoryRecord } from '../../src/model/history-record.ts'
import type { Outcome } from '../../src/sink/index.ts'
import { readHistory } from '../../src/store/history/read-history.ts'
import { ACKNOWLEDGE } from '../../src/store/lanes/ack-script.ts'
import { freePort } from '../servers/ports.ts'
import { startTcpProxy, type TcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, numbered, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

/** A kill at each step of an acknowledgement: the history has each delivery once, as the ledger counts it. */

const WEEK = { keepMs: 604_800_000, maxBytes: 64e6 }
const REFUSED: Outcome = { kind: 'rejected', reason: 'rejected', detail: 'no' }
const ALWAYS = ['--appendfsync', 'always']

type Bed = Awaited<ReturnType<typeof startLaneBed>>

/** Each resolves when the acknowledgement is at this step. `release` sends what was held. */
const STEPS: Record<string, (proxy: TcpProxy, bed: Bed) => { reached: Promise<unknown>; release?(): void }> =
  {
    'before the script': (proxy) => ({ reached: proxy.hold(ACKNOWLEDGE.sha).seen }),
    'while the script is on its way, which arrives later': (proxy) => {
      const held = proxy.hold(ACKNOWLEDGE.sha, { cut: true })
      return { reached: held.seen, release: held.release }
    },
    'between the script and its reply': (proxy, bed) => {
      proxy.cutAfter(ACKNOWLEDGE.sha)
      return { reached: recorded(bed) }
    },
    'after the reply': (_proxy, bed) => ({ reached: recorded(bed) }),
  }

const recorded = (bed: Bed) =>
  waitFor(async () => (await bed.redis.xlen(bed.keys.history)) > 0, { what: 'an acknowledgement' })

const VICTIMS: Record<string, (it: { bed: Bed; proxy: TcpProxy; die(): void }) => Promise<void>> = {
  'the process': async ({ proxy, die }) => {
    proxy.retarget(await freePort())
    die()
    proxy.cut()
  },
  'the connection': async ({ proxy }) => proxy.cut(),
  Redis: async ({ bed }) => {
    await bed.server.kill()
    await bed.server.restart(...ALWAYS)
  },
}

for (const [victim, kill] of Object.entries(VICTIMS))
  describe.concurrent(`kill -9 of ${victim}`, () => {
    test.each(Object.entries(STEPS))('%s', async (_, step) => {
      await using bed = await startLaneBed({ redisArgs: ALWAYS })
      await using proxy = await startTcpProxy(bed.server.port)
      await bed.redis.script('LOAD', ACKNOWLEDGE.text)
      // Entries of one delivery and of many, of one lane and of several: both ways through the script.
      for (const lane of ['hook/n1', 'hook/n2'])
        await bed.put(lane, ...numbered(`many-${lane.slice(5)}`, 20), `bad-${lane.slice(5)}@1`, 'odd@1')
      for (const name of ['one', 'two', 'bad-three']) await bed.put('hook/n3', `${name}@1`)
      const never = new Promise<Outcome>(() => {})
      let isDead = false
      let odd = 0
      const answerOf = (name: string) =>
        name.startsWith('bad') ? REFUSED : name === 'odd' && odd++ < 2 ? ODD : DELIVERED
      const killed = scriptedSink(({ event: { name } }) => (isDead ? never : answerOf(name)))
      const other = scriptedSink(({ event: { name } }) => answerOf(name))
      const { reached, release } = step(proxy, bed)
      const url = `redis://127.0.0.1:${proxy.port}`
      bed.work({ hook: killed }, { history: WEEK, url }).wake(['hook/n1', 'hook/n2', 'hook/n3'])
      await reached
      await kill({ bed, proxy, die: () => (isDead = true) })
      if (isDead) bed.work({ hook: other }, { history: WEEK })
      await bed.drained('hook')
      release?.()
      // Its answer comes after that of the late script.
      await bed.redis.ping()

      const ledger = await bed.ledger()
      expect(ledger).toMatchObject({ balanced: true, verified: true })
      const records = await Array.fromAsync(readHistory(bed.redis, bed.keys))
      const of = (outcome: HistoryRecord['outcome']) =>
        records.filter((it) => it.outcome === outcome).map(({ event }) => event)
      const { delivered, dead } = ledger.sinks['hook'] ?? {}
      expect({ delivered: of('delivered').length, dead: of('dead').length }).toEqual({ delivered, dead })
      expect({ delivered, dead }).toEqual({ delivered: 44, dead: 3 })
      const took = new Set([...killed.took, ...other.took])
      for (const { name, id } of of('delivered')) expect(took).toContain(`${name}@${id.split('/')[2]}`)
      const ids = [...of('delivered'), ...of('dead')].map(({ name, id }) => `${name} ${id}`)
      // The odd one is in two lanes.
      expect(ids.length - new Set(ids).size).toBe(1)
    })
  })
