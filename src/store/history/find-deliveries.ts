import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import type { HistoryRecord } from '../../model/history-record.ts'
import { TimeSlice } from '../../text/yielding.ts'
import { isQuarantine, type Keys, sinkOf } from '../keys.ts'
import { listDeadLetters, type StoredDeadLetter } from '../lanes/dead-letters.ts'
import { PageSize } from '../lanes/page-size.ts'
import { readLane } from '../lanes/read-lane.ts'
import { lanesIn } from '../lanes/register.ts'
import { readHash } from '../redis/scan.ts'
import { eventIdOf, type HistoryTarget, isAboutTarget, isOf, type Sent } from './history-target.ts'
import { type HistoryBounds, readHistoryPage } from './read-history.ts'

/** A delivery, for the most part without its object, which is large and not needed to find it. */
export type FoundDelivery = Omit<Delivery, 'objectJson'> & Partial<Pick<Delivery, 'objectJson'>>

/** A delivery in its lane. */
export interface WaitingDelivery {
  sink: string
  lane: string
  delivery: FoundDelivery
  /** Its object fails while others succeed. */
  isQuarantined: boolean
}

interface WaitingBounds {
  /** Maximum number of deliveries that are read. */
  most?: number
  /** Time limit of the search. */
  withinMs?: number
  /** Maximum number of found deliveries that keep their object. Default: 0. */
  objects?: number
}

/** Entries of one read, at most: each has up to 60 deliveries. */
const MOST_ENTRIES = 16
const MOST = 50_000

/** Returns the deliveries that wait and are wanted; `isComplete` is false if more wait than are looked at. */
export async function findWaiting(
  { redis, keys }: { redis: Redis; keys: Keys },
  isWanted: (delivery: FoundDelivery) => boolean,
  { most = MOST, withinMs = Number.POSITIVE_INFINITY, objects = 0 }: WaitingBounds = {},
): Promise<{ waiting: WaitingDelivery[]; isComplete: boolean }> {
  const waiting: WaitingDelivery[] = []
  const endMs = performance.now() + withinMs
  const timeSlice = new TimeSlice()
  let left = most
  for (const [lane, count] of lanesIn(await readHash(redis, keys.pending))) {
    if (count <= 0) continue
    const page = new PageSize(MOST_ENTRIES)
    for (let start = '-'; start !== ''; ) {
      if (performance.now() > endMs) return { waiting, isComplete: false }
      const { entries, more } = await readLane(redis, keys, lane, start, page.count)
      const read = entries.flatMap(({ items }) => items)
      for (const { delivery } of read) {
        if (left-- === 0) return { waiting, isComplete: false }
        if (!isWanted(delivery)) continue
        const found = waiting.length < objects ? delivery : withoutObject(delivery)
        waiting.push({ sink: sinkOf(lane), lane, delivery: found, isQuarantined: isQuarantine(lane) })
      }
      page.note(
        entries.length,
        read.reduce((sum, { cost }) => sum + cost, 0),
      )
      const last = entries.at(-1)
      start = more && last ? `(${last.id}` : ''
      if (timeSlice.isDue()) await timeSlice.take()
    }
  }
  return { waiting, isComplete: true }
}

function withoutObject({ objectJson: _, ...header }: Delivery): FoundDelivery {
  return header
}

/** A dead letter without what is large in it. */
export type FoundLetter = Omit<StoredDeadLetter, 'payload' | 'delivery'> & { delivery: FoundDelivery }

/** What is stored of the deliveries of an event, or of an object: how they ended, and where they are. */
export interface FoundDeliveries {
  /** The newest first. */
  records: HistoryRecord[]
  waiting: WaitingDelivery[]
  letters: FoundLetter[]
  /** False if more deliveries wait, more dead letters are kept, or the history has more, than was looked at. */
  isComplete: boolean
}

export interface FindBounds extends WaitingBounds {
  records?: number
  /** Limits of the part of the history that is read. */
  history?: HistoryBounds
  letters?: number
}

/** Older records of an object are of other events. */
const MOST_RECORDS = 1_000
const MOST_LETTERS = 20_000

/** Looks for the deliveries of a target in the history, in the lanes and among the dead letters. */
export async function findDeliveries(
  queue: { redis: Redis; keys: Keys },
  target: HistoryTarget,
  isWanted: (sent: Pick<Sent, 'sink' | 'rule'>) => boolean,
  bounds: FindBounds = {},
): Promise<FoundDeliveries> {
  const isSought = (sent: Sent) => isAboutTarget(target, sent.event) && isWanted(sent)
  const { records, isRead } = await recordsOf(queue, target, bounds)
  const { waiting, isComplete } = await findWaiting(queue, isSought, bounds)
  const letters: FoundLetter[] = []
  const timeSlice = new TimeSlice()
  const endMs = performance.now() + (bounds.withinMs ?? Number.POSITIVE_INFINITY)
  const { letters: most = MOST_LETTERS, objects = 0 } = bounds
  let left = most
  for await (const letter of listDeadLetters(queue.redis, queue.keys)) {
    if (left-- === 0 || performance.now() > endMs) return { records, waiting, letters, isComplete: false }
    const { payload: _, delivery, ...about } = letter
    if (delivery && isSought(delivery))
      letters.push({ ...about, delivery: letters.length < objects ? delivery : withoutObject(delivery) })
    if (timeSlice.isDue()) await timeSlice.take()
  }
  return { records, waiting, letters, isComplete: isComplete && isRead }
}

async function recordsOf(
  { redis, keys }: { redis: Redis; keys: Keys },
  target: HistoryTarget,
  { records: most = MOST_RECORDS, history: bounds }: FindBounds,
): Promise<{ records: HistoryRecord[]; isRead: boolean }> {
  const records: HistoryRecord[] = []
  if (most === 0) return { records, isRead: true }
  for await (const { record } of readHistoryPage(redis, keys, { target, bounds })) {
    if (!record) return { records, isRead: false }
    if (target.id === undefined || isOf(target.id, record)) records.push(record)
    if (records.length === most) break
  }
  return { records, isRead: true }
}

/**
 * The event of a delivery that waits and was observed after the newest record, else that of the newest record or dead letter; with a
 * time at which it had been observed, in Unix milliseconds.
 */
export function newestOf(found: FoundDeliveries): { id: string; atMs: number } | undefined {
  const { records, waiting, letters } = found
  const [record] = records.map(({ event, atMs }) => ({ id: event.id, atMs }))
  const [letter] = letters.map(({ delivery, atMs }) => ({ id: delivery.event.id, atMs }))
  const [newest] = waiting
    .map(({ delivery: { event } }) => ({ id: event.id, atMs: Date.parse(event.time) }))
    .toSorted((a, b) => b.atMs - a.atMs)
  const isNewer = newest && (!record || newest.atMs > record.atMs)
  const it = isNewer ? newest : (record ?? letter)
  return it && { id: eventIdOf(it.id), atMs: it.atMs }
}
