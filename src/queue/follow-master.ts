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

  /** A few that were cut off know an older master, which may still take writes; most go back only when they were set up anew. */
  async function find(): Promise<Located> {
    const located = await locate()
    if (located.epoch < newest && !located.agreed)
      throw new Error(
        `only Sentinels that were cut off answer: ${showNode(located.at)} was the master before`,
      )
    newest = located.epoch
    return located
  }

  async function look(): Promise<void> {
    const now = showNode((await find()).at)
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
