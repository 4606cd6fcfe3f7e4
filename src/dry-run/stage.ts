import type { ClusterEvent } from '../event.ts'
import { complete } from './complete.ts'
import type { DryRun } from './dry-run.ts'
import { eventOf } from './event-of.ts'
import { createKnownObjects } from './known-objects.ts'
import { Story, type StoryFault, type Written } from './story.ts'

export type Staged = { ok: true; event: ClusterEvent } | { ok: false; faults: readonly StoryFault[] }

/** Where changes are told to one run, one after the other, with what is known around them. */
export interface Stage {
  /** An object that is known besides. Gives what is wrong with it. */
  know(object: unknown, atMs: number): readonly StoryFault[]
  tell(change: Written): Staged
}

export interface StageOptions {
  run: DryRun
  /** The cluster's name. */
  cluster: string
  /** Salts the hashes of Secret values. */
  salt: Buffer
}

export function createStage({ run, cluster, salt }: StageOptions): Stage {
  const story = new Story()
  const surroundings = createKnownObjects()
  const { keepsOld, named } = run.generation
  return {
    know: (object, atMs) => unlessTooDeep(() => know(object, atMs), [TOO_DEEP]),
    tell: (change) => unlessTooDeep(() => tell(change), { ok: false, faults: [TOO_DEEP] }),
  }

  function know(object: unknown, atMs: number): readonly StoryFault[] {
    const whole = complete(object, atMs)
    if (!whole.ok) return whole.faults.map((fault) => ({ ...fault, of: 'object' }))
    surroundings.add(whole.object)
    return []
  }

  function tell(change: Written): Staged {
    const told = story.tell(change)
    if (!told.ok) return told
    surroundings.add(told.happening.object)
    const event = eventOf(told.happening, { cluster, salt, keepsOld, surroundings, named })
    if (event) return { ok: true, event }
    return {
      ok: false,
      faults: [{ of: 'object', path: ['metadata'], message: 'is no object that a watch could read' }],
    }
  }
}

const TOO_DEEP: StoryFault = { of: 'object', path: [], message: 'it nests too deep' }

/** An object may have more levels than can be walked or written. */
function unlessTooDeep<T>(work: () => T, otherwise: T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof RangeError) return otherwise
    throw error
  }
}
