import { expect, test } from 'vitest'
import { costOf, createByteBudget, defaultBudget } from '../../src/store/lanes/byte-budget.ts'

/** Lets go of what waits only for a promise. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** The order in which takers get their room. */
function taking(budget: ReturnType<typeof createByteBudget>) {
  const got: string[] = []
  return {
    got,
    take: (sink: string, bytes: number, name = `${sink} ${bytes}`) =>
      void budget.take(sink, bytes).then(() => got.push(name)),
  }
}

test('each sink has an equal share, and no more than all is used', () => {
  const budget = createByteBudget(100, () => 2)
  expect([budget.tryTake('a', 30), budget.tryTake('a', 20), budget.tryTake('a', 1)]).toEqual([
    true,
    true,
    false,
  ])
  expect([budget.tryTake('b', 50), budget.tryTake('b', 1)]).toEqual([true, false])
  expect(budget.used()).toBe(100)
  budget.give('a', 20)
  expect([budget.tryTake('b', 1), budget.tryTake('a', 21), budget.tryTake('a', 20)]).toEqual([
    false,
    false,
    true,
  ])
})

test('the shares follow the number of sinks', () => {
  let sinks = 1
  const budget = createByteBudget(100, () => sinks)
  expect(budget.tryTake('a', 60)).toBe(true)
  sinks = 2
  expect(budget.tryTake('a', 1)).toBe(false)
  expect(budget.tryTake('b', 40)).toBe(true)
})

test('a sink gets its share whatever larger ones others have in memory', () => {
  const budget = createByteBudget(100, () => 4)
  for (const sink of ['a', 'b', 'c']) expect(budget.tryTake(sink, 40)).toBe(true)
  expect([budget.tryTake('d', 10), budget.tryTake('d', 10), budget.tryTake('d', 10)]).toEqual([
    true,
    true,
    false,
  ])
})

test('what is larger than the share passes alone', async () => {
  const budget = createByteBudget(100, () => 2)
  const { got, take } = taking(budget)
  take('a', 500)
  take('a', 1)
  await settled()
  expect(got).toEqual(['a 500'])
  budget.give('a', 500)
  await settled()
  expect(got).toEqual(['a 500', 'a 1'])
  expect(budget.used()).toBe(1)
})

test('what is larger than half of the share passes with as much as half of it in use', () => {
  const budget = createByteBudget(100, () => 1)
  expect([budget.tryTake('a', 50), budget.tryTake('a', 500), budget.tryTake('a', 1)]).toEqual([
    true,
    true,
    false,
  ])
  budget.give('a', 500)
  expect([budget.tryTake('a', 1), budget.tryTake('a', 500)]).toEqual([true, false])
})

test('who waits gets room in the order of asking, and nobody else overtakes', async () => {
  const budget = createByteBudget(100, () => 1)
  const { got, take } = taking(budget)
  expect(budget.tryTake('a', 90)).toBe(true)
  take('a', 50, 'first')
  take('a', 5, 'second')
  await settled()
  expect(got).toEqual([])
  expect(budget.tryTake('a', 5)).toBe(false)
  budget.give('a', 40)
  await settled()
  expect(got).toEqual(['first'])
  budget.give('a', 50)
  await settled()
  expect(got).toEqual(['first', 'second'])
})

test('a sink that waits holds up no other', async () => {
  const budget = createByteBudget(100, () => 2)
  const { got, take } = taking(budget)
  expect([budget.tryTake('a', 50), budget.tryTake('b', 20)]).toEqual([true, true])
  take('a', 10)
  take('b', 30)
  await settled()
  expect(got).toEqual(['b 30'])
  budget.give('a', 10)
  await settled()
  expect(got).toEqual(['b 30', 'a 10'])
})

test('what is here already counts, whether there is room or not', () => {
  const budget = createByteBudget(100, () => 1)
  budget.add('a', 150)
  expect(budget.tryTake('a', 1)).toBe(false)
  budget.give('a', 60)
  expect(budget.used()).toBe(90)
  expect([budget.tryTake('a', 11), budget.tryTake('a', 10)]).toEqual([false, true])
})

test('a delivery counts its copies; the default is a part of the memory', () => {
  const [none, some] = [Buffer.alloc(0), Buffer.alloc(1_000)].map((objectJson) => costOf({ objectJson }))
  expect(none).toBeGreaterThan(0)
  expect((some as number) - (none as number)).toBe(4_000)
  const budget = defaultBudget()
  expect(Number.isInteger(budget)).toBe(true)
  expect(budget).toBeGreaterThan(2 ** 20)
})
