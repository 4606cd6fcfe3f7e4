import { expect, test } from 'vitest'
import { limitsIn, START_MS } from '../rules/limits/bed.ts'
import { SOURCE } from './objects.ts'
import { startRealLimits } from './real-limits-bed.ts'
import { never } from './store-bed.ts'

const DAY_MS = 86_400_000
const RULES = [
  { name: 'grouped', ...limitsIn({ group: { by: 'rule' } }) },
  { name: 'lasting', ...limitsIn({ for: '1h' }) },
]

/** With a state that is large enough to be packed. */
async function startBed() {
  const it = await startRealLimits(RULES)
  const { session, happen } = await it.watch()
  return {
    ...it,
    session,
    happen: (rule: string) => happen({ at: 0, rule, uid: 'one', name: 'a'.repeat(400) }),
    fire: () => it.fire(START_MS + DAY_MS),
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
