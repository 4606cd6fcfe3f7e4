import { setTimeout as pause } from 'node:timers/promises'
import type { Delivery } from '../../model/delivery.ts'
import type { NoRoom } from '../../store/lanes/enqueue-again.ts'

export interface PacedParts {
  /** Enqueues a portion, in order; returns how many were enqueued. */
  enqueue(portion: readonly Delivery[]): Promise<number>
  /** Why there is no room for the next portion; undefined while there is. */
  noRoom(): Promise<NoRoom | undefined>
  /** Ends it between two portions. */
  signal: AbortSignal
  onProgress(progress: Progress): void
}

export interface Progress {
  count: number
  /** The last delivery that was enqueued. */
  last: Delivery | undefined
  /** Set while it waits. */
  waitsFor?: NoRoom
}

const PORTION = 100
const PORTION_BYTES = 512 * 1024
const AGAIN_MS = 200

/** Collects deliveries in small portions, and enqueues each only while there is room. */
export interface Pacer {
  /** Resolves when there is place for more. After the signal nothing is enqueued any more. */
  add(delivery: Delivery): Promise<void>
  progress(): Progress
  /** Enqueues the last portion. */
  end(): Promise<Progress>
}

export function createPacer({ enqueue, noRoom, signal, onProgress }: PacedParts): Pacer {
  let portion: Delivery[] = []
  let bytes = 0
  let progress: Progress = { count: 0, last: undefined }
  /** Portions are sent one after the other, also where several sources add. */
  let sending: Promise<void> = Promise.resolve()

  async function send(some: readonly Delivery[]): Promise<void> {
    for (;;) {
      if (signal.aborted) return
      const waitsFor = await noRoom()
      if (!waitsFor) break
      onProgress({ ...progress, waitsFor })
      await pause(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
    const count = await enqueue(some)
    progress = { count: progress.count + count, last: some.at(-1) }
    onProgress(progress)
  }

  function flush(): Promise<void> {
    const some = portion
    ;[portion, bytes] = [[], 0]
    if (some.length > 0) sending = sending.then(() => send(some))
    return sending
  }

  return {
    async add(delivery) {
      portion.push(delivery)
      bytes += delivery.objectJson.length
      if (portion.length >= PORTION || bytes >= PORTION_BYTES) await flush()
    },
    progress: () => progress,
    async end() {
      await flush()
      return progress
    },
  }
}
