import type { Catalogue } from '../client/discovery.ts'
import type { WatchPlan } from '../plan/plan.ts'
import type { WatchEntry } from '../schema.ts'

interface UnservedParts {
  /** Whether a kind is defined, or was watched before and may come back. Rejects when the API server does not answer. */
  isDefined(kind: string, catalogue: Catalogue): Promise<boolean>
  /** These entries wait until the cluster serves their kind. Called again for those that wait already. */
  onDefined(kind: string, entries: readonly WatchEntry[]): void
  /** The cluster has no such kind. */
  onUnknown(entry: WatchEntry, catalogue: Catalogue): void
}

/** Kinds that the cluster does not serve. One may be defined: while an API server starts, or because it serves another version. */
export class UnservedKinds {
  readonly #parts: UnservedParts
  readonly #kinds = new Map<string, 'asking' | 'defined'>()
  #waiting: readonly WatchEntry[] = []

  constructor(parts: UnservedParts) {
    this.#parts = parts
  }

  /** All kinds that are waited for are defined. */
  get areDefined(): boolean {
    return this.#waiting.every(({ kind }) => this.#kinds.get(kind) === 'defined')
  }

  /** Takes the entries that a plan has no sources for. What is known of a kind holds until none of them waits for it. */
  planned({ waiting, unsure }: WatchPlan, catalogue: Catalogue): void {
    this.#waiting = waiting
    const open = new Set([...waiting, ...unsure].map(({ kind }) => kind))
    for (const kind of this.#kinds.keys()) if (!open.has(kind)) this.#kinds.delete(kind)
    for (const kind of new Set(waiting.map((it) => it.kind))) void this.#lookFor(kind, catalogue)
  }

  async #lookFor(kind: string, catalogue: Catalogue): Promise<void> {
    const { isDefined, onDefined, onUnknown } = this.#parts
    const known = this.#kinds.get(kind)
    if (known === 'asking') return
    if (known === undefined) {
      this.#kinds.set(kind, 'asking')
      // Without an answer the next attempt to resolve the kinds asks again.
      const answer = await isDefined(kind, catalogue).catch(() => undefined)
      if (this.#kinds.get(kind) !== 'asking') return
      this.#kinds.delete(kind)
      if (answer === undefined) return
      if (!answer) {
        for (const entry of this.#waitingFor(kind)) onUnknown(entry, catalogue)
        return
      }
      this.#kinds.set(kind, 'defined')
    }
    onDefined(kind, this.#waitingFor(kind))
  }

  #waitingFor(kind: string): readonly WatchEntry[] {
    return this.#waiting.filter((it) => it.kind === kind)
  }
}
