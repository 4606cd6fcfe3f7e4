import { expect, test } from 'vitest'
import { holderOf, MEMBER, purposeOf, wantsOf, watchLeaseName } from '../../../src/watch/leases/lease.ts'
import { waitFor } from '../../wait-for.ts'
import { GROUP, startLeaseBed } from './lease-bed.ts'

const HOUR_MS = 3_600_000
const SOURCES = Array.from({ length: 6 }, (_, i) => ({
  key: `configmaps#${i}`,
  title: `configmaps in shop-${i}`,
}))

type Source = (typeof SOURCES)[number]
type Process = ReturnType<Awaited<ReturnType<typeof startLeaseBed>>['start']>

const running = (process: Process) => process.runs.filter(({ signal }) => !signal.aborted).length

function shares(...processes: Process[]): (...counts: number[]) => Promise<unknown> {
  return (...counts) =>
    waitFor(() => processes.every((it, i) => running(it) === counts[i]), {
      what: () => `${counts}; it is ${processes.map(running)}`,
    })
}

test('processes whose clocks are hours apart share, take over and give back, and never run one watch twice', async () => {
  await using bed = await startLeaseBed()
  const one = bed.start('one', { wallMs: 5 * HOUR_MS })
  const two = bed.start('two', { wallMs: -5 * HOUR_MS })
  for (const source of SOURCES) one.watch(source)
  for (const source of SOURCES) two.watch(source)
  await shares(one, two)(3, 3)
  const three = bed.start('three')
  for (const source of SOURCES) three.watch(source)
  await shares(one, two, three)(2, 2, 2)
  await two.stop()
  await shares(one, three)(3, 3)
  await one.stop()
  await shares(three)(6)
  expect(bed.holders()).toEqual(Array(6).fill('three'))
})

test('a clean stop leaves every lease free, and nothing of the process', async () => {
  await using bed = await startLeaseBed()
  const one = bed.start('one')
  for (const source of SOURCES) one.watch(source)
  await shares(one)(6)
  await one.stop()
  expect(bed.watches().map(({ spec }) => [spec?.holderIdentity, spec?.leaseDurationSeconds])).toEqual(
    Array(6).fill(['', 1]),
  )
  expect(bed.server.leases.size).toBe(6)
})

test('who has nothing to do with a watch gets none of it, and what nobody else wants is not given away', async () => {
  await using bed = await startLeaseBed()
  const [first, ...others] = SOURCES
  const one = bed.start('one')
  const two = bed.start('two')
  for (const source of SOURCES) one.watch(source)
  await shares(one)(6)
  two.watch(first)
  await shares(one, two)(5, 1)
  expect(others).toHaveLength(5)
})

test('processes of the same name that write to different queues share nothing: each of them works on every watch', async () => {
  await using bed = await startLeaseBed()
  const one = bed.start('one', { store: 'one' })
  const two = bed.start('two', { store: 'two' })
  for (const source of SOURCES) one.watch(source)
  for (const source of SOURCES) two.watch(source)
  await shares(one, two)(6, 6)
  expect(bed.watches()).toHaveLength(12)
})

test('a process that Redis does not answer leaves to others what they can do, keeps the rest, and gets its share back', async () => {
  await using bed = await startLeaseBed()
  let silentMs = 0
  const one = bed.start('one', { silentMs: () => silentMs })
  const two = bed.start('two')
  const [last, ...both] = SOURCES
  for (const source of SOURCES) one.watch(source)
  for (const source of both) two.watch(source)
  await shares(one, two)(3, 3)
  silentMs = 60_000
  await shares(one, two)(1, 5)
  expect(bed.watches().find((it) => holderOf(it) === 'one')?.metadata.name).toBe(
    watchLeaseName(GROUP, last as Source),
  )
  silentMs = 0
  await shares(one, two)(3, 3)
})

