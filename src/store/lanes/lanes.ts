import { randomBytes } from 'node:crypto'
import type { SinkStatus } from '../../model/status.ts'
import { type QueueBounds, sinkBytes } from '../bounds/queue-bounds.ts'
import { createSinkBounds, type SinkBounds } from '../bounds/sink-bounds.ts'
import type { Enqueued } from '../entry.ts'
import { type History, recordsWith } from '../history/history.ts'
import { sinkOf } from '../keys.ts'
import { withdrawReport } from '../process-reports.ts'
import { createAcks } from './acks.ts'
import { createByteBudget, defaultBudget } from './byte-budget.ts'
import { type Caller, createCaller } from './calls.ts'
import { createClockJumps } from './clock-jumps.ts'
import { createDeliveringSince } from './delivering-since.ts'
import { LaneSlots } from './lane-slots.ts'
import { LiveProcesses } from './live-processes.ts'
import { createOutages } from './outages.ts'
import { type LaneServices, OwnedLanes } from './owned-lanes.ts'
import { EmptyLanes, RegisterScan } from './register.ts'
import { expiring, findOrphanedSinks, SinkRegistry, type SinkRegistryParts } from './sink-registry.ts'
import type { SinkStateParts } from './sink-state.ts'
import { createWaker, forgetWakeUps, listen, type Waker, type WakerParts } from './waker.ts'

/** A process without sinks sends heartbeats and wakes the workers of other processes; it delivers nothing. */
export interface LanesParts
  extends WakerParts,
    SinkRegistryParts,
    Omit<SinkStateParts, 'caller' | 'onAvailable'>,
    Pick<LaneServices, 'policy' | 'logs'> {
  /** Knows which processes are alive, and names this one; default: one without sources. */
  processes?: LiveProcesses
  /** Undefined where no history is kept. */
  history?: History
  /** The configured bounds of a sink. */
  boundsOf?(sink: string): Partial<QueueBounds>
  /** The memory limit of Redis in bytes: 0 if it has none, undefined while it is not known. */
  maxmemory?(): number | undefined
  /** Called with the approximate bytes of deliveries that became dead letters beyond the bounds. */
  onGivenUp?(bytes: number): void
  /** A call that takes longer is aborted and retried; sinks have shorter limits of their own. */
  deliverTimeoutMs: number
  /** Maximum bytes of deliveries in memory; default: a part of the process's memory. */
  budgetBytes?: number
}

/** How often the register is read, in heartbeats: a retried dead letter, for example, wakes nobody. */
const SCAN_BEATS = 2
const SCAN_GAP_MS = 1_000
/** Between two checks of the sinks' bounds. */
const BOUNDS_GAP_MS = 100
/** Maximum duration of each step when the process stops, whatever Redis does. */
const LAST_MS = 2_000

/** Delivers from the lanes whose slots this process owns. Deliveries and their order are in the streams. */
export class Lanes {
  readonly #parts: LanesParts
  readonly #processes: LiveProcesses
  readonly #services: LaneServices
  readonly #caller: Caller
  readonly #waker: Waker
  readonly #slots: LaneSlots
  readonly #owned: OwnedLanes
  readonly #empty: EmptyLanes
  readonly #register: RegisterScan
  readonly #bounds: SinkBounds
  /** Sinks of waiting deliveries that were logged as not configured. */
  readonly #unknown = new Set<string>()
  #receiver: ReturnType<typeof listen> | undefined
  #closing = false
  #beats = 0
  #isLoaded = false
  #scanning: Promise<void> | undefined
  #scanAgain = false
  #scanTimer: NodeJS.Timeout | undefined
  #boundsTimer: NodeJS.Timeout | undefined

