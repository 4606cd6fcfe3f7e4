import { expect, test } from 'vitest'
import { FencedError } from '../../src/model/change.ts'
import { ApiFault, faultOf } from '../../src/watch/client/api-fault.ts'
import { afterEnd, afterFault, type History, NO_HISTORY } from '../../src/watch/reflector/retry-policy.ts'
import { DEFAULT_TIMING } from '../../src/watch/reflector/timing.ts'
import { configMap, failure } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

const half = () => 0.5
const answer = (status: number, retryAfter?: string) =>
  faultOf({
    status,
    headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
    body: Buffer.from('{}'),
  })
const delayOf = (error: unknown, history: History = NO_HISTORY, random = half) =>
  afterFault(error, history, DEFAULT_TIMING, random).delayMs

test('case 33: Retry-After is waited out with something more, so that not all come back together', () => {
  expect(delayOf(answer(429, '5'), NO_HISTORY, () => 0.1)).toBeGreaterThan(5_000)
  expect(delayOf(answer(429, '5'), NO_HISTORY, () => 0.9)).toBeGreaterThan(
    delayOf(answer(429, '5'), NO_HISTORY, () => 0.1),
  )
})

test('a Retry-After of nothing is no hot loop, and one of a year is no farewell', () => {
  for (const odd of ['0', '', 'soon', '-1']) expect(delayOf(answer(503, odd))).toBeGreaterThan(0)
  expect(delayOf(answer(503, '31536000'))).toBeLessThan(400_000)
})

test('case 33: a server that is too busy is asked nothing besides', () => {
  expect(afterFault(answer(429), NO_HISTORY, DEFAULT_TIMING, half).verify).toBeUndefined()
  expect(afterFault(answer(500), NO_HISTORY, DEFAULT_TIMING, half).verify).toBe(true)
})

test('case 41: two that take a source from each other do so ever more slowly, whatever they commit in between', () => {
  let history = NO_HISTORY
  const delays: number[] = []
  for (let i = 0; i < 6; i++) {
    const step = afterFault(new FencedError('taken'), history, DEFAULT_TIMING, half)
    delays.push(step.delayMs)
    history = { ...NO_HISTORY, fences: step.history.fences }
  }
  expect(delays).toEqual(delays.toSorted((a, b) => a - b))
  expect(delays.at(-1)).toBeGreaterThan(10 * (delays[0] ?? 0))
})

test('other faults in between do not end the count of processes that take a source from each other', () => {
  const history = { ...NO_HISTORY, fences: 4 }
  for (const error of [answer(500), answer(410), new Error('ECONNRESET')])
    expect(afterFault(error, history, DEFAULT_TIMING, half).history.fences).toBe(4)
})

test('an error of this program does not count as one of the network', () => {
  const coded = Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' })
  for (const [error, cause] of [
    [new Error('socket hang up'), 'network'],
    [coded, 'network'],
    [new TypeError('undefined is not iterable'), 'internal'],
  ] as const)
    expect(afterFault(error, NO_HISTORY, DEFAULT_TIMING, half).cause).toBe(cause)
})

test('a first 401 reads the credentials and asks again without a pause, a second one pauses', () => {
  const first = afterFault(answer(401), NO_HISTORY, DEFAULT_TIMING, half)
  expect(first).toMatchObject({ delayMs: 0, refresh: true })
  const second = afterFault(answer(401), first.history, DEFAULT_TIMING, half)
  expect(second.refresh).toBe(true)
  expect(second.delayMs).toBeGreaterThan(0)
})

test('of watches that end without an event the second, fourth and eighth lead to a list, with growing pauses', () => {
  let history = NO_HISTORY
  const relists: number[] = []
  const delays: number[] = []
  for (let i = 1; i <= 9; i++) {
    const step = afterEnd({ livedMs: 0, silent: true }, history, DEFAULT_TIMING, half)
    if (step.relist) relists.push(i)
    delays.push(step.delayMs)
    history = step.history
  }
  expect(relists).toEqual([2, 4, 8])
  expect(delays).toEqual(delays.toSorted((a, b) => a - b))
  const busy = afterEnd({ livedMs: 0, silent: false }, history, DEFAULT_TIMING, half)
  expect(busy.history).toEqual(NO_HISTORY)
})

test('the error of an API answer says code, reason and message', () => {
  expect(new ApiFault({ code: 403, reason: 'Forbidden', message: 'no', causes: [] }).message).toBe(
    '403 Forbidden: no',
  )
})

test('a watch is ready when the server has accepted it, not before, and again after a refusal was lifted', async () => {
  let forbidden = true
  await using it = await startWatchBed({
    objects: [configMap('a', 5)],
    prepare(api) {
      api.intercept = ({ isWatch, query }, response) => {
        if (!forbidden || !isWatch || query.has('sendInitialEvents')) return false
        response.writeHead(403).end(JSON.stringify(failure(403, 'Forbidden')))
        return true
      }
    },
  })
  const failing = () => it.statuses().some(({ phase, ready }) => phase === 'failing' && !ready)
  await waitFor(failing, { what: 'the refusal to be told' })
  forbidden = false
  await waitFor(() => it.statuses().some(({ ready }) => ready), { what: 'the watch to be ready' })
  expect(it.statuses()[0]).not.toHaveProperty('lastError')
})
