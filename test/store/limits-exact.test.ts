import { expect, test } from 'vitest'
import type { Evaluator } from '../../src/model/change.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Limited } from '../../src/model/limit.ts'
import { createLimits } from '../../src/rules/limits/limits.ts'
import { MemoryLimits } from '../../src/rules/limits/memory.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { fireTimers } from '../../src/store/limits/limit-timers.ts'
import { type Happening, limitedOf, limitsIn, START_MS } from '../rules/limits/bed.ts'
import { createRandom, type Random } from '../rules/random.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

const RULES = [
  { name: 'throttled', ...limitsIn({ throttle: { per: 'namespace', every: '40s', burst: 2 } }) },
  { name: 'grouped', ...limitsIn({ group: { by: 'namespace', wait: '20s', interval: '60s', max: 6 } }) },
  { name: 'newest', ...limitsIn({ debounce: { per: 'namespace', quiet: '15s', atMost: '40s' } }) },
  { name: 'often', ...limitsIn({ after: { count: 3, within: '60s', per: 'namespace' } }) },
  { name: 'lasting', ...limitsIn({ for: '25s' }) },
  { name: 'over', ...limitsIn({ resolve: true }) },
  { name: 'last-group', ...limitsIn({ for: '15s', group: { by: 'namespace', wait: '10s' } }) },
]

function happen(random: Random, at: number): Happening {
  const pick = <T>(some: readonly T[]): T => some[Math.floor(random.next() * some.length)] as T
  const { name: rule } = pick(RULES)
  const name = pick(['a', 'b', 'c'])
  const follows = ['lasting', 'over', 'last-group'].includes(rule)
  const type = random.next() < 0.1 ? 'DELETED' : 'MODIFIED'
  const happening = { at, rule, name, namespace: pick(['shop', 'pay']), type } as const
  const holds = !follows || random.next() < 0.6
  const to = { holds, sinks: holds ? ['hook'] : [] }
  return follows ? { ...happening, ...to, uid: `${rule}-${name}` } : { ...happening, ...to }
}

const inShort = ({ rule, event, notice }: Delivery) =>
  `${rule} ${event.id}${notice?.kind === 'digest' ? ` of ${notice.count}` : ''}`

test('acceptance 4: in Redis limits decide what they decide in memory, whoever holds the source, and whatever is lost on the way', async () => {
  const random = createRandom(7)
  const limits = createLimits(RULES)
  const memory = new MemoryLimits(limits)
  const told: string[] = []
  const clock = { ms: START_MS, now: () => clock.ms }
  let next: readonly Limited[] = []
  const routing: Evaluator = {
    evaluate: () => ({
      ...{ deliveries: [], dropped: 0, matched: 0 },
      unmatched: next.filter(({ matches }) => !matches.some(({ entered }) => entered)).length,
      ...(next.length > 0 && {
        limits: {
          keys: limits.keysOf(next),
          apply: (states, nowMs) => limits.apply(next, states, nowMs),
          counted: next.map(({ matches }) => !matches.some(({ entered }) => entered)),
          places: new Map(),
        },
      }),
    }),
    expire: limits.expire,
    laneOf: () => 'hook/0',
  }
  await using it = await startStoreBed({ routing: () => routing, clock })
  const { commitConnection, metrics } = it.newStore()
  const stages = { evaluator: () => routing, enqueued() {} }
  const firing = { commitConnection, keys: it.keys, instance: 'one', stages, clock, metrics }
  const store = it.newStore()
  let session = await it.watching()
  let attempts = 0

  async function pass(toMs: number): Promise<void> {
    for (let dueMs = memory.nextDueMs(); dueMs !== undefined && dueMs <= toMs; dueMs = memory.nextDueMs()) {
      clock.ms = dueMs
      told.push(...memory.expire(dueMs).deliveries.map(inShort))
      while (await fireTimers(firing, `one/${++attempts}`, never));
      while ((session.dueMs ?? Number.POSITIVE_INFINITY) <= dueMs) await session.expire(never)
    }
    clock.ms = toMs
  }

  let at = 0
  for (let step = 0; step < 150; step++) {
    at += Math.floor(random.next() * 12)
    const fate = random.next()
    if (fate < 0.04) it.proxy.cutAfter('exec')
    else if (fate < 0.08) it.proxy.hold('exec', { cut: true })
    else if (fate < 0.2) session = await store.open(SOURCE, never)
    await pass(START_MS + at * 1_000)
    next = Array.from({ length: 1 + Math.floor(random.next() * 3) }, () => limitedOf(happen(random, at)))
    told.push(...memory.apply(next, clock.ms).deliveries.map(inShort))
    const changes = next.map((_, i) => change('ADDED', `step-${step}-${i}`, step * 10 + i + 2))
    await session.commit(changes, String(step * 10 + 9), never)
    next = []
  }
  await pass(START_MS + (at + 3_600) * 1_000)
  const ledger = await readLedger(it.reader, it.keys, { verify: true })
  expect(ledger).toMatchObject({ balanced: true, verified: true })
  expect(told.length).toBeGreaterThan(80)
  expect((await it.deliveries()).map(inShort).toSorted()).toEqual(told.toSorted())
  for (const [rule, { suppressed, ...counts }] of memory.counts()) {
    expect(ledger.rules[rule]).toMatchObject(counts)
    const some = Object.entries(suppressed).filter(([, count]) => count)
    expect(ledger.rules[rule]?.suppressed).toEqual(Object.fromEntries(some))
  }
})
