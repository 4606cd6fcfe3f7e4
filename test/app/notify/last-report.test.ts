import { expect, test } from 'vitest'
import { markOfFailure, markOfRecovery, ONCE_MS, quietMs } from '../../../src/app/notify/last-report.ts'

const MINUTE = 60_000

test('a failure that lasts is reported once, and one that comes again after its recovery is reported again', () => {
  const failed = markOfFailure(null) as string
  expect(markOfFailure(failed)).toBeUndefined()
  expect(markOfFailure(markOfRecovery(failed))).toEqual(expect.any(String))
})

test('a recovery has to hold for twice as long with each failure, up to an hour', () => {
  const quiet: number[] = []
  for (let last: string | null = null; quiet.length < 9; last = markOfRecovery(last)) {
    last = markOfFailure(last) as string
    quiet.push(quietMs(last) / MINUTE)
  }
  expect(quiet).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
})

test('what fails again as soon as its recovery is reported causes a dozen reports an hour at most', () => {
  const reports: number[] = []
  let mark: { text: string; atMs: number } | undefined
  const last = (nowMs: number) => (mark && nowMs - mark.atMs < ONCE_MS ? mark.text : null)
  for (let nowMs = 0; nowMs < 24 * ONCE_MS; ) {
    nowMs += MINUTE
    const text = markOfFailure(last(nowMs)) as string
    mark = { text, atMs: nowMs }
    reports.push(nowMs)
    nowMs += quietMs(text)
    mark = { text: markOfRecovery(last(nowMs)), atMs: nowMs }
    reports.push(nowMs)
  }
  const inHourOf = (fromMs: number) => reports.filter((ms) => ms >= fromMs && ms < fromMs + ONCE_MS).length
  expect(Math.max(...reports.map(inHourOf))).toBeLessThanOrEqual(12)
})
