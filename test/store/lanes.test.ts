import { expect, test } from 'vitest'
import type { Outcome, Sink } from '../../src/sink/index.ts'
import { retryDeadLetter } from '../../src/store/lanes/dead-letter-actions.ts'
import { findDeadLetter, listDeadLetters } from '../../src/store/lanes/dead-letters.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, numbered, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

test.concurrent('a lane delivers everything in order, and the ledger balances', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', ...numbered('a', 300))
  const sink = scriptedSink(() => DELIVERED)
  it.work({ hook: sink }).wake(['hook/0'])
  await it.drained('hook')
  expect(sink.took).toEqual(numbered('a', 300))
  const ledger = await it.ledger()
  expect(ledger.sinks['hook']).toMatchObject({ enqueued: 300, delivered: 300, dead: 0, pending: 0 })
  expect(ledger.balanced).toBe(true)
})

test.concurrent('what nobody told of is found in the register', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', 'a@1')
  const sink = scriptedSink(() => DELIVERED)
  it.work({ hook: sink })
  await it.drained('hook')
  expect(sink.took).toEqual(['a@1'])
})

test.concurrent('what was delivered is settled as soon as Redis takes writes again, and not delivered twice', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', ...numbered('a', 50))
  const refuse = (yes: boolean) => it.redis.config('SET', 'min-replicas-to-write', yes ? '1' : '0')
  const sink = scriptedSink(async ({ event }) => {
    if (event.name === 'a' && event.resourceVersion === '1') await refuse(true)
    return DELIVERED
  })
  it.work({ hook: sink }).wake(['hook/0'])
  await waitFor(async () => /errorstat_NOREPLICAS:count=[1-9]/.test(await it.redis.info('errorstats')), {
    what: 'Redis to refuse the settlement',
  })
  await refuse(false)
  await it.drained('hook')
  expect(sink.took).toEqual(numbered('a', 50))
  expect((await it.ledger()).sinks['hook']).toMatchObject({ delivered: 50, dead: 0 })
})

test.concurrent('an outage burns no attempts: everything waits and then arrives in order', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', ...numbered('a', 20), ...numbered('b', 20))
  let calls = 0
  const sink = scriptedSink(() => (++calls <= 6 ? DOWN : DELIVERED))
  it.work({ hook: sink }).wake(['hook/0'])
  await it.drained('hook')
  for (const name of ['a', 'b'])
    expect(sink.took.filter((it) => it.startsWith(name))).toEqual(numbered(name, 20))
  expect((await it.ledger()).sinks['hook']).toMatchObject({ delivered: 40, dead: 0 })
})

test.concurrent('an event that fails alone gets five tries and becomes a dead letter; its successors wait, other objects go on', async () => {
  await using it = await startLaneBed()
  // More than one batch of the bad one's successors.
  await it.put('hook/0', 'bad@1', ...numbered('good', 3), ...numbered('bad', 150).slice(1))
  await it.put('hook/1', ...numbered('other', 500))
  let tries = 0
  const sink = scriptedSink(({ event }) => {
    if (event.name !== 'bad' || event.resourceVersion !== '1') return DELIVERED
    tries++
    return ODD
  })
  const lanes = it.work({ hook: sink })
  lanes.wake(['hook/0', 'hook/1'])
  const trickle = it.trickle(lanes)
  await waitFor(async () => (await it.redis.xlen(it.keys.deadLetters)) === 1, {
    timeoutMs: 25_000,
    what: 'the dead letter',
  })
  await trickle.stop()
  await it.drained('hook')
  expect(tries).toBeGreaterThanOrEqual(5)
  expect(sink.took.filter((name) => name.startsWith('good'))).toEqual(numbered('good', 3))
  expect(sink.took.filter((name) => name.startsWith('bad'))).toEqual(numbered('bad', 150).slice(1))
  expect((await it.ledger()).balanced).toBe(true)
})

