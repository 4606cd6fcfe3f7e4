import type { Duplex } from 'node:stream'
import type { Locate, Located } from './locate-master.ts'
import { type HostPort, showNode } from './redis-target.ts'

/** Finds the master, and leaves it when it is no longer one: a frozen or cut-off old master would not say so itself. */
export interface MasterFollower {
  locate(): Promise<HostPort>
  /** Ends this connection as soon as the master is elsewhere. */
  leaveWhenMoved(stream: Duplex, at: HostPort): void
}

const LOOK_MS = 2_000

export function followMaster(locate: Locate): MasterFollower {
  const connections = new Map<Duplex, string>()
  let timer: NodeJS.Timeout | undefined
  let newest = 0

  async function find(): Promise<Located> {
    const located = await locate()
    newest = Math.max(newest, located.epoch)
    return located
  }

  async function look(): Promise<void> {
    const known = newest
    const { at, epoch } = await find()
    // Only what is older answered: it knows nothing of what happened since.
    if (epoch < known) return
    const now = showNode(at)
    for (const [stream, then] of connections)
      if (then !== now) stream.destroy(new Error(`the master is ${now} now`))
  }

  return {
    locate: async () => (await find()).at,
    leaveWhenMoved(stream, at) {
      connections.set(stream, showNode(at))
      timer ??= setInterval(() => void look().catch(() => {}), LOOK_MS).unref()
      stream.once('close', () => {
        connections.delete(stream)
        if (connections.size > 0) return
        clearInterval(timer)
        timer = undefined
      })
    },
  }
}
