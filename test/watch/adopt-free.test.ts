import { expect, test } from 'vitest'
import type {
  FormerSource,
  PeekedCheckpoint,
  Selection,
  Source,
  SourceSession,
} from '../../src/model/change.ts'
import { silentLog } from '../../src/observe/log.ts'
import type { PlannedSource } from '../../src/watch/plan/plan.ts'
import type { ReflectorStatus } from '../../src/watch/reflector/reflector-status.ts'
import { adopt } from '../../src/watch/reflector/takeover.ts'
import { DEFAULT_TIMING } from '../../src/watch/reflector/timing.ts'

/** Former sources, some of them of a process that goes on for longer than a new source waits for it. */

interface Former {
  key: string
  isOwned: boolean
  /** Of its last commit. */
  atMs?: number
}

/** Adopts from these; `adopting` is what an earlier attempt has begun to adopt. */
async function adoptFrom(stored: readonly Former[], adopting?: readonly Selection[]) {
  const left = new Map(stored.map((it) => [it.key, it]))
  const adopted: string[] = []
  const store = {
    async peek({ key }: Source) {
      const { isOwned, atMs } = left.get(key) as Former
      return { ownerAlive: isOwned, atMs } as PeekedCheckpoint
    },
    owners: { changes: 0, wait: async () => {} },
  }
  const session = {
    checkpoint: adopting && { adopting },
    async adopt({ source }: FormerSource) {
      left.delete(source.key)
      adopted.push(source.key)
      session.checkpoint = { adopting: [] }
    },
  }
  const formers = async () =>
    [...left.keys()].map((key) => ({ source: { key, title: key } as Source, claims: () => true }))
  const adopts = await adopt(
    { store, timing: { ...DEFAULT_TIMING, adoptWaitMs: 0 }, log: silentLog },
    { title: 'all', adoption: { formers } } as unknown as PlannedSource,
    session as unknown as SourceSession,
    { standby() {} } as unknown as ReflectorStatus,
    new AbortController().signal,
  )
  return { adopts, adopted }
}

test('a source whose process goes on keeps its state, and the others are adopted', async () => {
  const stored = [
    { key: 'narrow', isOwned: true },
    { key: 'other', isOwned: false },
  ]
  expect(await adoptFrom(stored)).toEqual({ adopts: true, adopted: ['other'] })
})

test('of sources that overlap the newest is adopted first: what it knows of an object is kept', async () => {
  const stored = [3, 9, 5].map((atMs) => ({ key: `of ${atMs}`, isOwned: false, atMs }))
  expect(await adoptFrom(stored)).toMatchObject({ adopted: ['of 9', 'of 5', 'of 3'] })
})

test('a source starts over when a process goes on with all that it would adopt', async () => {
  expect(await adoptFrom([{ key: 'narrow', isOwned: true }])).toEqual({ adopts: false, adopted: [] })
})

test('what an earlier attempt has adopted is kept, although a process goes on with the rest', async () => {
  expect(await adoptFrom([{ key: 'narrow', isOwned: true }], [])).toEqual({ adopts: true, adopted: [] })
})