test.concurrent('a refused event is a dead letter at once, and a retry of it arrives', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', 'a@1', 'bad@1', 'a@2')
  let mended = false
  const sink = scriptedSink(({ event }) =>
    event.name === 'bad' && !mended ? { kind: 'rejected', reason: 'rejected', detail: '422 no' } : DELIVERED,
  )
  const lanes = it.work({ hook: sink })
  lanes.wake(['hook/0'])
  await it.drained('hook')
  const letters = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  expect(letters).toMatchObject([{ sink: 'hook', rule: 'all', reason: 'rejected', detail: '422 no' }])
  expect((await it.ledger()).sinks['hook']).toMatchObject({ delivered: 2, dead: 1 })
  mended = true
  const letter = await findDeadLetter(it.redis, it.keys, letters[0]?.id ?? '')
  expect(await retryDeadLetter(it.redis, it.keys, letter!)).toBe(true)
  expect(await retryDeadLetter(it.redis, it.keys, letter!)).toBe(false)
  lanes.wake(['hook/0'])
  await it.drained('hook')
  expect(sink.took).toEqual(['a@1', 'a@2', 'bad@1'])
  const ledger = await it.ledger()
  expect(ledger.sinks['hook']).toMatchObject({ enqueued: 3, delivered: 3, dead: 0 })
  expect(ledger.balanced).toBe(true)
  // So that a report of dead letters counts those that fail again.
  expect(await it.redis.hget(it.keys.sinkLedger('hook'), 'retried')).toBe('1')
})

test.concurrent('what waited through an outage of the longest length becomes a dead letter with the last failure', async () => {
  await using it = await startLaneBed()
  const old = new Date(Date.now() - 2 * 86_400_000)
  await it.putAt('hook/0', old, ...numbered('a', 100))
  await it.redis.hset(it.keys.outages, 'hook', `${old.getTime()},${Date.now()}`)
  const sink = scriptedSink(() => DOWN)
  it.work({ hook: sink }).wake(['hook/0'])
  await it.drained('hook')
  const letters = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  expect(letters).toHaveLength(100)
  expect(letters[0]).toMatchObject({ reason: 'expired', detail: expect.stringContaining('refused') })
  // One call is enough to know that the rest waits in vain.
  expect(sink.calls).toBe(1)
})

test.concurrent('a backlog that waited for a stopped process is not expired: an outage begins with its first failure', async () => {
  await using it = await startLaneBed()
  const old = new Date(Date.now() - 3 * 86_400_000)
  await it.putAt('hook/0', old, ...numbered('a', 40))
  let calls = 0
  const sink = scriptedSink(() => (++calls === 1 ? DOWN : DELIVERED))
  it.work({ hook: sink }).wake(['hook/0'])
  await it.drained('hook')
  expect(sink.took).toEqual(numbered('a', 40))
  expect((await it.ledger()).sinks['hook']).toMatchObject({ delivered: 40, dead: 0 })
})

test.concurrent('what came in the middle of a long outage is given its own time: only what waited for all of it expires', async () => {
  await using it = await startLaneBed()
  const old = new Date(Date.now() - 2 * 86_400_000)
  await it.putAt('hook/0', old, 'a@1')
  await it.put('hook/0', 'b@1')
  await it.redis.hset(it.keys.outages, 'hook', `${old.getTime()},${Date.now()}`)
  let up = false
  const sink = scriptedSink(() => (up ? DELIVERED : DOWN))
  it.work({ hook: sink }).wake(['hook/0'])
  await waitFor(async () => (await it.ledger()).sinks['hook']?.dead === 1, { what: 'the first to expire' })
  up = true
  await it.drained('hook')
  expect(sink.took).toEqual(['b@1'])
  expect((await it.ledger()).sinks['hook']).toMatchObject({ delivered: 1, dead: 1 })
})

test.concurrent('a lane of a sink that this process does not have is left to others', async () => {
  await using it = await startLaneBed()
  await it.put('new/0', ...numbered('a', 3))
  it.work({ hook: scriptedSink(() => DELIVERED) }).wake(['new/0'])
  const sink = scriptedSink(() => DELIVERED)
  it.work({ new: sink })
  await it.drained('new')
  expect(sink.took).toEqual(numbered('a', 3))
})

test.concurrent('what a sink answered is kept without what an URL hides', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', 'a@1')
  const detail = 'no access to https://user:secret@example.com/?token=secret'
  it.work({ hook: scriptedSink(() => ({ kind: 'rejected', reason: 'rejected', detail })) }).wake(['hook/0'])
  await it.drained('hook')
  const [letter] = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  expect(letter?.detail).toMatch(/^no access to https:/)
  expect(letter?.detail).not.toContain('secret')
})

