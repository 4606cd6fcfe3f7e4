import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import {
  type Checkpoint,
  FencedError,
  type FormerSource,
  type Selection,
  type Source,
  type SourceStore,
} from '../../model/change.ts'
import { LiveProcesses } from '../lanes/live-processes.ts'
import { RuleTimes } from '../limits/rule-counts.ts'
import { LAYOUT } from '../redis/layout.ts'
import { readHash } from '../redis/scan.ts'
import { evalScript } from '../redis/script.ts'
import { adoptSource, selectionOf, watchedBefore } from './adopt-source.ts'
import {
  type CommitPlan,
  FORGET,
  FORGET_PREVIOUS,
  NOTHING,
  planDeselection,
  planExpiry,
  planGone,
} from './commit-plan.ts'
import { IndexSession, type Unlisted } from './index-session.ts'
import { copyNames, someUnlisted } from './relist-diff.ts'
import { readCheckpoint, readIdentity, readSource, UnreadableCheckpointError } from './stored-json.ts'
import { type StoreParts, transact } from './transact.ts'

interface SourceStoreParts extends StoreParts {
  /** Knows which processes are alive, and the name of this one; by default neither is known. */
  processes?: LiveProcesses
}

/** Sources on Redis: position, index, lanes and ledger, each call one transaction. */
export function createSourceStore(parts: SourceStoreParts): SourceStore {
  const { commitConnection, keys, processes = new LiveProcesses(parts.instance ?? '') } = parts
  return {
    async open(source, signal, permit) {
      const session = new CheckpointSession(parts, source)
      await session.take(signal, permit)
      return session
    },
    async peek({ key }, signal) {
      const text = await commitConnection.run((redis) => redis.get(keys.checkpoint(key)), signal)
      // An unreadable checkpoint is reported when the source is opened.
      const checkpoint = readCheckpoint(text)
      if (!checkpoint) return undefined
      const { instance, released } = checkpoint
      if (released) return { ...checkpoint, ownerAlive: false }
      if (instance === undefined) return { ...checkpoint, ownerAlive: undefined }
      // Written by this process before Redis lost later writes: no other process owns the source.
      if (instance === parts.instance) return { ...checkpoint, ownerAlive: false }
      const beats = processes.isAlive(instance)
      if (beats !== undefined) return { ...checkpoint, ownerAlive: beats }
      const reports = await commitConnection.run((redis) => redis.exists(keys.instance(instance)), signal)
      return { ...checkpoint, ownerAlive: reports === 1 }
    },
    async release({ key }, signal) {
      if (parts.instance === undefined) return
      const isReleased = await commitConnection.run(async (redis) => {
        const text = await redis.get(keys.checkpoint(key))
        const checkpoint = readCheckpoint(text)
        if (!checkpoint || checkpoint.instance !== parts.instance) return false
        const { sequence } = checkpoint
        const next: Checkpoint = { ...checkpoint, sequence: sequence + 1, released: true }
        const names = [keys.checkpoint(key), keys.schema]
        return (await evalScript(redis, RELEASE, names, [text as string, JSON.stringify(next), LAYOUT])) === 1
      }, signal)
      if (isReleased) processes.release()
    },
    owners: processes,
    absentKinds: {
      add: async (kind, signal) =>
        void (await commitConnection.run((redis) => redis.sadd(keys.absentKinds, kind), signal)),
      has: async (kind, signal) =>
        (await commitConnection.run((redis) => redis.sismember(keys.absentKinds, kind), signal)) === 1,
      remove: async (kind, signal) =>
        void (await commitConnection.run((redis) => redis.srem(keys.absentKinds, kind), signal)),
    },
    identities: {
      async ofUid(uid, signal) {
        const all = await commitConnection.run((redis) => readHash(redis, keys.identities), signal)
        return [...all.values()].map(readIdentity).find((it) => it?.uid === uid)
      },
      async get(address, signal) {
        const text = await commitConnection.run((redis) => redis.hget(keys.identities, address), signal)
        return readIdentity(text)
      },
      set: async (address, identity, signal) =>
        void (await commitConnection.run(
          (redis) => redis.hset(keys.identities, address, JSON.stringify(identity)),
          signal,
        )),
    },
    splits: {
      get: async (name, signal) =>
        choiceOf(await commitConnection.run((redis) => redis.hget(keys.splits, name), signal)),
      async settle(name, choice, signal) {
        await commitConnection.run((redis) => redis.hsetnx(keys.splits, name, choice), signal)
        return (
          choiceOf(await commitConnection.run((redis) => redis.hget(keys.splits, name), signal)) ?? choice
        )
      },
    },
    async stored(signal) {
      const sources = await commitConnection.run((redis) => readHash(redis, keys.sources), signal)
      return [...sources].flatMap(([key, text]) => readSource(key, text) ?? [])
    },
  }
}

