import { getHeapStatistics } from 'node:v8'
import type { Delivery } from '../../model/delivery.ts'

/** Bounds the bytes of deliveries that a process holds in memory: read, decoded, rendered and in flight. */
export interface ByteBudget {
  /**
   * Waits until there is room for so much of this sink. What is larger than half of its share passes when as much as the other half is
   * free: then less that stays in memory does not keep it waiting.
   */
  take(sink: string, bytes: number): Promise<void>
  /** The same without waiting; false when there is no room. */
  tryTake(sink: string, bytes: number): boolean
  /** Counts what is here already, whether there is room or not. */
  add(sink: string, bytes: number): void
  give(sink: string, bytes: number): void
  /** Whether a `take` of the sink waits for room. */
  waits(sink: string): boolean
  /** How long the sink has waited for room, in milliseconds; 0 where it does not. */
  waitsMs(sink: string): number
  /** What one sink may use, in bytes. */
  share(): number
  used(): number
}

/** The part of the memory that deliveries may take. */
const SHARE = 1 / 8
/** What is larger than this part of its share needs no more room. */
const MOST_NEEDED = 1 / 2
/** Copies of the object's JSON in memory: the bytes as read, the message, its body, and the copy on its way to the socket. */
const COPIES = 4
/** Header, chain, message. */
const FIXED_BYTES = 2_048

/** What a delivery counts, in bytes. */
export function costOf({ objectJson, logs }: Pick<Delivery, 'objectJson' | 'logs'>): number {
  return COPIES * (objectJson.length + (logs?.text?.length ?? 0)) + FIXED_BYTES
}

/** A part of the heap's limit, or of the container's where that is smaller, in bytes. */
export function defaultBudget(): number {
  const constrained = process.constrainedMemory()
  const heap = getHeapStatistics().heap_size_limit
  return Math.floor((constrained > 0 ? Math.min(heap, constrained) : heap) * SHARE)
}

/** `sinks` is how many share it: one that hangs keeps its own share alone. */
export function createByteBudget(limit: number, sinks: () => number): ByteBudget {
  let used = 0
  const usedBy = new Map<string, number>()
  let waiting: { sink: string; bytes: number; sinceMs: number; go(): void }[] = []
  const share = () => limit / Math.max(1, sinks())

  const waits = (sink: string) => waiting.some((it) => it.sink === sink)

  function hasRoom(sink: string, bytes: number): boolean {
    const own = usedBy.get(sink) ?? 0
    return own === 0 || own + Math.min(bytes, share() * MOST_NEEDED) <= share()
  }

  function add(sink: string, bytes: number): void {
    used += bytes
    usedBy.set(sink, (usedBy.get(sink) ?? 0) + bytes)
  }

  function tryTake(sink: string, bytes: number): boolean {
    if (waits(sink) || !hasRoom(sink, bytes)) return false
    add(sink, bytes)
    return true
  }

  /** In order for each sink; one that waits does not hold up another. */
  function admit(): void {
    const blocked = new Set<string>()
    waiting = waiting.filter(({ sink, bytes, go }) => {
      if (blocked.has(sink) || !hasRoom(sink, bytes)) {
        blocked.add(sink)
        return true
      }
      add(sink, bytes)
      go()
      return false
    })
  }

  return {
    take(sink, bytes) {
      if (tryTake(sink, bytes)) return Promise.resolve()
      const sinceMs = performance.now()
      return new Promise((go) => void waiting.push({ sink, bytes, sinceMs, go }))
    },
    tryTake,
    add,
    give(sink, bytes) {
      used -= bytes
      const own = (usedBy.get(sink) ?? 0) - bytes
      if (own > 0) usedBy.set(sink, own)
      else usedBy.delete(sink)
      if (waiting.length > 0) admit()
    },
    waits,
    waitsMs(sink) {
      const first = waiting.find((it) => it.sink === sink)
      return first ? performance.now() - first.sinceMs : 0
    },
    share,
    used: () => used,
  }
}
