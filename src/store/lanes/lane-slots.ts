import type { Redis } from 'ioredis'
import type { Logger } from '../../observe/log.ts'
import { laneByKey } from '../../sink/order.ts'
import { type Keys, sinkOf, slotsOf } from '../keys.ts'
import { LAYOUT, LayoutChangedError } from '../redis/layout.ts'
import { describeFault, isOutOfMemory, isRefusal, type Troubles } from '../redis/redis-fault.ts'
import { runScript } from '../redis/script.ts'
import {
  BEAT,
  type Heartbeat,
  type LiveProcesses,
  openPresence,
  type Presence,
  REMOVE_DEAD,
  readBeats,
  textsOf,
  WorkerLiveness,
} from './live-processes.ts'
import { planSlots, RELEASE, TAKE, workerOf } from './slot-plan.ts'

export interface LaneSlotsParts {
  redis: Redis
  keys: Keys
  log: Logger
  troubles: Troubles
  clock: { now(): number }
  /** Learns from each heartbeat who is alive. */
  processes: LiveProcesses
  /** The sinks that it delivers to at the moment. */
  sinks(): readonly string[]
  onTaken(slots: readonly string[]): void
  /** Another worker has them: what is in memory of them is void. */
  onLost(slots: readonly string[]): void
  /** A worker is dead. Called before its heartbeat is removed, should this process end meanwhile, and after it: others woke it until then. */
  onGone(worker: string): void
  /** Begins nothing in this slot, and ends and acknowledges what is under way. Resolves to whether that took no longer. */
  drain(slot: string, withinMs: number): Promise<boolean>
  /** It stays after all: calls begin again. */
  onKept(slot: string): void
  /** Redis was asked, whether anything changed or not. */
  onBeat(): void
  /** Redis is full. Heartbeats and slots are written all the same: deliveries make room. */
  onOutOfMemory(): void
}

const BEAT_MS = 1_000
/** A process that did not reach Redis for this time may count as dead to others: it begins no call until it has renewed its tokens. */
const LEASE_MS = 3_500
const NO_LEASE = { steadyMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY }
const READ_ANYWAY = 10
/** For calls to end before a slot stays a while longer; doubles each time. */
const FIRST_DRAIN_MS = 1_000
const MOST_DOUBLINGS = 7
const SLOTS = 'the slots of lanes'

/**
 * The slots of lanes that this worker owns, each with its token. All acknowledgements check the token, so that one that lost
 * a slot without knowing, as a frozen process does, acknowledges nothing.
 */
export class LaneSlots {
  readonly #parts: LaneSlotsParts
  readonly #liveness: WorkerLiveness
  #presence: Promise<Presence> | undefined
  readonly #tokens = new Map<string, string>()
  readonly #draining = new Set<string>()
  /** Slots that could not be given away because of calls that take long: how often, and not before when again. */
  readonly #busy = new Map<string, { times: number; notBeforeMs: number }>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  /** When the last heartbeat that succeeded began. */
  #lease = NO_LEASE
  #counter = 0
  #version: string | undefined
  #membership = ''
  #sinceRead = 0
  #closed = false
  #paused = false

  constructor(parts: LaneSlotsParts) {
    this.#parts = parts
    this.#liveness = new WorkerLiveness(parts.processes.id)
  }

  start(): void {
    this.#timer = setInterval(() => this.beat(), BEAT_MS)
    this.beat()
  }

  /** The token of a slot; undefined where another worker has it, or it is on its way to another one. */
  token(slot: string): string | undefined {
    return this.#draining.has(slot) ? undefined : this.#tokens.get(slot)
  }

  /** It may stay, or go to another worker. */
  isDraining(slot: string): boolean {
    return this.#draining.has(slot)
  }

  held(): Iterable<string> {
    return this.#tokens.keys()
  }

  /** Acquires and releases no slots any more; no call begins. */
  pause(): void {
    this.#paused = true
  }

