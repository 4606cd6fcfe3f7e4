import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, readlinkSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { hostname } from 'node:os'
import type { Owners } from '../../model/change.ts'
import { script } from '../redis/script.ts'
import { startOf } from '../redis/state-lock.ts'

/** Which processes are alive, as the last look at the heartbeats showed; and who waits for one to go. */
export class LiveProcesses implements Owners {
  /** This process, in heartbeats and in the checkpoints of its sources. */
  readonly id: string
  /** Called when this process has left sources to others. */
  onReleased = () => {}
  #seen = new Map<string, { isAlive: boolean; released: number }>()
  #changes = 0
  #released = 0
  readonly #waiting = new Set<() => void>()

  constructor(id: string) {
    this.id = id
  }

  get changes(): number {
    return this.#changes
  }

  /** How often this process left a source to others. */
  get released(): number {
    return this.#released
  }

  /** Undefined for a process without a heartbeat, as one that others have found dead. */
  isAlive(id: string): boolean | undefined {
    return this.#seen.get(id)?.isAlive
  }

  /** Takes all heartbeats, and those of processes that are alive. */
  look(beats: readonly Heartbeat[], live: readonly Heartbeat[]): void {
    const alive = new Set(live.map(({ id }) => id))
    const seen = new Map(beats.map(({ id, released }) => [id, { isAlive: alive.has(id), released }] as const))
    const isFreed = [...this.#seen].some(([id, before]) => {
      const now = seen.get(id)
      return (before.isAlive && !now?.isAlive) || (now !== undefined && now.released > before.released)
    })
    this.#seen = seen
    if (!isFreed) return
    this.#changes++
    for (const wake of [...this.#waiting]) wake()
  }

  /** This process has left a source to others: its next heartbeat has it. */
  release(): void {
    this.#released++
    this.onReleased()
  }

  async wait(since: number, ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#changes !== since) return
    const over = Promise.withResolvers<void>()
    const wake = () => over.resolve()
    const timer = setTimeout(wake, ms)
    this.#waiting.add(wake)
    signal.addEventListener('abort', wake, { once: true })
    await over.promise
    clearTimeout(timer)
    this.#waiting.delete(wake)
    signal.removeEventListener('abort', wake)
    signal.throwIfAborted()
  }
}

/** What a worker writes of itself with every heartbeat. */
export interface Heartbeat {
  id: string
  /** The host's name. */
  host: string
  /** Boot, process namespace: pids of equal places can be compared. */
  place: string
  pid: number
  /** When the process started, in clock ticks since boot: a later process with its pid is another one. Absent where that is unknown. */
  start?: string | undefined
  /** Boot, network namespace: in equal ones its socket can be asked for. Absent where it has none. */
  network?: string | undefined
  /** The sinks that it delivers to. */
  sinks: readonly string[]
  /** Counts up. */
  beat: number
  /** How often it left a source to others. */
  released: number
}

/** Worker → its heartbeat as stored. */
export function textsOf(flat: readonly string[]): Map<string, string> {
  const texts = new Map<string, string>()
  for (let i = 1; i < flat.length; i += 2) texts.set(flat[i - 1] as string, flat[i] as string)
  return texts
}

/** The heartbeats in a reply of HGETALL; skips what other programs wrote. */
export function readBeats(flat: readonly string[]): Heartbeat[] {
  const beats: Heartbeat[] = []
  for (let i = 1; i < flat.length; i += 2) {
    try {
      const it = JSON.parse(flat[i] as string) as Heartbeat
      if (it.id === flat[i - 1] && Array.isArray(it.sinks)) beats.push(it)
    } catch {
      // Another program wrote this field.
    }
  }
  return beats
}

/**
 * Writes the own heartbeat; returns all heartbeats, the version of the slots, and 1 if Redis is full; or the layout when it is another
 * one. A script that has written may go on while Redis is full: the HDEL changes nothing. Without heartbeats nothing would make room.
 */
export const BEAT = script(`
local layout = redis.call('GET', KEYS[3])
if layout and layout ~= ARGV[3] then return layout end
local isFull = 0
local reply = redis.pcall('HSET', KEYS[1], ARGV[1], ARGV[2])
if type(reply) == 'table' and reply.err then
  if not string.find(reply.err, 'OOM', 1, true) then return reply end
  isFull = 1
  redis.call('HDEL', KEYS[1], '')
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
return { redis.call('HGETALL', KEYS[1]), redis.call('HGET', KEYS[2], 'version') or '0', isFull }
`)

/** Removes the heartbeats of dead workers, unless they wrote another heartbeat since. */
export const REMOVE_DEAD = script(`
local removed = {}
for i = 1, #ARGV, 2 do
  local isDead = redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1]
  if isDead then redis.call('HDEL', KEYS[1], ARGV[i]) end
  removed[#removed + 1] = isDead and 1 or 0
end
return removed
`)

/** A worker is dead when its heartbeat did not change for this long while we looked. */
export const DEAD_AFTER_MS = 4_000
/** Looking less often than this is not looking: Redis was away, for the others as well. */
const LOOK_GAP_MS = 2_500

/** Determines which processes are alive by heartbeats, without comparing clocks. */
export class WorkerLiveness {
  readonly #self: string
  readonly #seen = new Map<string, { beat: number; sinceMs: number }>()
  #lookedMs = Number.NEGATIVE_INFINITY

  constructor(self: string) {
    this.#self = self
  }

  /**
   * Returns the live ones. `nowMs` is of a clock that never jumps. The processes of those in `ended` have certainly ended: only
   * that makes a worker dead before its lease is over.
   */
  look(
    beats: readonly Heartbeat[],
    nowMs: number,
    ended: { has(id: string): boolean } = new Set(),
  ): Heartbeat[] {
    const isGap = nowMs - this.#lookedMs > LOOK_GAP_MS
    this.#lookedMs = nowMs
    const ids = new Set(beats.map(({ id }) => id))
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id)
    return beats.filter(({ id, beat }) => {
      const before = this.#seen.get(id)
      const isNew = isGap || before === undefined || before.beat !== beat
      const sinceMs = isNew ? nowMs : before.sinceMs
      this.#seen.set(id, { beat, sinceMs })
      return id === this.#self || (nowMs - sinceMs < DEAD_AFTER_MS && !ended.has(id))
    })
  }
}

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

/** Returns true if the process, one of our pid namespace, has ended. */
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

/** Resolves to true if no process listens at the socket. Any other fault proves nothing. */
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
