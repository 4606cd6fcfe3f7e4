import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { QueueStatus } from '../../src/model/status.ts'
import { silentLog } from '../../src/observe/log.ts'
import { BoundReport } from '../../src/store/bounds/bound-report.ts'

const BOUNDS = { maxAgeMs: 1_000, maxBytes: 1_000 }
const MINUTE_MS = 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date'] }))
afterEach(() => void vi.useRealTimers())

function startReport() {
  const lines: object[] = []
  const published: QueueStatus[] = []
  const report = new BoundReport<'expired' | 'queue-full'>({
    log: { ...silentLog, warn: (fields) => void lines.push(fields) },
    clock: { now: () => Date.now() },
    publish: (status) => void published.push(status),
    soon: () => 'soon',
    removed: (reason) => ({ message: 'removed', fields: { reason } }),
  })
  const grow = (...sizes: number[]) => {
    for (const bytes of sizes) {
      report.measured(bytes, BOUNDS)
      vi.advanceTimersByTime(MINUTE_MS)
    }
  }
  return { report, lines, published, grow }
}

test('the status and the gauges have the last measurement, and when the bound is reached', () => {
  const { report, published, grow } = startReport()
  expect(report.status).toBeUndefined()
  grow(200, 300)
  expect(report.status).toEqual({ ...BOUNDS, bytes: 300, reachedMs: 7 * MINUTE_MS })
  expect(published.map(({ bytes }) => bytes)).toEqual([200, 300])
  grow(1_000)
  expect(report.status).toMatchObject({ bytes: 1_000, reachedMs: 0 })
})

test('a bound that comes near is warned of once, and again after it was far', () => {
  const { lines, grow } = startReport()
  grow(200, 300, 400)
  expect(lines).toEqual([{ bytes: 300, maxBytes: 1_000, inMinutes: 7 }])
  grow(50, 1_000, 1_000)
  expect(lines).toHaveLength(2)
})

test('what was removed is logged at most once a minute, with all that came since', () => {
  const { report, lines } = startReport()
  report.logRemoved(900)
  expect(lines).toEqual([])
  report.count('expired', 1)
  report.logRemoved(900)
  report.count('expired', 2)
  report.count('queue-full', 3)
  report.count('expired', 4)
  vi.advanceTimersByTime(MINUTE_MS - 1)
  report.logRemoved(800)
  expect(lines).toEqual([{ reason: 'expired', deliveries: 1, bytes: 900 }])
  vi.advanceTimersByTime(1)
  report.logRemoved(700)
  report.logRemoved(700)
  expect(lines.slice(1)).toEqual([
    { reason: 'expired', deliveries: 6, bytes: 700 },
    { reason: 'queue-full', deliveries: 3, bytes: 700 },
  ])
})
