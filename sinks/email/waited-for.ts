import type { Receipts } from './answers.ts'

/** Greylisting ends after minutes, a full mailbox does not. */
const PATIENCE_MS = 600_000
const MOST_REMEMBERED = 1_000

/** Recipients that are refused for now while others get the same mail, which wait for them: not for ever. */
export class WaitedFor {
  /** By address, in Unix milliseconds; the one that was refused first comes first. */
  readonly #sinceMs = new Map<string, number>()

  /** Notes the answers to a mail that somebody has. */
  noted({ accepted, refused }: Receipts, nowMs: number): void {
    for (const address of accepted) this.#sinceMs.delete(address)
    for (const { address } of refused) if (!this.#sinceMs.has(address)) this.#sinceMs.set(address, nowMs)
    for (const address of this.#sinceMs.keys()) {
      if (this.#sinceMs.size <= MOST_REMEMBERED) return
      this.#sinceMs.delete(address)
    }
  }

  /** Whether others have waited long enough: as long as a mailbox is full, a mail now and then would be all that they get. */
  isOver(address: string, nowMs: number): boolean {
    return nowMs - (this.#sinceMs.get(address) ?? nowMs) >= PATIENCE_MS
  }
}
