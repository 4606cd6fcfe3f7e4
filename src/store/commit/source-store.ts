import type { Checkpoint, SourceStore } from '../../model/change.ts'
import { LiveProcesses } from '../lanes/live-processes.ts'
import { LAYOUT } from '../redis/layout.ts'
import { readHash } from '../redis/scan.ts'
import { evalScript } from '../redis/script.ts'
import { CheckpointSession } from './checkpoint-session.ts'
import { readCheckpoint, readIdentity, readSource } from './stored-json.ts'
import type { StoreParts } from './transact.ts'

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
