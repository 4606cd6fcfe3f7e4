import type {
  Change,
  Checkpoint,
  Comparison,
  ScannedObject,
  Source,
  SourceSession,
  SourceStore,
  Transition,
} from '../change.ts'
import { clusterFacts } from '../cluster-facts.ts'
import type { Resource } from '../event.ts'
import { type IndexEntry, nameOf } from './index-entry.ts'
import { compress, decompress } from './packing.ts'
import { decideTransition, deletionOf } from './transition.ts'

export interface MemoryStoreParts {
  /** What happened, in the order of each source. */
  onTransitions(source: Source, transitions: readonly Transition[]): void
  /** Whose old objects are kept, packed. */
  old: { keeps(resource: Resource): boolean; jsonOf(resource: Resource, object: ScannedObject): Buffer }
  clock: { now(): number }
}

/** Sources without Redis, for one process that only looks: what it knows goes with it. Every source begins now. */
export function createMemorySourceStore(parts: MemoryStoreParts): SourceStore {
  const splits = new Map<string, 'shards' | 'whole'>()
  const sessions = new Map<string, MemorySession>()
  return {
    async open(source) {
      const session = sessions.get(source.key) ?? new MemorySession(parts, source)
      sessions.set(source.key, session)
      return session
    },
    async peek({ key }) {
      const checkpoint = sessions.get(key)?.checkpoint
      return checkpoint && { ...checkpoint, ownerAlive: false }
    },
    ...clusterFacts(),
    splits: {
      get: async (name) => splits.get(name),
      async settle(name, choice) {
        const settled = splits.get(name) ?? choice
        splits.set(name, settled)
        return settled
      },
    },
    stored: async () => [],
  }
}

class MemorySession implements SourceSession {
  checkpoint: Checkpoint | undefined
  readonly keepsOld: boolean
  /** Who looks keeps the states of limits: they are never due here. */
  readonly dueMs = undefined
  readonly #parts: MemoryStoreParts
  readonly #source: Source
  readonly #index = new Map<string, IndexEntry>()
  readonly #old = new Map<string, Buffer>()
  /** Of a running list: name → uid. */
  #unseen = new Map<string, string>()
  #comparison: Comparison = 'newer'
  #transitions: Transition[] = []

  constructor(parts: MemoryStoreParts, source: Source) {
    this.#parts = parts
    this.#source = source
    this.keepsOld = parts.old.keeps(source.resource)
  }

  async beginSeed(): Promise<void> {
    this.#index.clear()
    this.#old.clear()
    this.#move('seeding', '')
  }

  async seed(page: readonly Change[]): Promise<void> {
    for (const { type, object } of page) {
      if (type === 'DELETED') this.#forget(object.uid)
      else this.#know(object.uid, object, object)
    }
    this.#move()
  }

  async beginList(comparison: Comparison): Promise<void> {
    this.#comparison = comparison
    this.#unseen = new Map([...this.#index].map(([uid, entry]) => [nameOf(entry), uid]))
    this.#move('listing')
  }

  async list(page: readonly Change[]): Promise<void> {
    for (const change of page) {
      const { object, observedAtMs } = change
      const before = this.#unseen.get(nameOf(object))
      if (before !== undefined && before !== object.uid) this.#remove(before, observedAtMs)
      this.#unseen.delete(nameOf(object))
      this.#apply(decideTransition(change, this.#index.get(object.uid), this.#comparison, true))
    }
    this.#move()
  }

  async endList(resourceVersion: string, _signal: AbortSignal, complete = true): Promise<void> {
    if (this.checkpoint?.phase === 'listing' && complete) this.#removeUnseen()
    this.#unseen.clear()
    this.#move('watching', resourceVersion)
  }

  async commit(changes: readonly Change[], resourceVersion: string): Promise<void> {
    for (const change of changes)
      this.#apply(decideTransition(change, this.#index.get(change.object.uid), 'newer', false))
    this.#move(undefined, resourceVersion)
  }

  async markAbsent(): Promise<void> {
    this.#unseen = new Map([...this.#index].map(([uid, entry]) => [nameOf(entry), uid]))
    this.#removeUnseen()
    this.#move('absent', '')
  }

  async expire(): Promise<void> {}

  async forgetLimits(): Promise<void> {}

  async adopt(): Promise<void> {}

  #removeUnseen(): void {
    for (const uid of this.#unseen.values()) this.#remove(uid, this.#parts.clock.now())
  }

  #remove(uid: string, nowMs: number): void {
    const entry = this.#index.get(uid)
    if (entry) this.#apply(deletionOf(uid, entry, nowMs))
  }

  #apply(transition: Transition | undefined): void {
    if (!transition) return
    const { uid, type, object } = transition
    const packed = this.#old.get(uid)
    const isWhole = type === 'DELETED' && object
    this.#transitions.push(packed && !isWhole ? { ...transition, old: () => decompress(packed) } : transition)
    if (type === 'DELETED') this.#forget(uid)
    else this.#know(uid, transition, object)
  }

  #know(
    uid: string,
    { resourceVersion, namespace, name, labelsJson }: IndexEntry,
    object?: ScannedObject,
  ): void {
    this.#index.set(uid, { resourceVersion, namespace, name, labelsJson })
    if (!this.keepsOld || !object) return
    try {
      this.#old.set(uid, compress(this.#parts.old.jsonOf(this.#source.resource, object)))
    } catch {
      // Its next change is told without what was before.
      this.#old.delete(uid)
    }
  }

  #forget(uid: string): void {
    this.#index.delete(uid)
    this.#old.delete(uid)
  }

  /** Tells what was gathered, as if it were durable now. */
  #move(phase?: Checkpoint['phase'], resourceVersion?: string): void {
    const { checkpoint } = this
    this.checkpoint = {
      phase: phase ?? checkpoint?.phase ?? 'listing',
      resourceVersion: resourceVersion ?? checkpoint?.resourceVersion ?? '',
      sequence: (checkpoint?.sequence ?? 0) + 1,
      holder: 'memory',
      atMs: this.#parts.clock.now(),
    }
    const transitions = this.#transitions
    this.#transitions = []
    if (transitions.length > 0) this.#parts.onTransitions(this.#source, transitions)
  }
}
