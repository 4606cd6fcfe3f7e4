import { expect, test } from 'vitest'
import type { Evaluator } from '../../src/model/change.ts'
import { type Limited, MOST_STATES } from '../../src/model/limit.ts'
import { createLimits } from '../../src/rules/limits/limits.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { RulesAtCapacity } from '../../src/store/limits/limit-state-gc.ts'
import { fireTimers } from '../../src/store/limits/limit-timers.ts'
import { limitedOf, limitsIn, START_MS } from '../rules/limits/bed.ts'
import { change } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

const RULES = [
  { name: 'throttled', ...limitsIn({ throttle: { per: 'reason', every: '1h' } }) },
  { name: 'grouped', ...limitsIn({ group: { by: 'reason', wait: '30s', interval: '1m', max: 1_000 } }) },
]

test('made-up reasons fill Redis up to a bound; nothing is lost, and what is of no use any more makes room', async () => {
  const limits = createLimits(RULES)
  const clock = { ms: START_MS, now: () => clock.ms }
  let next: readonly Limited[] = []
  const routing: Evaluator = {
    evaluate: () => ({
      ...{ deliveries: [], dropped: 0, matched: 0, unmatched: 0 },
      limits: {
        keys: limits.keysOf(next),
        apply: (states, nowMs) => limits.apply(next, states, nowMs),
        counted: next.map(() => false),
        places: new Map(),
      },
    }),
    expire: limits.expire,
    laneOf: () => 'hook/0',
  }
  await using it = await startStoreBed({ routing: () => routing, clock })
  const { commitConnection, metrics } = it.newStore()
  const session = await it.watching()
  let made = 0

  /** So many Events with reasons of their own. */
  async function makeUp(rule: string, count: number): Promise<void> {
    for (const endsAt = made + count; made < endsAt; ) {
      const some = Array.from({ length: Math.min(500, endsAt - made) }, () => made++)
      next = some.map((i) =>
        limitedOf({
          ...{ at: (clock.ms - START_MS) / 1_000, rule, reason: `R${i}`, uid: `u${i}`, sinks: ['hook'] },
        }),
      )
      await session.commit(
        some.map((i) => change('ADDED', `e${i}`, i + 2)),
        String(made + 2),
        never,
      )
    }
  }
  const places = (rule: string) => it.reader.zcard(it.keys.limitKeys(rule))
  const warned: string[] = []
  const log = { warn: ({ rule }: { rule: string }) => void warned.push(rule) } as never
  const crowded = new RulesAtCapacity({ redis: it.reader, keys: it.keys, log })
  const look = () =>
    crowded.check(
      RULES.map(({ name }) => name),
      clock.ms,
    )
  const rules = async () => {
    const ledger = await readLedger(it.reader, it.keys, { verify: true })
    expect(ledger).toMatchObject({ balanced: true, verified: true })
    return ledger.rules
  }

  await makeUp('throttled', MOST_STATES - 1)
  await look()
  expect(warned).toEqual([])
  await makeUp('throttled', 600)
  await look()
  await look()
  expect(warned).toEqual(['throttled'])
  expect(await places('throttled')).toBe(MOST_STATES)
  expect(await it.reader.keys(`${it.keys.limit('throttled:')}*`)).toHaveLength(MOST_STATES)
  expect(await rules()).toMatchObject({ throttled: { matched: made, sent: made } })

  // Others have most of its room.
  const others = Array.from({ length: MOST_STATES - 100 }, (_, i) => [START_MS + 60_000, `other-${i}`])
  await it.reader.zadd(it.keys.limitKeys('grouped'), ...others.flat())
  const before = made
  await makeUp('grouped', 600)
  // What has no room has one group besides.
  expect(await places('grouped')).toBe(MOST_STATES + 1)
  clock.ms += 31_000
  const parts = {
    commitConnection,
    keys: it.keys,
    instance: 'one',
    stages: { evaluator: () => routing, enqueued() {} },
    clock,
    metrics,
  }
  for (let attempt = 1; await fireTimers(parts, `one/${attempt}`, never); attempt++);
  expect(await rules()).toMatchObject({
    grouped: { matched: made - before, sent: 100, digested: 500, waiting: 0, notices: 1 },
  })

  // All is of no use any more: of groups after their interval, of throttles after theirs.
  clock.ms += 3 * 3_600_000
  await look()
  expect([await places('throttled'), await places('grouped')]).toEqual([0, 0])
  await makeUp('throttled', MOST_STATES + 1)
  await look()
  expect(warned).toEqual(['throttled', 'throttled'])
  expect(await places('throttled')).toBe(MOST_STATES)
})
