import { expect, test } from 'vitest'
import type { Item } from '../../src/store/lanes/lane-entries.ts'
import { LaneEntries } from '../../src/store/lanes/lane-entries.ts'

const itemAt = (place: number) => ({ entryId: '1-0', place }) as Item
const read = (acked: number[] = []) => ({
  ...{ id: '1-0', count: 3, acked: new Set(acked), unreadable: [] },
  items: [0, 1, 2].filter((place) => !acked.includes(place)).map(itemAt),
})

test('an entry is known until all of its acknowledgements are durable: read again, it brings nothing a second time', () => {
  const entries = new LaneEntries()
  expect(entries.take(read()).items).toHaveLength(3)
  const first = entries.delivered([itemAt(0)])
  const others = entries.delivered([itemAt(1), itemAt(2)])
  expect(entries.end(first)).toEqual([])
  // What waits for its acknowledgement needs no other one.
  expect(entries.take(read([0]))).toMatchObject({ items: [], isSettled: false })
  expect(entries.end(others)).toEqual(['1-0'])
  expect(entries.size).toBe(0)
})

test('what was acknowledged before the entry was read counts', () => {
  expect(new LaneEntries().take(read([0, 1, 2])).isSettled).toBe(true)
  const entries = new LaneEntries()
  entries.take(read([1]))
  expect(entries.end(entries.delivered([itemAt(0), itemAt(2)]))).toEqual(['1-0'])
})

test('a delivery that leaves its lane by itself is asked about and not given up', () => {
  const entries = new LaneEntries()
  const [first, second, third] = entries.take(read()).items as [Item, Item, Item]
  entries.delivered([first])
  const claimed = (passes: boolean) => {
    const asked: [number, boolean][] = []
    const isSelected = ({ place }: Item, isLeaving: boolean) => asked.push([place, isLeaving]) > 0
    const { held, fresh } = entries.claim([read()], [third], isSelected, { passes })
    return { asked, claimed: [...held, ...fresh] }
  }
  // The second one is in flight.
  expect(second.place).toBe(1)
  expect(claimed(true)).toEqual({
    asked: [
      [0, true],
      [1, true],
      [2, false],
    ],
    claimed: [third],
  })
  expect(claimed(false).asked[1]).toEqual([1, false])
  expect(claimed(false).claimed).toEqual([third])
})

test('after Redis went back an entry is known as long as something of it is in memory or to be acknowledged', () => {
  const entries = new LaneEntries()
  const [first, second, third] = entries.take(read()).items as [Item, Item, Item]
  const acks = entries.delivered([first])
  entries.forget([third])
  const known = () => {
    entries.forgetAcknowledged()
    return entries.size
  }
  expect(known()).toBe(1)
  entries.forget([second])
  expect(known()).toBe(1)
  entries.end(acks)
  expect(known()).toBe(0)
})