  /**
   * Whether calls may begin: not before the first heartbeat, nor long after the last one, nor while the process stops. The steady clock
   * stops while the machine sleeps, or is paused; the wall clock does not.
   */
  hasLease(): boolean {
    const { steadyMs, wallMs } = this.#lease
    if (this.#paused) return false
    return performance.now() - steadyMs < LEASE_MS && this.#parts.clock.now() - wallMs < LEASE_MS
  }

  /** An acknowledgement with this token was refused: another worker has the slot, unless it came back to this one since. */
  lost(slot: string, token: string): void {
    if (this.#tokens.get(slot) !== token) return
    this.#tokens.delete(slot)
    this.#version = undefined
    this.#parts.onLost([slot])
  }

  /** Beats now, instead of with the next interval. */
  beat(): void {
    if (this.#closed) return
    this.#running ??= this.#beat().finally(() => {
      this.#running = undefined
    })
  }

  /** Gives all slots away. What they hold has been drained. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    await this.#running
    const { redis, keys, processes } = this.#parts
    const held = [...this.#tokens].flat()
    this.#tokens.clear()
    try {
      await runScript(redis, RELEASE, [keys.slots, keys.workers], [processes.id, ...held])
    } finally {
      const presence = await this.#presence
      presence?.close()
    }
  }

  async #beat(): Promise<void> {
    const { redis, keys, troubles, log, clock, processes } = this.#parts
    this.#presence ??= openPresence(processes.id)
    const presence = await this.#presence
    const started = { steadyMs: performance.now(), wallMs: clock.now() }
    const own: Heartbeat = {
      id: processes.id,
      ...presence.where,
      beat: ++this.#counter,
      sinks: this.#parts.sinks(),
      released: processes.released,
    }
    try {
      const reply = await runScript(
        redis,
        BEAT,
        [keys.workers, keys.slots, keys.schema],
        [own.id, JSON.stringify(own), LAYOUT],
      )
      if (!Array.isArray(reply)) throw new LayoutChangedError(reply)
      const [flat, version, isFull] = reply as [string[], string, number]
      if (isFull === 1) this.#parts.onOutOfMemory()
      const beats = readBeats(flat)
      const ended = await presence.endedAmong(beats)
      const live = this.#liveness.look(beats, performance.now(), ended)
      processes.look(beats, live)
      const membership = JSON.stringify(live.map(({ id, sinks }) => [id, sinks]).toSorted())
      const isDue = ++this.#sinceRead >= READ_ANYWAY && live.length > 1
      if (!this.#paused && (this.#version !== version || this.#membership !== membership || isDue)) {
        this.#sinceRead = 0
        const isDone = await this.#reconcile(live, beats, textsOf(flat))
        this.#membership = membership
        this.#version = isDone ? version : undefined
      }
      this.#lease = started
      if (isFull === 1) troubles.note(SLOTS, 'Redis is full (OOM): deliveries continue and free memory')
      else troubles.over(SLOTS)
    } catch (error) {
      if (error instanceof LayoutChangedError) this.#lease = NO_LEASE
      if (isOutOfMemory(error)) this.#parts.onOutOfMemory()
      if (isRefusal(error)) troubles.note(SLOTS, describeFault(error))
      else log.debug({ error }, 'the heartbeat failed; it is tried again at the next interval')
    }
    if (!this.#closed) this.#parts.onBeat()
  }

  /** False when slots that it wants are not its own yet. */
  async #reconcile(
    live: readonly Heartbeat[],
    beats: readonly Heartbeat[],
    texts: ReadonlyMap<string, string>,
  ): Promise<boolean> {
    const { redis, keys, processes, log } = this.#parts
    const { id } = processes
    const tokens = new Map(Object.entries(await redis.hgetall(keys.slots)))
    tokens.delete('version')
    const lost = [...this.#tokens].filter(([slot, token]) => tokens.get(slot) !== token)
    for (const [slot] of lost) this.#tokens.delete(slot)
    if (lost.length > 0) this.#parts.onLost(lost.map(([slot]) => slot))
    await this.#releaseStrays(tokens)

    const alive = new Map(live.map((it) => [it.id, new Set(it.sinks)]))
    const ownerOf = (slot: string) => {
      const owner = workerOf(tokens.get(slot))
      return owner !== undefined && alive.get(owner)?.has(sinkOf(slot)) ? owner : undefined
    }
    const wanted: string[] = []
    const surplus = new Set(this.#tokens.keys())
    for (const sink of alive.get(id) ?? []) {
      const slots = slotsOf(sink)
      const candidates = [...alive].flatMap(([worker, sinks]) => (sinks.has(sink) ? [worker] : []))
      const rank = (worker: string) => Number(laneByKey(sink + worker, 65_536))
      const plan = planSlots(candidates, slots.map(ownerOf), rank)
      for (const [i, slot] of slots.entries()) {
        if (plan[i] !== id) continue
        surplus.delete(slot)
        if (!this.#tokens.has(slot) && ownerOf(slot) === undefined) wanted.push(slot)
      }
    }
    const isDone = await this.#take(wanted, tokens, texts)
    for (const slot of this.#busy.keys()) if (!surplus.has(slot)) this.#busy.delete(slot)
    const nowMs = performance.now()
    for (const slot of surplus) {
      if (this.#draining.has(slot) || (this.#busy.get(slot)?.notBeforeMs ?? 0) > nowMs) continue
      void this.#giveAway(slot)
    }
    const known = new Set(live.flatMap(({ sinks }) => sinks))
    const forgotten = [...tokens].filter(([slot]) => !known.has(sinkOf(slot)) && !this.#tokens.has(slot))
    const dead = beats.filter((it) => !alive.has(it.id))
    for (const it of dead) {
      log.info({ worker: it.id, host: it.host, pid: it.pid }, 'a worker is gone')
      this.#parts.onGone(it.id)
    }
    if (forgotten.length > 0)
      await runScript(redis, RELEASE, [keys.slots, keys.workers], ['', ...forgotten.flat()])
    if (dead.length === 0) return isDone
    const seen = dead.flatMap(({ id }) => [id, texts.get(id) ?? ''])
    const removed = (await runScript(redis, REMOVE_DEAD, [keys.workers], seen)) as number[]
    for (const [i, it] of dead.entries()) if (removed[i] === 1) this.#parts.onGone(it.id)
    return isDone
  }

  /**
   * Gives back slots that are this process's in Redis and that it does not know of, and removes them from `tokens`: the reply to a script that
   * took one was lost, or it could not be given away. Nobody would deliver from it otherwise.
   */
  async #releaseStrays(tokens: Map<string, string>): Promise<void> {
    const { redis, keys, processes, log } = this.#parts
    const isStray = (slot: string, token: string) =>
      workerOf(token) === processes.id && this.#tokens.get(slot) !== token
    const strays = [...tokens].filter(([slot, token]) => isStray(slot, token))
    if (strays.length === 0) return
    await runScript(redis, RELEASE, [keys.slots, keys.workers], ['', ...strays.flat()])
    for (const [slot] of strays) tokens.delete(slot)
    log.debug(
      { slots: strays.length },
      'released lane slots that Redis assigned to this process and it did not use',
    )
  }

  /** `texts`: the heartbeats by which their owners are dead. One that beat again since keeps its slots. False when some were not got. */
  async #take(
    slots: readonly string[],
    tokens: ReadonlyMap<string, string>,
    texts: ReadonlyMap<string, string>,
  ): Promise<boolean> {
    if (slots.length === 0) return true
    const { redis, keys, processes, log } = this.#parts
    const asked = slots.map((slot) => ({ slot, token: `${processes.id}:${++this.#counter}` }))
    const args = asked.flatMap(({ slot, token }) => [slot, tokens.get(slot) ?? '', token])
    const owners = [...new Set(slots.flatMap((slot) => workerOf(tokens.get(slot)) ?? []))]
    const seen = owners.flatMap((owner) => [owner, texts.get(owner) ?? ''])
    const names = [keys.slots, keys.schema, keys.workers]
    const taken = await runScript(redis, TAKE, names, [LAYOUT, owners.length, ...seen, ...args])
    if (!Array.isArray(taken)) throw new LayoutChangedError(taken)
    const got = asked.filter((_, i) => taken[i] === 1)
    if (this.#closed) return true
    for (const { slot, token } of got) this.#tokens.set(slot, token)
    log.debug({ slots: got.length }, 'took slots of lanes')
    if (got.length > 0) this.#parts.onTaken(got.map(({ slot }) => slot))
    return got.length === asked.length
  }

  /** Gives a slot away when nothing of it is under way; where calls take long, it stays a while and is tried again. */
  async #giveAway(slot: string): Promise<void> {
    const { redis, keys, log } = this.#parts
    const token = this.#tokens.get(slot)
    if (token === undefined) return
    const times = this.#busy.get(slot)?.times ?? 0
    const patienceMs = FIRST_DRAIN_MS * 2 ** Math.min(times, MOST_DOUBLINGS)
    this.#draining.add(slot)
    const isDrained = await this.#parts.drain(slot, patienceMs)
    this.#version = undefined
    if (this.#closed) return
    if (this.#tokens.get(slot) !== token) {
      // It was lost meanwhile. If it came back since, it stays.
      this.#draining.delete(slot)
      if (this.#tokens.has(slot)) this.#parts.onTaken([slot])
      return
    }
    if (!isDrained) {
      this.#draining.delete(slot)
      // The process stops: that ends what is in flight, and gives all slots away.
      if (this.#paused) return
      this.#busy.set(slot, { times: times + 1, notBeforeMs: performance.now() + patienceMs })
      this.#parts.onKept(slot)
      return
    }
    try {
      await runScript(redis, RELEASE, [keys.slots, keys.workers], ['', slot, token])
    } catch (error) {
      log.debug({ error }, 'slots were not given away; they are read again with the next heartbeat')
    } finally {
      this.#draining.delete(slot)
      this.#busy.delete(slot)
      this.lost(slot, token)
    }
  }
}
