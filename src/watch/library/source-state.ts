import type {
  Change,
  Checkpoint,
  ClusterIdentity,
  Comparison,
  Source,
  SourceSession,
  SourceStore,
  Transition,
} from '../../model/change.ts'
import { clusterFacts } from '../../model/cluster-facts.ts'
import { deletionOf, type IndexEntry, transitionOf } from '../../model/transition.ts'
import { apiVersionOf, namesSource } from '../client/discovery.ts'
import { parseObject } from '../decode/json-bytes.ts'
import type { Handoff } from './handoff.ts'
import type { Change as GivenChange } from './types.ts'

/** A change that is handed to the program. */
export interface Handed {
  source: Source
  transition: Transition
  /** JSON of the object before the change, if it is kept. */
  old: Buffer | undefined
}

/** The position of a source, and the objects that the program knows of it: those whose last change it has processed. */
export interface SourceState {
  source: Source
  phase: Checkpoint['phase'] | undefined
  resourceVersion: string
  readonly index: Map<string, IndexEntry>
  /** uid → JSON. */
  readonly kept: Map<string, Buffer>
  /** Its resource is gone, and the program gets the deletions. */
  departure: { ended: Promise<void>; stop: AbortController } | undefined
}

/** What a checkpoint has. */
export interface SavedStates {
  states: readonly SourceState[]
  /** By the hash of the API server's address. */
  identities: Map<string, ClusterIdentity>
}

export function newState(source: Source): SourceState {
  return {
    source,
    phase: undefined,
    resourceVersion: '',
    index: new Map(),
    kept: new Map(),
    departure: undefined,
  }
}

interface StateParts {
  handoff: Handoff<Handed>
  keepOld: boolean
  /** What a checkpoint would have is different now. */
  onMoved(): void
  /** The API server answers a source. Called repeatedly. */
  onBegun(source: Source): void
  clock: { now(): number }
}

/**
 * What reflectors ask of a store, in memory: each change is handed to the program, and the position moves when it is processed. Nothing
 * is fenced, because every process has its own.
 */
export class SourceStates implements SourceStore {
  readonly #parts: StateParts
  readonly #states = new Map<string, SourceState>()
  readonly #identities: Map<string, ClusterIdentity>
  readonly owners: SourceStore['owners']
  readonly release: SourceStore['release']
  readonly absentKinds: SourceStore['absentKinds']
  readonly identities: SourceStore['identities']
  readonly splits = { get: async () => 'whole' as const, settle: async () => 'whole' as const }

  constructor(parts: StateParts, { states, identities }: SavedStates) {
    this.#parts = parts
    for (const state of states) this.#states.set(state.source.key, state)
    this.#identities = identities
    const facts = clusterFacts(identities)
    this.owners = facts.owners
    this.release = facts.release
    this.absentKinds = facts.absentKinds
    this.identities = facts.identities
  }

