import type { Delivery } from '../delivery.ts'

/** What a commit has put into one lane. */
export interface Enqueued {
  lane: string
  sink: string
  count: number
  /** Undefined where the reply was lost. */
  stored?: {
    entries: readonly { id: string; deliveries: readonly Delivery[] }[]
    /** The sink's counter `enqueued` after it. */
    total: number
  }
}

/**
 * Detects that others enqueued between two commits of this process: then the counter `enqueued` of a sink grew by more than ours.
 * Only what follows without a gap may be handed to lanes in memory.
 */
export class FeedSequence {
  readonly #sinks = new Map<string, { total: number | undefined; epoch: number; scanned: number }>()

  note({ sink, count, stored }: Enqueued): 'contiguous' | 'gap' | 'back' {
    const it = this.#of(sink)
    const before = it.total
    it.total = stored?.total
    if (stored && before === stored.total - count) return 'contiguous'
    it.epoch++
    return stored && before !== undefined && stored.total - count < before ? 'back' : 'gap'
  }

  /** Lanes that are not in memory are empty in Redis. */
  isScanned(sink: string): boolean {
    const it = this.#of(sink)
    return it.scanned === it.epoch
  }

  /** Call before the register is read. Call the result after it: sinks without a gap since then count as scanned. */
  beginScan(): () => void {
    const epochs = [...this.#sinks].map(([sink, { epoch }]) => ({ sink, epoch }))
    return () => {
      for (const { sink, epoch } of epochs) this.#of(sink).scanned = epoch
    }
  }

  #of(sink: string) {
    const known = this.#sinks.get(sink)
    if (known) return known
    const it = { total: undefined, epoch: 0, scanned: -1 }
    this.#sinks.set(sink, it)
    return it
  }
}