function choiceOf(text: string | null): 'shards' | 'whole' | undefined {
  return text === 'shards' || text === 'whole' ? text : undefined
}

const RELEASE = `
local layout = redis.call('GET', KEYS[2])
if layout and layout ~= ARGV[3] then return 0 end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
`

/** Limit states that one transaction ends; few if each has a previous object. */
const MOST_FORGOTTEN = 200
const FEW_FORGOTTEN = 32

/** A source in Redis with its owner: each call is one fenced transaction, or several if it is large. */
class CheckpointSession extends IndexSession {
  readonly #parts: StoreParts
  readonly #holder: string
  readonly #checkpointKey: string
  /** The checkpoint in Redis, as far as this session knows. */
  checkpoint: Checkpoint | undefined
  /** Its text, which the next commit expects. */
  #stored: string | null = null
  #dueMs: number | undefined
  readonly #times = new RuleTimes()

  constructor(parts: StoreParts, source: Source) {
    const { keys, previous } = parts
    const { key, resource } = source
    const holder = randomBytes(6).toString('hex')
    super(parts, source, {
      index: keys.index(key),
      // Only of this session: a session that was fenced must not change another session's comparison.
      unlisted: `${keys.unseen(key)}:${holder}`,
      previous: keys.old(key),
      limits: keys.ownLimits(key),
      timers: keys.ownLimitTimers(key),
      previousJson: previous?.stores(resource) ? (object) => previous.jsonOf(resource, object) : undefined,
      hasRoom: () => previous?.hasRoom?.() !== false,
    })
    this.#parts = parts
    this.#holder = holder
    this.#checkpointKey = keys.checkpoint(key)
  }

  get dueMs(): number | undefined {
    return this.#dueMs
  }