  /** What a checkpoint is to have now. */
  saved(): SavedStates {
    return { states: this.all(), identities: this.#identities }
  }

  /** In the order in which they were first opened. */
  all(): readonly SourceState[] {
    return [...this.#states.values()]
  }

  /** Whether a source of this kind, however it is spelled, was ever followed. */
  knows(spelling: string): boolean {
    return this.all().some(({ source }) => namesSource(spelling, source))
  }

  /** The ends of what the program still gets of kinds that are gone. */
  departures(): Promise<void>[] {
    return this.all().flatMap(({ departure }) => departure?.ended ?? [])
  }

  /** Forgets a source that does not run any more: no other change of it comes. */
  forget(key: string): void {
    this.#states.get(key)?.departure?.stop.abort()
    this.#states.delete(key)
    this.#parts.onMoved()
  }

  async open(source: Source): Promise<SourceSession> {
    const state = this.#states.get(source.key) ?? newState(source)
    state.source = source
    this.#states.set(source.key, state)
    return new StateSession(this.#parts, state)
  }

  async peek({ key }: Source) {
    const state = this.#states.get(key)
    const checkpoint = state && checkpointOf(state, this.#parts.clock)
    return checkpoint && { ...checkpoint, ownerAlive: false }
  }

  async stored(): Promise<Source[]> {
    return this.all().map(({ source }) => source)
  }
}

function checkpointOf(state: SourceState, clock: { now(): number }): Checkpoint | undefined {
  const { phase, resourceVersion } = state.departure ? ABSENT : state
  return phase && { phase, resourceVersion, sequence: 0, holder: '', atMs: clock.now() }
}

const ABSENT = { phase: 'absent', resourceVersion: '' } as const

/** The session of one source; the position of a change moves when the program has processed it. */
class StateSession implements SourceSession {
  emitted = 0
  /** There are no limits. */
  readonly dueMs = undefined
  readonly #parts: StateParts
  readonly #state: SourceState
  #comparison: Comparison = 'newer'
  /** Name → uid of what a list has not listed. */
  #unlisted = new Map<string, string>()

  constructor(parts: StateParts, state: SourceState) {
    this.#parts = parts
    this.#state = state
  }

  get checkpoint(): Checkpoint | undefined {
    return checkpointOf(this.#state, this.#parts.clock)
  }

  get keepsPrevious(): boolean {
    return this.#parts.keepOld
  }

  async expire(): Promise<void> {}
  async forgetLimits(): Promise<void> {}
  async adopt(): Promise<void> {}

  async beginSeed(): Promise<void> {
    this.#state.index.clear()
    this.#state.kept.clear()
    this.#move('seeding', '')
  }

  async seed(page: readonly Change[]): Promise<void> {
    this.#parts.onBegun(this.#state.source)
    for (const { type, object } of page) {
      if (type === 'DELETED') this.#drop(object.uid)
      else this.#know(object.uid, object, object.bytes)
    }
  }

  async beginList(comparison: Comparison, signal: AbortSignal): Promise<void> {
    await this.#departed(signal)
    this.#comparison = comparison
    this.#unlisted = new Map([...this.#state.index].map(([uid, entry]) => [nameOf(entry), uid]))
    this.#move('listing', this.#state.resourceVersion)
  }

  async list(page: readonly Change[], signal: AbortSignal): Promise<void> {
    this.#parts.onBegun(this.#state.source)
    await this.#hand(this.#listed(page), signal)
  }

  async endList(resourceVersion: string, signal: AbortSignal, complete = true): Promise<void> {
    this.#parts.onBegun(this.#state.source)
    if (this.#state.phase === 'listing' && complete)
      await this.#hand(this.#deletions(this.#unlisted.values()), signal)
    this.#unlisted.clear()
    this.#move('watching', resourceVersion)
  }

  async commit(changes: readonly Change[], resourceVersion: string, signal: AbortSignal): Promise<void> {
    this.#parts.onBegun(this.#state.source)
    await this.#hand(this.#changed(changes, resourceVersion), signal)
    this.#move('watching', resourceVersion)
  }

  /** Does not wait for the program: in its loop it may await `add` or `remove`, which need the search for kinds that calls this. */
  async markAbsent(): Promise<void> {
    const state = this.#state
    if (state.departure) return
    const stop = new AbortController()
    const handed = this.#hand(this.#deletions([...state.index.keys()]), stop.signal)
    const ended = handed
      .then(() => this.#move('absent', ''))
      .catch(() => {})
      .finally(() => {
        state.departure = undefined
      })
    state.departure = { ended, stop }
  }

  /** Waits until the program has processed the deletions of a resource that was gone. */
  async #departed(signal: AbortSignal): Promise<void> {
    const { departure } = this.#state
    if (!departure) return
    signal.throwIfAborted()
    const { promise, reject } = Promise.withResolvers<never>()
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await Promise.race([departure.ended, promise])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  #hand(transitions: Iterator<Handed, void>, signal: AbortSignal): Promise<void> {
    return this.#parts.handoff.offer(transitions, signal)
  }

  /** `position` is where the watch continues after them. */
  *#changed(changes: readonly Change[], position: string): Generator<Handed, void> {
    for (const [i, change] of changes.entries()) {
      const { uid, resourceVersion } = change.object
      yield* this.#process(transitionOf(change, this.#state.index.get(uid), 'newer', false))
      const next = changes[i + 1]?.object.resourceVersion
      // Changes of one position stay together.
      if (next !== resourceVersion) this.#move('watching', next === undefined ? position : resourceVersion)
    }
  }

  /** Processes a page of a list. If a name has another uid than before, the former object is deleted first. */
  *#listed(page: readonly Change[]): Generator<Handed, void> {
    for (const change of page) {
      const { object } = change
      const name = nameOf(object)
      const former = this.#unlisted.get(name)
      if (former !== undefined && former !== object.uid) yield* this.#deletions([former])
      const transition = transitionOf(change, this.#state.index.get(object.uid), this.#comparison, true)
      yield* this.#process(transition)
      if (!transition && this.#state.index.get(object.uid)?.resourceVersion === object.resourceVersion)
        this.#keep(object.uid, object.bytes)
      this.#unlisted.delete(name)
    }
  }

  *#deletions(uids: Iterable<string>): Generator<Handed, void> {
    for (const uid of uids) {
      const entry = this.#state.index.get(uid)
      if (entry) yield* this.#process(deletionOf(uid, entry, this.#parts.clock.now()))
    }
  }

  /** Continues when the program has processed the change. */
  *#process(transition: Transition | undefined): Generator<Handed, void> {
    if (!transition) return
    const { type, uid, object } = transition
    yield { source: this.#state.source, transition, old: this.#state.kept.get(uid) }
    this.emitted++
    if (type === 'DELETED') this.#drop(uid)
    else this.#know(uid, transition, object?.bytes)
    this.#parts.onMoved()
  }

  #know(uid: string, { resourceVersion, namespace, name }: Omit<IndexEntry, 'labelsJson'>, bytes?: Buffer) {
    this.#state.index.set(uid, { resourceVersion, namespace, name, labelsJson: '{}' })
    if (bytes) this.#keep(uid, bytes)
  }

  /** A copy: the object is a part of the chunk that came from the socket. */
  #keep(uid: string, bytes: Buffer): void {
    if (this.#parts.keepOld) this.#state.kept.set(uid, Buffer.from(bytes))
  }

  #drop(uid: string): void {
    this.#state.index.delete(uid)
    this.#state.kept.delete(uid)
  }

  #move(phase: Checkpoint['phase'], resourceVersion: string): void {
    this.#state.phase = phase
    this.#state.resourceVersion = resourceVersion
    this.#parts.onMoved()
  }
}

function nameOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`
}

/** Returns the change as the program gets it. `onUnreadable` is called if the JSON of the object cannot be parsed. */
export function changeOf<T>(
  { source: { resource, title }, transition, old }: Handed,
  onUnreadable: (watch: string, name: string) => void,
): GivenChange<T> {
  const { type, uid, resourceVersion, namespace, name, synthesized, object } = transition
  const apiVersion = apiVersionOf(resource)
  const { kind } = resource
  const last = object?.bytes ?? old
  const parsed = last && parseObject(last)
  if (last && !parsed) onUnreadable(title, name)
  const place = namespace === '' ? {} : { namespace }
  const identity = { apiVersion, kind, metadata: { name, ...place, uid, resourceVersion } }
  const former = type === 'MODIFIED' && old ? parseObject(old) : undefined
  return {
    type,
    kind,
    apiVersion,
    namespace,
    name,
    uid,
    resourceVersion,
    object: (parsed ?? identity) as T,
    ...(former && { old: former as T }),
    synthesized,
  }
}
