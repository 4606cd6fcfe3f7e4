import type { Change, Comparison, FormerSource, Source, SourceSession, SourceStore } from './change.ts'

/** Resolves when what rules ask of the surroundings of changes is known, or was waited for long enough. */
export type Enrich = (source: Source, changes: readonly Change[], signal: AbortSignal) => Promise<void>

/** A store that decides about changes only once their surroundings are known. What is only noted waits for nothing. */
export function enrichBeforeCommit(store: SourceStore, enrich: Enrich): SourceStore {
  const { peek, release, owners, absentKinds, identities, splits, stored } = store
  return {
    peek: peek.bind(store),
    release: release.bind(store),
    stored: stored.bind(store),
    owners,
    absentKinds,
    identities,
    splits,
    open: async (source, signal, permit) =>
      new EnrichedSession(await store.open(source, signal, permit), source, enrich),
  }
}

/** Waits before a transaction begins: no other source waits with it. */
class EnrichedSession implements SourceSession {
  readonly #session: SourceSession
  readonly #source: Source
  readonly #enrich: Enrich

  constructor(session: SourceSession, source: Source, enrich: Enrich) {
    this.#session = session
    this.#source = source
    this.#enrich = enrich
  }

  get checkpoint() {
    return this.#session.checkpoint
  }

  get keepsOld() {
    return this.#session.keepsOld
  }

  get dueMs() {
    return this.#session.dueMs
  }

  expire(signal: AbortSignal): Promise<void> {
    return this.#session.expire(signal)
  }

  forgetLimits(signal: AbortSignal): Promise<void> {
    return this.#session.forgetLimits(signal)
  }

  beginSeed(signal: AbortSignal): Promise<void> {
    return this.#session.beginSeed(signal)
  }

  seed(page: readonly Change[], signal: AbortSignal): Promise<void> {
    return this.#session.seed(page, signal)
  }

  beginList(comparison: Comparison, signal: AbortSignal): Promise<void> {
    return this.#session.beginList(comparison, signal)
  }

  adopt(former: FormerSource, signal: AbortSignal): Promise<void> {
    return this.#session.adopt(former, signal)
  }

  async list(...[page, signal, isNew]: Parameters<SourceSession['list']>): Promise<void> {
    await this.#enrich(this.#source, page, signal)
    return this.#session.list(page, signal, isNew)
  }

  endList(...args: Parameters<SourceSession['endList']>): Promise<void> {
    return this.#session.endList(...args)
  }

  async commit(changes: readonly Change[], resourceVersion: string, signal: AbortSignal): Promise<void> {
    if (changes.length > 0) await this.#enrich(this.#source, changes, signal)
    return this.#session.commit(changes, resourceVersion, signal)
  }

  markAbsent(signal: AbortSignal): Promise<void> {
    return this.#session.markAbsent(signal)
  }
}