  constructor(parts: LanesParts) {
    const { redis, keys, log, clock, policy } = parts
    this.#parts = parts
    this.#processes = parts.processes ?? new LiveProcesses(randomBytes(6).toString('hex'))
    this.#caller = createCaller(parts)
    const onAvailable = (sink: string) => this.#owned.pump(sink)
    const sinks = new SinkRegistry({ ...parts, caller: this.#caller, onAvailable })
    // First: the bounds of sinks are read when their parts are constructed.
    sinks.use([...parts.sinks.keys()], new Set())
    const jumps = createClockJumps(clock)
    this.#services = {
      ...parts,
      sinks,
      jumps,
      acks: createAcks(parts),
      recordOf: recordsWith(parts.history, clock),
      outages: createOutages({ ...parts, jumps }),
      deliveringSince: createDeliveringSince({ ...parts, jumps }),
      budget: createByteBudget(parts.budgetBytes ?? defaultBudget(), () => sinks.size),
      maxAgeMs: (sink) => parts.boundsOf?.(sink).maxAgeMs ?? policy.maxAgeMs,
    }
    this.#waker = createWaker(parts)
    this.#register = new RegisterScan({ redis, keys, log })
    this.#slots = this.#createSlots()
    this.#empty = new EmptyLanes({ redis, keys, tokenOf: (slot) => this.#slots.token(slot) })
    this.#owned = new OwnedLanes(this.#services, this.#slots, this.#empty, () => this.#scanSoon())
    this.#bounds = createSinkBounds({
      ...parts,
      bounds: () => this.#boundsInForce(),
      deliveringSince: this.#services.deliveringSince,
      giveUpOf: (lane) => this.#owned.giveUpOf(lane),
      lastError: (sink) => sinks.get(sink)?.lastError,
      onDue: () => this.#checkBoundsSoon(),
      onGivenUp: (bytes) => parts.onGivenUp?.(bytes),
    })
    this.#listen()
    this.#processes.onReleased = () => this.#slots.beat()
    this.#slots.start()
  }

  /** Takes the lanes that a commit of this process wrote: delivers, or wakes the workers that own them. Returns immediately. */
  enqueued(lanes: readonly Enqueued[]): void {
    this.#bounds.enqueued(lanes)
    this.#waker.wake(this.#owned.enqueued(lanes))
  }

  /** Whether this process delivers from the lane, and hardly anything waits in it. */
  keepsUp(lane: string): boolean {
    return this.#owned.keepsUp(lane)
  }

  /** Deliveries may wait in these lanes. Returns immediately; in case a wake-up is lost, workers read the register as well. */
  wake(lanes: readonly string[]): void {
    this.#waker.wake(this.#owned.wake(lanes))
  }

  statuses(): SinkStatus[] {
    return this.#services.sinks.states().map((state) => {
      const queue = this.#bounds.status(state.name)
      return { ...state.status(this.#owned.quarantine.count(state.name)), ...(queue && { queue }) }
    })
  }

  /**
   * Delivers to these sinks from now on; those in `replaced` are other sinks under the same name. Waiting deliveries of a removed sink are
   * still delivered, by the former sink, as long as this process lives.
   */
  use(names: readonly string[], replaced: ReadonlySet<string>): void {
    this.#services.sinks.use(names, replaced)
    for (const sink of names) this.#unknown.delete(sink)
    this.#listen()
    this.#slots.beat()
    this.#owned.pump()
  }

  /** The options of these sinks changed: the causes of their lanes' pauses may be gone. */
  tryNow(names: readonly string[]): void {
    for (const sink of names) {
      this.#services.sinks.get(sink)?.breaker.reset()
      this.#owned.hurry(sink)
    }
  }

  /** Begins no more calls, lets those in flight take `graceMs`, and releases the lanes to other processes. */
  async close(graceMs: number): Promise<void> {
    const { acks, sinks } = this.#services
    this.#closing = true
    sinks.close()
    clearTimeout(this.#scanTimer)
    clearTimeout(this.#boundsTimer)
    this.#slots.pause()
    const drained = this.#owned.drain()
    const hurry = setTimeout(() => this.#caller.abort(), graceMs)
    await withinMs(graceMs + LAST_MS, drained)
    clearTimeout(hurry)
    this.#caller.abort()
    await acks.idle(LAST_MS)
    acks.close()
    await withinMs(LAST_MS, this.#scanning ?? Promise.resolve())
    await withinMs(LAST_MS, this.#empty.free({ all: true }))
    await withinMs(LAST_MS, this.#slots.close())
    this.#owned.drop()
    this.#owned.quarantine.close()
    await withinMs(LAST_MS, Promise.all([this.#receiver?.close(), this.#waker.close()]))
    this.#parts.log.debug({}, 'lanes closed')
  }

  #createSlots(): LaneSlots {
    const { redis, keys, log } = this.#parts
    return new LaneSlots({
      ...this.#parts,
      processes: this.#processes,
      sinks: () => this.#services.sinks.names(),
      onTaken: () => this.#scan(),
      onLost: (lost) => this.#owned.drop(lost),
      onGone: (worker) => {
        void forgetWakeUps(this.#parts, worker).catch(() => {})
        void withdrawReport(redis, keys, worker).catch(() => {})
      },
      drain: (slot, ms) => withinMs(ms, this.#owned.drain([slot])),
      onKept: (slot) => this.#owned.resume(slot),
      onBeat: () => {
        if (this.#closing || this.#services.sinks.size === 0) return
        if (++this.#beats % SCAN_BEATS === 0) this.#scan()
        this.#owned.pump()
        const { sinks, budget } = this.#services
        for (const state of sinks.states()) state.awaitsMemory(budget.waitsMs(state.name))
        void this.#empty
          .free()
          .catch((error) => log.debug({ error }, 'empty lanes were not freed; they are found again'))
      },
    })
  }

  #listen(): void {
    if (this.#services.sinks.size === 0) return
    this.#receiver ??= listen(this.#parts, this.#processes.id, (lane) => this.#owned.wake([lane]))
  }

  /** Reads the register, now and again if it is called meanwhile. */
  #scan(): void {
    this.#scanAgain = true
    this.#scanning ??= this.#scanAll().finally(() => {
      this.#scanning = undefined
      if (this.#scanAgain && !this.#closing) this.#scan()
    })
  }

  #scanSoon(): void {
    if (this.#closing) return
    this.#scanTimer ??= setTimeout(() => {
      this.#scanTimer = undefined
      this.#scan()
    }, SCAN_GAP_MS)
  }

  async #scanAll(): Promise<void> {
    const { sinks, outages, log } = this.#services
    while (this.#scanAgain && !this.#closing) {
      this.#scanAgain = false
      try {
        if (!this.#isLoaded) await outages.load()
        this.#isLoaded = true
        const seen = this.#owned.beginScan()
        const { waiting, empty } = await this.#register.read(sinks)
        seen(waiting)
        this.#empty.found(empty)
        void this.#checkBounds(waiting)
        await this.#checkSinks(new Set([...waiting.keys()].map(sinkOf)))
      } catch (error) {
        log.debug({ error }, 'the register of lanes was not read; it is read again')
        this.#scanSoon()
      }
    }
  }

  /** Deliveries in quarantine age also while the bounds are not known. */
  async #checkBounds(waiting: ReadonlyMap<string, number>): Promise<void> {
    const { deliveringSince, sinks, log } = this.#services
    await deliveringSince
      .note(sinks.names())
      .catch((error) => log.debug({ error }, 'the time of delivering was not noted; it is noted again'))
    await this.#bounds.look(waiting)
  }

  /** Takes the sinks for which deliveries wait. */
  async #checkSinks(waiting: ReadonlySet<string>): Promise<void> {
    if (this.#closing) return
    const { sinks, log } = this.#services
    const before = sinks.size
    sinks.waiting(waiting)
    for (const sink of waiting) {
      if (sinks.has(sink) || this.#unknown.has(sink)) continue
      this.#unknown.add(sink)
      log.warn({ sink }, 'deliveries wait for a sink that the configuration does not have (any more)')
    }
    await this.#expireOrphanedSinks(waiting)
    if (sinks.size !== before) this.#slots.beat()
  }

  async #expireOrphanedSinks(waiting: ReadonlySet<string>): Promise<void> {
    const { redis, keys, sinks, jumps, clock, log, policy } = this.#services
    const { maxAgeMs } = policy
    const limit = { beforeMs: jumps.agoMs(maxAgeMs), nowMs: clock.now() }
    // A process that expires the deliveries of a sink does not have the sink: its mark stays.
    const own = { has: (sink: string) => sinks.delivers(sink) }
    const orphans = new Set(await findOrphanedSinks(redis, keys, waiting, own, limit))
    for (const sink of waiting) if (!orphans.has(sink)) sinks.restoreSink(sink)
    for (const sink of orphans) {
      if (sinks.has(sink)) continue
      log.warn({ sink }, 'no process has had this sink for too long: its deliveries become dead letters')
      sinks.expireSink(sink, expiring(sink, { maxAgeMs, jumps }))
    }
  }

  #boundsInForce(): Map<string, QueueBounds> {
    const { boundsOf, maxmemory } = this.#parts
    const { sinks, maxAgeMs } = this.#services
    const [own, gone] = [new Map<string, number | undefined>(), new Map<string, number | undefined>()]
    for (const { name, removed } of sinks.states())
      (removed ? gone : own).set(name, boundsOf?.(name).maxBytes)
    const limit = maxmemory ? maxmemory() : 0
    if (limit === undefined) return new Map()
    const bytes = sinkBytes(limit, own, gone)
    return new Map(bytes.entries().map(([sink, maxBytes]) => [sink, { maxAgeMs: maxAgeMs(sink), maxBytes }]))
  }

  #checkBoundsSoon(): void {
    const { sinks, log } = this.#services
    if (this.#closing) return
    this.#boundsTimer ??= setTimeout(() => {
      void this.#register
        .read(sinks)
        .then(({ waiting }) => this.#bounds.look(waiting, true))
        .catch((error) => log.debug({ error }, 'the register of lanes was not read; it is read again'))
        .finally(() => {
          this.#boundsTimer = undefined
        })
    }, BOUNDS_GAP_MS)
  }
}

/** Waits at most `ms` for the work, and ignores its errors: Redis forgets what is left. Resolves to whether the work has ended. */
async function withinMs(ms: number, work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), ms)
  const ended = work.then(
    () => true,
    () => false,
  )
  const inTime = await Promise.race([ended, late.promise])
  clearTimeout(timer)
  return inTime
}
