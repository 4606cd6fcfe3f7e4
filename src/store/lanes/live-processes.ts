import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, readlinkSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { hostname } from 'node:os'
import type { Heartbeat } from './slot-plan.ts'
import { startOf } from './state-lock.ts'

/** Shows other processes of this machine that this one runs, and finds out which of them have ended. */
export interface Presence {
  /** Where this process runs, for its heartbeat. */
  readonly where: Pick<Heartbeat, 'host' | 'place' | 'pid' | 'start' | 'network'>
  /** Returns the ids of those whose processes have certainly ended. Of most that run elsewhere nothing can be known. */
  endedAmong(beats: readonly Heartbeat[]): Promise<Set<string>>
  close(): void
}

/**
 * A restart in place must not wait until the heartbeat of the process before counts as dead. A hostname and a pid prove nothing:
 * containers share both. The kernel proves it in two ways. In our pid namespace the process is not there, or a later one has its
 * pid. In our network namespace, which a pod keeps when its container restarts, nobody listens at the process's abstract socket:
 * that ends with the process and not before, also where the process is frozen.
 */
export async function openPresence(id: string): Promise<Presence> {
  const where = { host: hostname(), place: placeOf(), pid: process.pid, start: startTicksOf(process.pid) }
  const network = networkOf()
  const server = createServer((socket) => socket.destroy()).unref()
  const isListening = network !== undefined && (await listens(server, id))
  return {
    where: isListening ? { ...where, network } : where,
    async endedAmong(beats) {
      const ended = await Promise.all(
        beats.map((it) => {
          if (it.id === id) return false
          if (it.place === where.place) return hasEnded(it)
          return it.host === where.host && network !== undefined && it.network === network && isSilent(it.id)
        }),
      )
      return new Set(beats.flatMap((it, i) => (ended[i] ? [it.id] : [])))
    },
    close: () => void server.close(),
  }
}

const bootId = () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

/** Equal for processes whose pids can be compared; unique where that cannot be known. */
function placeOf(): string {
  if (process.platform !== 'linux') return `${hostname()}/${process.platform}`
  try {
    return `${bootId()}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return randomUUID()
  }
}

/** Equal for processes that share abstract sockets; undefined where there are none. */
function networkOf(): string | undefined {
  try {
    return `${bootId()}/${readlinkSync('/proc/self/ns/net')}`
  } catch {
    return undefined
  }
}

/** Undefined where it cannot be known cheaply. */
function startTicksOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return startOf(pid) || undefined
  } catch {
    return undefined
  }
}

/** Of a process of our pid namespace. */
function hasEnded({ pid, start }: Heartbeat): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true
  }
  const now = start === undefined ? undefined : startTicksOf(pid)
  return now !== undefined && now !== start
}

/** An abstract socket: it is in no file system, and the kernel removes it with its process. */
const socketOf = (id: string) => ({ path: `\0kubeherald-${id}` })

async function listens(server: ReturnType<typeof createServer>, id: string): Promise<boolean> {
  try {
    server.listen(socketOf(id))
    await once(server, 'listening')
    server.on('error', () => {})
    return true
  } catch {
    return false
  }
}

/** Does nobody listen at the socket of this process? Any other fault proves nothing. */
async function isSilent(id: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  try {
    const socket = connect(socketOf(id))
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'))
    socket.on('connect', () => {
      resolve(false)
      socket.destroy()
    })
  } catch {
    resolve(false)
  }
  return promise
}