test.concurrent('a sink that hangs does not keep another from delivering', async () => {
  await using it = await startLaneBed()
  const lanesOf = (sink: string) => Array.from({ length: 16 }, (_, i) => `${sink}/${i}`)
  for (const lane of [...lanesOf('hung'), ...lanesOf('good')]) await it.put(lane, ...numbered(`${lane}-a`, 5))
  const hung: Sink = { deliver: () => new Promise(() => {}), async close() {} }
  const good = scriptedSink(() => DELIVERED)
  it.work({ hung, good }, { deliverTimeoutMs: 2_000 }).wake([...lanesOf('hung'), ...lanesOf('good')])
  await it.drained('good')
  expect(good.took).toHaveLength(80)
})

test.concurrent('a sink that throws or answers nonsense loses nothing', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', ...numbered('a', 3))
  let calls = 0
  const good = scriptedSink(() => DELIVERED)
  const sink: Sink = {
    async deliver(batch, signal) {
      calls++
      if (calls === 1) throw new Error('broken')
      if (calls === 2) return [] as Outcome[]
      return good.deliver(batch, signal)
    },
    async close() {},
  }
  it.work({ hook: sink }).wake(['hook/0'])
  await it.drained('hook')
  expect(good.took).toEqual(numbered('a', 3))
})

test.concurrent('queue.md: closing under a backlog, with nothing new coming, hands the rest to another worker, in order', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', ...numbered('a', 600))
  const slow = scriptedSink(async () => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    return DELIVERED
  })
  const first = it.work({ hook: slow })
  first.wake(['hook/0'])
  await waitFor(() => slow.took.length > 10, { what: 'some deliveries' })
  await first.close(500)
  const rest = scriptedSink(() => DELIVERED)
  it.work({ hook: rest })
  await it.drained('hook')
  expect([...slow.took, ...rest.took]).toEqual(numbered('a', 600))
})

test.concurrent('queue.md: SCRIPT FLUSH in the middle loses nothing', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', ...numbered('a', 300))
  const sink = scriptedSink(async () => {
    if (sink.took.length % 100 === 0) await it.server.command('SCRIPT', 'FLUSH')
    return DELIVERED
  })
  it.work({ hook: sink }).wake(['hook/0'])
  await it.drained('hook')
  expect(sink.took).toEqual(numbered('a', 300))
})

test.concurrent.each([
  ['cuts the connection', DOWN],
  ['answers 403', { kind: 'retry', reason: 'auth', detail: '403', scope: 'sink' }],
  ['answers 500', ODD],
] as [string, Outcome][])(
  'one event for which the sink %s holds up neither its lane nor its sink',
  async (_, answer) => {
    await using it = await startLaneBed()
    await it.put('hook/0', 'bad@1', ...numbered('good', 30), 'bad@2')
    await it.put('hook/1', ...numbered('other', 30))
    let mended = false
    const sink = scriptedSink(({ event }) => (event.name === 'bad' && !mended ? answer : DELIVERED))
    const lanes = it.work({ hook: sink })
    lanes.wake(['hook/0', 'hook/1'])
    const taken = (name: string) => sink.took.filter((it) => it.startsWith(name))
    await waitFor(() => taken('good').length === 30 && taken('other').length === 30, {
      what: () => `the others to pass; passed: ${sink.took.length}`,
    })
    expect(taken('good')).toEqual(numbered('good', 30))
    const trickle = it.trickle(lanes)
    await waitFor(() => lanes.statuses()[0]?.healthy, { what: 'the sink to count as healthy' })
    mended = true
    await trickle.stop()
    await it.drained('hook')
    expect(taken('bad')).toEqual(['bad@1', 'bad@2'])
  },
)

test.concurrent('one event that is refused as a whole sink would be is given up as any other', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', 'bad@1', ...numbered('good', 3))
  const sink = scriptedSink(({ event }) => (event.name === 'bad' ? DOWN : DELIVERED))
  const lanes = it.work({ hook: sink }, { maxTries: 2 })
  lanes.wake(['hook/0'])
  const trickle = it.trickle(lanes)
  await waitFor(async () => (await it.redis.xlen(it.keys.deadLetters)) === 1, {
    timeoutMs: 25_000,
    what: 'the dead letter',
  })
  await trickle.stop()
  const [letter] = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  expect(letter?.detail).toMatch(/^failed 2 times while others succeeded/)
})

