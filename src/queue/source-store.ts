import type { SourceStore } from '../change.ts'
import { readHash } from './pending.ts'
import { RedisSession } from './source-session.ts'
import { readCheckpoint, readIdentity, readSource } from './stored-json.ts'
import type { StoreParts } from './transact.ts'

/** Sources on Redis: position, index, lanes and ledger, each call one transaction. */
export function createSourceStore(parts: StoreParts): SourceStore {
  const { line, keys } = parts
  return {
    async open(source, signal, permit) {
      const session = new RedisSession(parts, source)
      await session.take(signal, permit)
      return session
    },
    async peek({ key }, signal) {
      const text = await line.run((redis) => redis.get(keys.checkpoint(key)), signal)
      // One that cannot be read is named when the source is opened.
      const checkpoint = readCheckpoint(text)
      if (!checkpoint) return undefined
      const { instance } = checkpoint
      if (instance === undefined) return { ...checkpoint, ownerAlive: undefined }
      // Ours from before Redis lost what came later: nobody else works on it.
      if (instance === parts.instance) return { ...checkpoint, ownerAlive: false }
      const alive = await line.run((redis) => redis.exists(keys.instance(instance)), signal)
      return { ...checkpoint, ownerAlive: alive === 1 }
    },
    absentKinds: {
      add: async (kind, signal) =>
        void (await line.run((redis) => redis.sadd(keys.absentKinds, kind), signal)),
      has: async (kind, signal) =>
        (await line.run((redis) => redis.sismember(keys.absentKinds, kind), signal)) === 1,
      remove: async (kind, signal) =>
        void (await line.run((redis) => redis.srem(keys.absentKinds, kind), signal)),
    },
    identities: {
      async ofUid(uid, signal) {
        const all = await line.run((redis) => readHash(redis, keys.identities), signal)
        return [...all.values()].map(readIdentity).find((it) => it?.uid === uid)
      },
      async get(address, signal) {
        const text = await line.run((redis) => redis.hget(keys.identities, address), signal)
        return readIdentity(text)
      },
      set: async (address, identity, signal) =>
        void (await line.run(
          (redis) => redis.hset(keys.identities, address, JSON.stringify(identity)),
          signal,
        )),
    },
    splits: {
      get: async (name, signal) => choiceOf(await line.run((redis) => redis.hget(keys.splits, name), signal)),
      async settle(name, choice, signal) {
        await line.run((redis) => redis.hsetnx(keys.splits, name, choice), signal)
        return choiceOf(await line.run((redis) => redis.hget(keys.splits, name), signal)) ?? choice
      },
    },
    async stored(signal) {
      const sources = await line.run((redis) => readHash(redis, keys.sources), signal)
      return [...sources].flatMap(([key, text]) => readSource(key, text) ?? [])
    },
  }
}

function choiceOf(text: string | null): 'shards' | 'whole' | undefined {
  return text === 'shards' || text === 'whole' ? text : undefined
}
