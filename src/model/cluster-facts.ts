import { setTimeout as pause } from 'node:timers/promises'
import type { ClusterIdentity, SourceStore } from './change.ts'

/** Facts about clusters for stores without Redis: kept in memory, for one process only. New identities are added to `identities`. */
export function clusterFacts(
  identities = new Map<string, ClusterIdentity>(),
): Pick<SourceStore, 'absentKinds' | 'identities' | 'release' | 'owners'> {
  const absent = new Set<string>()
  return {
    release: async () => {},
    owners: { changes: 0, wait: (_since, ms, signal) => pause(ms, undefined, { signal }) },
    absentKinds: {
      add: async (kind) => void absent.add(kind),
      has: async (kind) => absent.has(kind),
      remove: async (kind) => void absent.delete(kind),
    },
    identities: {
      get: async (address) => identities.get(address),
      set: async (address, identity) => void identities.set(address, identity),
      ofUid: async (uid) => [...identities.values()].find((it) => it.uid === uid),
    },
  }
}