test.concurrent('what was quarantined goes with the others again once it passed', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', 'bad@1', ...numbered('good', 5))
  let mended = false
  const sizes: number[] = []
  const sink = scriptedSink(({ event }) => (event.name === 'bad' && !mended ? ODD : DELIVERED))
  const counting: Sink = {
    deliver(batch, signal) {
      sizes.push(batch.length)
      return sink.deliver(batch, signal)
    },
    close: () => sink.close(),
  }
  const lanes = it.work({ hook: counting }, { joins: true })
  lanes.wake(['hook/0'])
  await waitFor(() => sink.took.length === 5, { what: 'the good ones' })
  mended = true
  await it.drained('hook')
  sizes.length = 0
  await it.put('hook/0', ...numbered('bad', 20), ...numbered('good', 20))
  lanes.wake(['hook/0'])
  await it.drained('hook')
  expect(sizes.toSorted((a, b) => b - a)[0]).toBeGreaterThan(20)
})

test.concurrent('what expires is given up once, whatever was tried in which order, and the ledger balances', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', 'a@1', 'b@1', 'c@1', 'd@1', 'e@1', 'f@1')
  let up = false
  const sink = scriptedSink(() => (up ? DELIVERED : DOWN))
  it.work({ hook: sink }, { maxAgeMs: 1_000 }).wake(['hook/0'])
  await waitFor(async () => (await it.redis.xlen(it.keys.deadLetters)) > 0, { what: 'the first to expire' })
  up = true
  await it.drained('hook')
  const { sinks, balanced } = await it.ledger()
  expect(balanced).toBe(true)
  expect(sinks['hook']).toMatchObject({ enqueued: 6, pending: 0 })
  const letters = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  const ids = [...letters.map(({ delivery }) => `${delivery?.event.name}@1`), ...sink.took]
  expect(ids.toSorted()).toEqual(['a@1', 'b@1', 'c@1', 'd@1', 'e@1', 'f@1'])
})

test.concurrent('a lane whose head is full of one failing object goes on behind it', async () => {
  await using it = await startLaneBed()
  for (let i = 1; i <= 12; i++) await it.put('hook/0', `bad@${i}`)
  await it.put('hook/0', 'good@1')
  let mended = false
  const sink = scriptedSink(({ event }) => (event.name === 'bad' && !mended ? ODD : DELIVERED))
  const lanes = it.work({ hook: sink })
  const trickle = it.trickle(lanes)
  lanes.wake(['hook/0'])
  await waitFor(() => sink.took.includes('good@1'), { what: 'the one behind' })
  mended = true
  await trickle.stop()
  await it.drained('hook')
  const letters = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  const given = letters.map(({ delivery }) => Number(delivery?.event.resourceVersion))
  const took = sink.took.filter((name) => name.startsWith('bad')).map((name) => Number(name.split('@')[1]))
  expect([...given, ...took].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1))
  expect(took).toEqual(took.toSorted((a, b) => a - b))
})

test.concurrent('a sink that hangs stops no other, also where two processes share the lanes', async () => {
  await using it = await startLaneBed()
  let hung = 0
  const hang: Sink = {
    deliver: () => {
      hung++
      return new Promise(() => {})
    },
    async close() {},
  }
  const good = scriptedSink(() => DELIVERED)
  const first = it.work({ hang, good })
  it.work({ hang, good })
  const hanging = Array.from({ length: 16 }, (_, i) => `hang/${i}`)
  for (const lane of hanging) await it.put(lane, `${lane.replace('/', '')}@1`)
  first.wake(hanging)
  await waitFor(() => hung === 16, { what: 'all hanging lanes to be under way' })
  await it.put('good/0', 'g@1')
  first.wake(['good/0'])
  await waitFor(() => good.took.length === 1, { what: 'the other sink’s delivery' })
})

