import { expect, test } from 'vitest'
import type { Limited } from '../../src/limit.ts'
import { createLimits } from '../../src/limits/limits.ts'
import { fireTimers } from '../../src/queue/fire-timers.ts'
import { readLedger } from '../../src/queue/ledger.ts'
import { limitedOf, limitsIn, START_MS } from '../limits/bed.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

const DAY_MS = 86_400_000

/** Real limits on a real Redis: `grouped` gathers whatever comes, `lasting` waits for each object. */
async function startBed() {
  const limits = createLimits([
    { name: 'grouped', ...limitsIn({ group: { by: 'rule' } }) },
    { name: 'lasting', ...limitsIn({ for: '1h' }) },
  ])
  const clock = { ms: START_MS, now: () => clock.ms }
  let next: readonly Limited[] = []
  const routing = () => ({
    decide: () => ({
      ...{ deliveries: [], dropped: 0, matched: 0, unmatched: 0 },
      ...(next.length > 0 && {
        limits: {
          keys: limits.keysOf(next),
          apply: (states: Parameters<typeof limits.apply>[1], nowMs: number) =>
            limits.apply(next, states, nowMs),
          counted: next.map(() => false),
          places: new Map(),
        },
      }),
    }),
    expire: limits.expire,
    laneOf: () => 'hook/0',
  })
  const it = await startStoreBed({ routing, clock })
  const session = await it.watching()
  const { line, metrics } = it.newStore()
  let version = 1
  return {
    ...it,
    session,
    clock,
    /** Commits an event that a rule matches. */
    async happen(rule: string): Promise<void> {
      next = [limitedOf({ at: 0, rule, uid: 'one', name: 'a'.repeat(400), sinks: ['hook'] })]
      const changes = [change('ADDED', `a-${++version}`, version)]
      await session.commit(changes, String(version), never)
      next = []
    },
    fire: () =>
      fireTimers(
        { line, keys: it.keys, instance: 'one', routing, onEnqueued() {}, metrics },
        `one/${++version}`,
        START_MS + DAY_MS,
        never,
      ),
    ledger: () => readLedger(it.reader, it.keys, { verify: true }),
  }
}

/** What may have become of a packed state: format, head, text. */
const damaged: [string, (value: Buffer) => Buffer][] = [
  ['of a newer format', (value) => Buffer.concat([Buffer.of(9), value.subarray(1)])],
  ['that is torn', (value) => value.subarray(0, -20)],
]

for (const [what, damage] of damaged) {
  test(`a group ${what} stops nobody: what waited in it is counted as gone, and it begins anew`, async () => {
    await using it = await startBed()
    await it.happen('grouped')
    await it.happen('grouped')
    const [key = ''] = await it.reader.zrange(it.keys.limitTimers, '0', '-1')
    const value = await it.reader.getBuffer(it.keys.limit(key))
    await it.reader.set(it.keys.limit(key), damage(value ?? Buffer.of()))
    await it.happen('grouped')
    const ledger = await it.ledger()
    expect(ledger.rules['grouped']).toMatchObject({ matched: 3, waiting: 1, suppressed: { gone: 2 } })
    expect(ledger).toMatchObject({ balanced: true, verified: true })
  })

  test(`a group ${what} is given up when its time has come`, async () => {
    await using it = await startBed()
    await it.happen('grouped')
    const [key = ''] = await it.reader.zrange(it.keys.limitTimers, '0', '-1')
    const value = await it.reader.getBuffer(it.keys.limit(key))
    await it.reader.set(it.keys.limit(key), damage(value ?? Buffer.of()))
    expect(await it.fire()).toBe(true)
    expect(await it.fire()).toBe(false)
    const ledger = await it.ledger()
    expect(ledger.rules['grouped']).toMatchObject({ matched: 1, waiting: 0, suppressed: { gone: 1 } })
    expect(ledger).toMatchObject({ balanced: true, verified: true })
  })

  test(`a state of an object ${what} stops nobody, and its next event begins anew`, async () => {
    await using it = await startBed()
    await it.happen('lasting')
    const limits = it.keys.ownLimits(SOURCE.key)
    const [field = ''] = await it.reader.hkeys(limits)
    const value = await it.reader.hgetBuffer(limits, field)
    await it.reader.hset(limits, field, damage(value ?? Buffer.of()))
    await it.happen('lasting')
    expect((await it.ledger()).rules['lasting']).toMatchObject({
      ...{ matched: 2, waiting: 1, suppressed: { gone: 1 } },
    })
    await it.reader.hset(limits, field, damage((await it.reader.hgetBuffer(limits, field)) ?? Buffer.of()))
    it.clock.ms = START_MS + DAY_MS
    await it.session.expire(never)
    const ledger = await it.ledger()
    expect(ledger.rules['lasting']).toMatchObject({ matched: 2, waiting: 0, suppressed: { gone: 2 } })
    expect(ledger).toMatchObject({ balanced: true, verified: true })
  })
}
