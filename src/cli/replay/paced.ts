import { setTimeout as pause } from 'node:timers/promises'
import type { Delivery } from '../../model/delivery.ts'
import type { NoRoom } from '../../store/lanes/enqueue-again.ts'

export interface PacedParts {
  /** Enqueues a portion, in order. */
  enqueue(portion: readonly Delivery[]): Promise<void>
  /** Why there is no room for the next portion; undefined while there is. */
  noRoom(): Promise<NoRoom | undefined>
  /** Ends it between two portions. */
  signal: AbortSignal
  onProgress(progress: Progress): void
}

interface Progress {
  count: number
  /** The last delivery that was enqueued. */
  last: Delivery | undefined
  /** Set while it waits. */
  waitsFor?: NoRoom
}

const PORTION = 100
const PORTION_BYTES = 512 * 1024
const AGAIN_MS = 200

/** Enqueues deliveries in small portions, each only while there is room. Returns how many, and the last one. */
export async function enqueuePaced(
  deliveries: AsyncIterable<Delivery>,
  { enqueue, noRoom, signal, onProgress }: PacedParts,
): Promise<Progress> {
  let progress: Progress = { count: 0, last: undefined }
  for await (const portion of portionsOf(deliveries)) {
    for (;;) {
      if (signal.aborted) return progress
      const waitsFor = await noRoom()
      if (!waitsFor) break
      onProgress({ ...progress, waitsFor })
      await pause(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
    await enqueue(portion)
    progress = { count: progress.count + portion.length, last: portion.at(-1) }
    onProgress(progress)
  }
  return progress
}

async function* portionsOf(deliveries: AsyncIterable<Delivery>): AsyncGenerator<Delivery[]> {
  let portion: Delivery[] = []
  let bytes = 0
  for await (const delivery of deliveries) {
    portion.push(delivery)
    bytes += delivery.objectJson.length
    if (portion.length < PORTION && bytes < PORTION_BYTES) continue
    yield portion
    ;[portion, bytes] = [[], 0]
  }
  if (portion.length > 0) yield portion
}
