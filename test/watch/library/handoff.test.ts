import { expect, test } from 'vitest'
import { Handoff } from '../../../src/watch/library/handoff.ts'

const never = new AbortController().signal

function* logged(items: readonly string[], log: string[]): Generator<string, void> {
  for (const item of items) {
    yield item
    log.push(item)
  }
}

test('producers take turns, each in its order, and wait until their last item is processed', async () => {
  const handoff = new Handoff<string>()
  const processed: string[] = []
  const ended: string[] = []
  void handoff.offer(logged(['a1', 'a2', 'a3'], processed), never).then(() => ended.push('a'))
  void handoff.offer(logged(['b1'], processed), never).then(() => ended.push('b'))
  expect(await handoff.next()).toBe('a1')
  expect(processed).toEqual([])
  expect(await handoff.next()).toBe('b1')
  expect(processed).toEqual(['a1'])
  expect(await handoff.next()).toBe('a2')
  expect(await handoff.next()).toBe('a3')
  await Promise.resolve()
  expect(ended).toEqual(['b'])
  handoff.end()
  expect(await handoff.next()).toBeUndefined()
  expect(processed).toEqual(['a1', 'b1', 'a2', 'a3'])
})

test('a producer whose signal is aborted hands over nothing more; the item that was taken can still be confirmed', async () => {
  const handoff = new Handoff<string>()
  const processed: string[] = []
  const stop = new AbortController()
  const offered = handoff.offer(logged(['a1', 'a2'], processed), stop.signal)
  expect(await handoff.next()).toBe('a1')
  stop.abort(new Error('stopped'))
  await expect(offered).rejects.toThrow('stopped')
  void handoff.offer(logged(['b1'], processed), never)
  expect(await handoff.next()).toBe('b1')
  expect(processed).toEqual(['a1'])
})

test('an error of a producer reaches the producer alone', async () => {
  const handoff = new Handoff<string>()
  const failing = (function* (): Generator<string, void> {
    yield 'a1'
    throw new Error('wrong')
  })()
  const offered = expect(handoff.offer(failing, never)).rejects.toThrow('wrong')
  void handoff.offer(['b1'].values(), never)
  expect(await handoff.next()).toBe('a1')
  expect(await handoff.next()).toBe('b1')
  await offered
})
