import type { ClusterIdentity, Source } from '../../model/change.ts'
import { TimeSlice } from '../../text/yielding.ts'
import { checkpointError } from './faults.ts'
import { newState, type SavedStates, type SourceState } from './source-state.ts'
import { type CheckpointStore, WatchError } from './types.ts'

const FORMAT = 'kubeherald-watch-checkpoint/1'
const OBJECTS_IN_LINE = 500
/** A program may reach its cluster at another address each time it starts. */
const MOST_IDENTITIES = 10

/**
 * Returns the text of a checkpoint: a line of JSON with the identities of clusters, one for each source, and lines of its objects. Yields to
 * the event loop. A position is read before its objects, so what is processed meanwhile may be repeated, and is never missed.
 */
export async function encodeCheckpoint({ states, identities }: SavedStates): Promise<string> {
  const timeSlice = new TimeSlice()
  const newest = Object.fromEntries([...identities].slice(-MOST_IDENTITIES))
  const lines = [JSON.stringify({ format: FORMAT, identities: newest })]
  let objects = 0
  for (const { source, phase, resourceVersion, index } of states) {
    lines.push(JSON.stringify({ source: storedSource(source), phase, resourceVersion }))
    let some: string[][] = []
    for (const [uid, entry] of index) {
      objects++
      some.push([uid, entry.resourceVersion, entry.namespace, entry.name])
      if (some.length < OBJECTS_IN_LINE) continue
      lines.push(JSON.stringify(some))
      some = []
      if (timeSlice.isDue()) await timeSlice.take()
    }
    if (some.length > 0) lines.push(JSON.stringify(some))
  }
  lines.push(JSON.stringify({ sources: states.length, objects }))
  return lines.join('\n')
}

/** Returns what was saved last; nothing the first time, and without a store. Throws WatchError. */
export async function loadCheckpoint(store: CheckpointStore | undefined): Promise<SavedStates> {
  let text: string | undefined
  try {
    text = await store?.load()
  } catch (error) {
    throw checkpointError('loaded', error)
  }
  return text === undefined ? { states: [], identities: new Map() } : decodeCheckpoint(text)
}

/** Returns what a checkpoint has; throws WatchError if it is none, or not complete. */
function decodeCheckpoint(text: string): SavedStates {
  const states: SourceState[] = []
  let identities: SavedStates['identities']
  let objects = 0
  try {
    const [head, ...lines] = text.trimEnd().split('\n')
    const first = JSON.parse(head ?? '') as { format?: string; identities?: Record<string, ClusterIdentity> }
    if (first.format !== FORMAT) throw new Error('it has no format')
    identities = new Map(Object.entries(first.identities ?? {}))
    for (const { id } of identities.values())
      if (typeof id !== 'string') throw new Error('an identity of a cluster is wrong')
    const end = JSON.parse(lines.pop() ?? '') as { sources?: number; objects?: number }
    for (const line of lines) {
      const value = JSON.parse(line) as unknown
      if (Array.isArray(value)) objects += addObjects(states.at(-1), value)
      else states.push(stateOf(value as Partial<SourceState>))
    }
    if (end.sources !== states.length || end.objects !== objects) throw new Error('it is not complete')
  } catch (error) {
    const message = `the checkpoint cannot be read (${(error as Error).message}): delete it to start over with all objects that exist`
    throw new WatchError('checkpoint', message)
  }
  return { states, identities }
}

function addObjects(state: SourceState | undefined, objects: readonly unknown[]): number {
  if (!state) throw new Error('an entry with objects comes before the entry of its watch')
  for (const object of objects) {
    const [uid, resourceVersion, namespace, name] = object as (string | undefined)[]
    if (typeof uid !== 'string' || typeof resourceVersion !== 'string') throw new Error('an object is wrong')
    if (typeof namespace !== 'string' || typeof name !== 'string') throw new Error('an object is wrong')
    state.index.set(uid, { resourceVersion, namespace, name, labelsJson: '{}' })
  }
  return objects.length
}

const PHASES: readonly unknown[] = ['seeding', 'listing', 'watching', 'absent']

function stateOf({ source, phase, resourceVersion }: Partial<SourceState>): SourceState {
  const isSource = typeof source?.key === 'string' && typeof source.resource?.plural === 'string'
  if (!isSource || typeof resourceVersion !== 'string') throw new Error('a watch is wrong')
  return { ...newState(source), phase: PHASES.includes(phase) ? phase : undefined, resourceVersion }
}

/** What a stopped source is recognised by. */
function storedSource(source: Source): Source {
  const { key, title, resource, namespace, labelSelector, fieldSelector, initial } = source
  const { clusterUid, spelling, custom } = source
  return {
    key,
    title,
    resource,
    namespace,
    labelSelector,
    fieldSelector,
    initial,
    clusterUid,
    spelling,
    custom,
  }
}

/** A save takes at most this part of the time. */
const MOST_OF_THE_TIME = 1 / 20

interface SaverParts {
  store: CheckpointStore
  encode(): Promise<string>
  everyMs: number
  onFault(error: unknown): void
}

/** Saves after changes, at most every `everyMs`, and never twice at the same time. A failed save is repeated. */
export class CheckpointSaver {
  readonly #parts: SaverParts
  #isDirty = false
  #timer: NodeJS.Timeout | undefined
  #saving: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(parts: SaverParts) {
    this.#parts = parts
  }

  touch(): void {
    this.#isDirty = true
    this.#plan(this.#parts.everyMs)
  }

  /** Saves what is not saved yet, for the last time. Throws what the store throws. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#saving
    if (this.#isDirty) await this.#save()
  }

  #plan(afterMs: number): void {
    if (this.#timer || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#saving = this.#saveNow()
    }, afterMs)
  }

  async #saveNow(): Promise<void> {
    const { everyMs, onFault } = this.#parts
    const startedMs = performance.now()
    try {
      await this.#save()
    } catch (error) {
      onFault(error)
    }
    this.#timer = undefined
    const tookMs = performance.now() - startedMs
    if (this.#isDirty) this.#plan(Math.max(everyMs, tookMs / MOST_OF_THE_TIME))
  }

  async #save(): Promise<void> {
    this.#isDirty = false
    try {
      await this.#parts.store.save(await this.#parts.encode())
    } catch (error) {
      this.#isDirty = true
      throw error
    }
  }
}