  /** Reads the checkpoint and takes ownership: older sessions are fenced from here on. */
  async take(signal: AbortSignal, permit = () => {}): Promise<void> {
    const { commitConnection, keys } = this.#parts
    for (;;) {
      permit()
      this.#stored = await commitConnection.run((redis) => redis.get(this.#checkpointKey), signal)
      const checkpoint = readCheckpoint(this.#stored)
      this.checkpoint = checkpoint
      if (this.#stored === null) return
      if (!checkpoint) throw new UnreadableCheckpointError(this.#checkpointKey)
      try {
        await this.transact({}, this.keepsPrevious ? NOTHING : FORGET_PREVIOUS, signal, true)
        if (this.source.custom) await this.#describeAsCustom(signal)
        // Deletes the names that an interrupted list of the former session had not found.
        const left = `${keys.unseen(this.source.key)}:${checkpoint.holder}`
        return void (await commitConnection.run((redis) => redis.unlink(left), signal))
      } catch (error) {
        if (!(error instanceof FencedError)) throw error // the older session has just committed: try again
      }
    }
  }

  async adopt(former: FormerSource | undefined, signal: AbortSignal): Promise<void> {
    const { commitConnection, keys } = this.#parts
    const seeding = { phase: 'seeding', resourceVersion: '' } as const
    if (!former) {
      await this.describe(signal)
      return this.transact({ ...seeding, adopting: [] }, FORGET, signal)
    }
    const { source } = former
    const at = readCheckpoint(
      await commitConnection.run((redis) => redis.get(keys.checkpoint(source.key)), signal),
    )
    if (!at) return
    await this.describe(signal)
    // Before anything moves: after a crash the list needs the former selection.
    const before = this.checkpoint?.adopting
    const adopting = distinct([...(before ?? []), ...watchedBefore(source, at)])
    await this.transact({ ...seeding, adopting }, before === undefined ? FORGET : NOTHING, signal)
    const checkpoint = this.#stored ?? ''
    const adopter = {
      commitConnection,
      keys,
      key: this.source.key,
      checkpoint,
      keepsPrevious: this.keepsPrevious,
    }
    await adoptSource(adopter, former, signal)
    await this.transact({}, NOTHING, signal, true)
  }

  async expire(signal: AbortSignal, readMs = this.#parts.clock.now()): Promise<void> {
    await this.transact({}, planExpiry(this.keys, readMs), signal)
  }

  async forgetLimits(signal: AbortSignal): Promise<void> {
    const { commitConnection, clock } = this.#parts
    for (;;) {
      const most = this.keepsPrevious ? FEW_FORGOTTEN : MOST_FORGOTTEN
      const read = (redis: Redis) => redis.hrandfield(this.keys.limits, most) as Promise<string[]>
      const some = await commitConnection.run(read, signal)
      if (some.length === 0) return
      const uids = [...new Set(some.map((field) => field.slice(0, field.indexOf(':'))))]
      await this.transact({}, planDeselection(this.keys, uids, clock.now()), signal)
      await this.transact({}, planGone(some), signal)
    }
  }

  protected async describe(signal: AbortSignal): Promise<boolean> {
    const { title, resource, initial, clusterUid, spelling, custom } = this.source
    const selection = selectionOf(this.source)
    const text = JSON.stringify({ title, resource, ...selection, initial, clusterUid, spelling, custom })
    const { commitConnection, keys } = this.#parts
    const { key } = this.source
    const before = await commitConnection.run((redis) => redis.hget(keys.sources, key), signal)
    await commitConnection.run((redis) => redis.hset(keys.sources, key, text), signal)
    const known = before === null ? undefined : readSource(key, before)
    return known !== undefined && known.resource.version !== resource.version
  }

  /** Definitions may be readable only since the last list: without this, a start after the CRD has gone would not mark its objects as deleted. */
  async #describeAsCustom(signal: AbortSignal): Promise<void> {
    const { commitConnection, keys } = this.#parts
    const { key } = this.source
    const text = await commitConnection.run((redis) => redis.hget(keys.sources, key), signal)
    if (text !== null && readSource(key, text)?.custom === false) await this.describe(signal)
  }

  protected async copyNames(signal: AbortSignal): Promise<void> {
    const keys = { ...this.keys, checkpoint: this.#checkpointKey }
    await copyNames(this.#parts.commitConnection, keys, this.#stored ?? '', signal)
  }

  protected someUnlisted(most: number, signal: AbortSignal): Promise<Unlisted | undefined> {
    return someUnlisted(this.#parts.commitConnection, this.keys.unlisted, most, signal)
  }

  protected async transact(
    move: Partial<Checkpoint>,
    plan: CommitPlan,
    signal: AbortSignal,
    opens = false,
  ): Promise<void> {
    const { instance } = this.#parts
    const moved = { ...this.moved(move, this.#holder), ...(instance !== undefined && { instance }) }
    const next = JSON.stringify(moved)
    const keys = { ...this.keys, checkpoint: this.#checkpointKey }
    const own = { source: this.source, keys, stored: this.#stored, times: this.#times, known: this.known }
    const { timer, emitted } = await transact(this.#parts, { ...own, next, plan, opens }, signal)
    this.#stored = next
    this.checkpoint = moved
    this.emitted += emitted
    if (timer) this.#dueMs = timer.dueMs
  }
}

function distinct(selections: readonly Selection[]): Selection[] {
  return [...new Map(selections.map((it) => [JSON.stringify(it), it])).values()]
}
