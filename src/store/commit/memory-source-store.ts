import type { AwaitMetadata, Checkpoint, Source, SourceStore, Transition } from '../../model/change.ts'
import { clusterFacts } from '../../model/cluster-facts.ts'
import type { CommitPlan, Reads } from './commit-plan.ts'
import { decodeIndexEntry, nameOf } from './index-entries.ts'
import { IndexSession, type Unlisted } from './index-session.ts'
import { COMPLETE } from './relist-diff.ts'
import type { PreviousStorage } from './transact.ts'

interface MemoryStoreParts {
  /** Called with the changes of each commit, in the order of each source; the source continues when it resolves. */
  onTransitions(source: Source, transitions: readonly Transition[]): void | Promise<void>
  previous: PreviousStorage
  enrich?: AwaitMetadata
  clock: { now(): number }
}

/** Sources without Redis, for a process that only reads. Every source begins with its current state. */
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

/** Executes the same plans as a session in Redis, on hashes in memory. */
class MemorySession extends IndexSession {
  checkpoint: Checkpoint | undefined
  /** Callers keep the limit states themselves: none is due here. */
  readonly dueMs = undefined
  readonly #onTransitions: MemoryStoreParts['onTransitions']
  readonly #index = new Map<string, string>()
  readonly #previous = new Map<string, Buffer>()
  readonly #unlisted = new Map<string, string>()

  constructor(parts: MemoryStoreParts, source: Source) {
    const { previous } = parts
    super(parts, source, {
      index: 'index',
      unlisted: 'unlisted',
      previous: 'previous',
      limits: 'limits',
      timers: 'timers',
      previousJson: previous.stores(source.resource)
        ? (object) => previous.jsonOf(source.resource, object)
        : undefined,
      hasRoom: () => true,
    })
    this.#onTransitions = parts.onTransitions
  }

  async adopt(): Promise<void> {}
  async expire(): Promise<void> {}
  async forgetLimits(): Promise<void> {}
  protected async describe(): Promise<boolean> {
    return false
  }

  protected async copyNames(): Promise<void> {
    this.#unlisted.set(COMPLETE, '')
    for (const [uid, entry] of this.#index) this.#unlisted.set(nameOf(decodeIndexEntry(entry)), uid)
  }

  protected async someUnlisted(most: number): Promise<Unlisted | undefined> {
    const some = [...this.#unlisted].filter(([name]) => name !== COMPLETE).slice(0, most)
    return some.length === 0
      ? undefined
      : { names: some.map(([name]) => name), uids: some.map(([, uid]) => uid) }
  }

  protected async transact(move: Partial<Checkpoint>, plan: CommitPlan): Promise<void> {
    const read = async (queue: (reads: Reads) => void) => this.#read(queue)
    const made = await plan.compute(
      this.#read((reads) => plan.read(reads)),
      read,
    )
    if (made.forget === 'all') this.#index.clear()
    if (made.forget === 'all' || made.forget === 'previous') this.#previous.clear()
    if (made.forget === 'unlisted') this.#unlisted.clear()
    setPairs(this.#index, made.indexSet)
    setPairs(this.#previous, made.previousSet)
    for (const uid of made.indexDelete) this.#index.delete(uid)
    for (const uid of made.previousDelete) this.#previous.delete(uid)
    for (const name of made.unlistedDelete) this.#unlisted.delete(name)
    this.checkpoint = this.moved(move, 'memory')
    this.emitted += made.transitions.length
    if (made.transitions.length > 0) await this.#onTransitions(this.source, made.transitions)
  }

  #read(queue: (reads: Reads) => void): unknown[] {
    const replies: unknown[] = []
    const hashes: Readonly<Record<string, ReadonlyMap<string, unknown>>> = {
      index: this.#index,
      previous: this.#previous,
      unlisted: this.#unlisted,
    }
    const hmget = (key: string, ...fields: string[]) =>
      void replies.push(fields.map((field) => hashes[key]?.get(field) ?? null))
    queue({ hmget, hmgetBuffer: hmget, zrange: () => void replies.push([]) } as unknown as Reads)
    return replies
  }
}

/** `pairs`: key, value, key, value, … */
function setPairs<T>(into: Map<string, T>, pairs: readonly (string | T)[]): void {
  for (let i = 0; i < pairs.length; i += 2) into.set(pairs[i] as string, pairs[i + 1] as T)
}
