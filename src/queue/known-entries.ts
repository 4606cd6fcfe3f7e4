import type { Change } from '../change.ts'
import type { Plan } from './overlay.ts'

/** So many objects are remembered: those that change often, and what changes again soon. */
const MOST_KNOWN = 2_000

/**
 * What a session wrote into its index lately. With it a commit need not read the index first: the transaction checks what was
 * assumed, and is decided anew from what is stored where that was wrong.
 */
export class KnownEntries {
  readonly #entries = new Map<string, string>()

  /** Uid → its entry, null for none; undefined when one of them has to be read. An object that was added is taken to be new. */
  assume(changes: readonly Change[]): Map<string, string | null> | undefined {
    const assumed = new Map<string, string | null>()
    for (const { type, object } of changes) {
      if (assumed.has(object.uid)) continue
      const entry = this.#entries.get(object.uid) ?? (type === 'ADDED' ? null : undefined)
      if (entry === undefined) return undefined
      assumed.set(object.uid, entry)
    }
    return assumed
  }

  /** Call when the transaction is durable. */
  written({ forget, indexSet, indexDelete }: Plan): void {
    if (forget === 'all') this.#entries.clear()
    for (let i = 0; i < indexSet.length; i += 2) {
      const uid = indexSet[i] as string
      this.#entries.delete(uid)
      this.#entries.set(uid, indexSet[i + 1] as string)
    }
    for (const uid of indexDelete) this.#entries.delete(uid)
    for (const uid of this.#entries.keys()) {
      if (this.#entries.size <= MOST_KNOWN) break
      this.#entries.delete(uid)
    }
  }
}