test('when Redis answers nobody each keeps what it has', async () => {
  await using bed = await startLeaseBed()
  let silentMs = 0
  // A loaded machine can be late by seconds, and a lease that is lost and taken again is one more run.
  const timing = { durationMs: 30_000, renewDeadlineMs: 20_000 }
  const options = { silentMs: () => silentMs, timing }
  const one = bed.start('one', options)
  const two = bed.start('two', options)
  for (const source of SOURCES) one.watch(source)
  for (const source of SOURCES) two.watch(source)
  await shares(one, two)(3, 3)
  // So long that all say so, and then that each would act.
  silentMs = timing.durationMs
  const members = () => [...bed.server.leases.values()].filter((it) => purposeOf(it) === MEMBER)
  await waitFor(() => members().every((it) => wantsOf(it).size === 0), { what: 'both to say so' })
  const looks = () =>
    bed.server.requests.filter(({ method, path }) => method === 'GET' && path.endsWith('/leases')).length
  const looked = (more: number) => {
    const until = looks() + more
    return waitFor(() => looks() >= until, { what: 'looks at the leases' })
  }
  // Each has seen that the other says so: in between lies the duration of a lease.
  await looked(6)
  silentMs = 20 * timing.durationMs
  const runs = [one, two].map((it) => it.runs.length)
  await looked(20)
  expect([one, two].map((it) => it.runs.length)).toEqual(runs)
  expect([running(one), running(two)]).toEqual([3, 3])
})

test('an API server that was away for longer than a lease changes nothing of who has what', async () => {
  await using bed = await startLeaseBed()
  const one = bed.start('one')
  const two = bed.start('two')
  for (const source of SOURCES) one.watch(source)
  for (const source of SOURCES) two.watch(source)
  await shares(one, two)(3, 3)
  const before = bed.watches().map(({ metadata, spec }) => [metadata.name, spec?.holderIdentity])
  let asked = 0
  bed.server.fault = ({ applied }, response) => {
    if (applied) return false
    asked++
    response.destroy()
    return true
  }
  await shares(one, two)(0, 0)
  const sinceMs = performance.now()
  await waitFor(() => performance.now() - sinceMs > 1_000 && asked > 10, { what: 'more than the duration' })
  bed.server.fault = undefined
  await shares(one, two)(3, 3)
  expect(bed.watches().map(({ metadata, spec }) => [metadata.name, spec?.holderIdentity])).toEqual(before)
})

/** Of a hundred leases that are renewed each second: what became due while the machine did something else comes together. */
const dueIn = (pausedMs: number) => Math.ceil(pausedMs / 10)

/** Notes when this process could not run. */
function notePauses() {
  const pauses: { endMs: number; ms: number }[] = []
  let lastMs = performance.now()
  const timer = setInterval(() => {
    const endMs = performance.now()
    if (endMs - lastMs > 20) pauses.push({ endMs, ms: endMs - lastMs })
    lastMs = endMs
  }, 5)
  return {
    /** Of the pauses that ended in this time, in milliseconds. */
    longestMs: (fromMs = 0, toMs = Number.POSITIVE_INFINITY) =>
      Math.max(0, ...pauses.flatMap(({ endMs, ms }) => (endMs >= fromMs && endMs <= toMs ? ms : []))),
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

test('a hundred watches are neither taken nor renewed all at once', async () => {
  await using bed = await startLeaseBed()
  using pauses = notePauses()
  // Requests that are under way at the same time are seen as such.
  bed.server.delayMs = 20
  const one = bed.start('one', {
    timing: { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 1_000, pollMs: 500 },
  })
  for (let i = 0; i < 100; i++) one.watch({ key: `configmaps#${i}`, title: `configmaps in shop-${i}` })
  await shares(one)(100)
  // Eight at a time, the process's own lease, and whatever is renewed already.
  expect(bed.server.busiest).toBeLessThan(25 + dueIn(pauses.longestMs()))
  const sinceMs = performance.now()
  const renewals = () => bed.server.requests.filter(({ method, atMs }) => method === 'PUT' && atMs > sinceMs)
  await waitFor(() => renewals().length >= 200, { what: 'renewals' })
  const times = renewals().map(({ atMs }) => atMs)
  const inTheNext = (fromMs: number) => times.filter((it) => it >= fromMs && it < fromMs + 100).length
  for (const fromMs of times) {
    const pausedMs = pauses.longestMs(fromMs - 100, fromMs + 100)
    expect(inTheNext(fromMs)).toBeLessThan(50 + dueIn(pausedMs))
  }
  expect(new Set(bed.holders())).toEqual(new Set(['one']))
})