test.concurrent('a failure long ago is not part of an outage: nobody tried meanwhile', async () => {
  await using it = await startLaneBed()
  const old = new Date(Date.now() - 2 * 86_400_000)
  await it.putAt('hook/0', old, 'a@1', 'b@1', 'c@1')
  await it.redis.hset(it.keys.outages, 'hook', `${old.getTime()},${old.getTime()}`)
  let calls = 0
  const sink = scriptedSink(() => (++calls <= 3 ? DOWN : DELIVERED))
  it.work({ hook: sink }).wake(['hook/0'])
  await it.drained('hook')
  expect(sink.took.toSorted()).toEqual(['a@1', 'b@1', 'c@1'])
  await waitFor(async () => (await it.redis.hlen(it.keys.outages)) === 0, { what: 'the end of the outage' })
})

test.concurrent('a machine that slept while a failing sink was asked gives nothing up', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', ...numbered('a', 3))
  let sleptMs = 0
  const clock = { now: () => Date.now() + sleptMs }
  const sink = scriptedSink(() => {
    if (sink.calls === 2) sleptMs = 2 * 86_400_000
    return sink.calls > 3 ? DELIVERED : DOWN
  })
  it.work({ hook: sink }, { clock }).wake(['hook/0'])
  await it.drained('hook')
  expect((await it.ledger()).sinks['hook']).toMatchObject({ delivered: 3, dead: 0 })
})

test.concurrent('an object that was made again during an outage does not overtake its end: sinks may order by name', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', 'web@1')
  let up = false
  const sink = scriptedSink(() => (up ? DELIVERED : DOWN))
  const lanes = it.work({ hook: sink })
  lanes.wake(['hook/0'])
  await waitFor(() => lanes.statuses()[0]?.healthy === false, { what: 'the first to fail' })
  up = true
  await it.put('hook/0', 'web@2~again')
  await it.drained('hook')
  expect(sink.took).toEqual(['web@1', 'web@2'])
})

test.concurrent.each([
  ['of the event', ODD],
  ['of the sink', DOWN],
] as const)(
  'many objects of one namespace that the sink does not take hold up no others, where the failure is %s',
  async (_, failure) => {
    await using it = await startLaneBed()
    // An object of another namespace can fail, too.
    let lapses = 1
    const sink = scriptedSink(({ event: { name, namespace } }) => {
      if (namespace === 'shop' && name === 'good1' && lapses-- > 0) return failure
      return namespace === 'noisy' ? failure : DELIVERED
    })
    const lanes = it.work({ hook: sink }, { minFailingMs: 600_000 })
    const names = Array.from({ length: 16 }, (_, i) => `hook/${i}`)
    let [bad, good] = [0, 0]
    async function flood(): Promise<void> {
      for (const lane of names) await it.put(lane, `noisy|bad${bad++}@1`, `noisy|bad${bad++}@1`)
      lanes.wake(names)
    }
    const startedMs = performance.now()
    const isLong = async () => {
      await flood()
      return performance.now() - startedMs > 4_000
    }
    await waitFor(isLong, { what: 'pauses that have grown', everyMs: 100 })
    while (good < 5) {
      const lane = `hook/${(good * 7) % 16}`
      const name = `good${good++}@1`
      await it.put(lane, `shop|${name}${good % 2 === 0 ? '#group' : ''}`)
      lanes.wake([lane])
      const took = async () => {
        await flood()
        return sink.took.includes(name)
      }
      await waitFor(took, { what: name, everyMs: 100 })
    }
  },
)

test.concurrent('what was passed over while a sink failed is delivered in the order of each object', async () => {
  await using it = await startLaneBed()
  let mended = false
  const sink = scriptedSink(({ event }) => (event.namespace === 'noisy' && !mended ? DOWN : DELIVERED))
  const versions = Array.from({ length: 6 }, (_, i) => i + 1)
  for (const version of versions)
    for (let i = 0; i < 60; i++) await it.put('hook/0', `noisy|bad${i}@${version}`)
  await it.put('hook/0', 'shop|good@1')
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000 })
  lanes.wake(['hook/0'])
  await waitFor(() => sink.took.includes('good@1'), { what: 'the one behind' })
  for (let i = 0; i < 60; i++) await it.put('hook/0', `noisy|bad${i}@7`)
  lanes.wake(['hook/0'])
  mended = true
  await it.drained('hook')
  const took = Map.groupBy(sink.took, (it) => it.split('@')[0])
  for (let i = 0; i < 60; i++)
    expect(took.get(`bad${i}`)).toEqual([...versions, 7].map((version) => `bad${i}@${version}`))
})
