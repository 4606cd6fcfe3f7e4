import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { SinkStatus } from '../status.ts'
import { createAcks } from './acks.ts'
import { createByteBudget, defaultBudget } from './byte-budget.ts'
import { createCaller } from './call-sink.ts'
import { createClockJumps } from './clock-jumps.ts'
import { createDeliveringSince } from './delivering-since.ts'
import { EmptyLanes } from './empty-lanes.ts'
import { withdrawReport } from './instances.ts'
import type { DeliveryParts, LaneContext } from './lane-context.ts'
import type { Enqueued } from './lane-feed.ts'
import { sinkOf, slotOf } from './lane-names.ts'
import { LaneSlots } from './lane-slots.ts'
import { LiveProcesses } from './live-processes.ts'
import { findOrphans, undertaker } from './orphans.ts'
import { createOutages } from './outages.ts'
import { OwnedLanes } from './owned-lanes.ts'
import { ParkedLanes } from './parked-chains.ts'
import { type QueueBounds, sinkBytes } from './queue-bounds.ts'
import { RegisterScan } from './register-scan.ts'
import { createSinkBounds } from './sink-bounds.ts'
import { createSinkRegistry, type SinkRegistryParts, statusOf } from './sink-registry.ts'
import type { SinkState } from './sink-state.ts'
import { createWaker, forgetWakeUps, listen } from './waker.ts'

export interface Lanes {
  /** Takes what a commit of this process has written: delivered here, or by the worker that owns the lane. Returns immediately. */
  enqueued(lanes: readonly Enqueued[]): void
  /** This process delivers from the lane, and hardly anything waits in it. */
  keepsUp(lane: string): boolean
  /** These lanes may have work. Returns immediately; a wake-up that gets lost is made up for by a look at the register. */
  wake(lanes: readonly string[]): void
  statuses(): SinkStatus[]
  /**
   * The sinks to deliver to from now on, `anew` of them another one under its name. What waits for a removed one is still
   * delivered, by the sink that it was, as long as this process lives.
   */
  use(sinks: readonly string[], anew: ReadonlySet<string>): void
  /** The options of these sinks changed: whatever made their lanes wait may be over. */
  tryNow(sinks: readonly string[]): void
  /** Begins no call any more, gives those under way `graceMs`, and gives the lanes to other processes. */
  close(graceMs: number): Promise<void>
}

/** Without any sinks, this process only shows that it is alive, and wakes the workers of others. */
export interface LanesParts extends SinkRegistryParts, DeliveryParts {
  /** Connections of their own for BullMQ: one for commands, one for the worker. */
  queueConnection: Redis
  workerConnection: Redis
  /** Learns who is alive, and names this process; default: one without sources. */
  processes?: LiveProcesses
  onOutOfMemory(): void
  /** The bounds of a sink that the configuration has, where they are not the usual ones. */
  boundsOf?(sink: string): Partial<QueueBounds>
  /** The memory limit of Redis in bytes: 0 where there is none, undefined while it is not known. */
  maxmemory?(): number | undefined
  /** So many bytes, about, became dead letters beyond the bounds. */
  onGivenUp?(bytes: number): void
  /** A call that takes longer is aborted and tried again; sinks have tighter limits of their own. */
  deliverTimeoutMs: number
  /** Bytes of deliveries in memory at once; a part of the process's memory by default. */
  budgetBytes?: number
}

/** How often the register is read, in heartbeats: for what nobody told of, as a dead letter that was put back. */
const SCAN_BEATS = 2
const SCAN_GAP_MS = 1_000
/** Between two looks at the bounds of sinks. */
const BOUNDS_GAP_MS = 100
/** What may take no longer when the process stops, whatever Redis does. */
const LAST_MS = 2_000

/** Delivers from the lanes whose slots this process owns. Deliveries and their order are in the streams. */
export function createLanes(parts: LanesParts): Lanes {
  const { redis, keys, log, troubles, policy, clock } = parts
  const processes = parts.processes ?? new LiveProcesses(randomBytes(6).toString('hex'))
  const registry = createSinkRegistry(parts)
  registry.use([...parts.sinks.keys()], new Set())
  const waker = createWaker(parts)
  const acks = createAcks(parts)
  const caller = createCaller(parts)
  const jumps = createClockJumps(clock)
  const outages = createOutages({ redis, keys, clock, jumps, log })
  const budget = createByteBudget(parts.budgetBytes ?? defaultBudget(), () => registry.size)
  const parked: ParkedLanes = new ParkedLanes(() => context)
  const empty = new EmptyLanes({ redis, keys, tokenOf: (slot) => slots.token(slot) })
  const register = new RegisterScan({ redis, keys, log })
  const opened = new Map<string, NodeJS.Timeout>()
  const unknown = new Set<string>()
  let former: ReadonlySet<string> = new Set()
  let closing = false
  let beats = 0
  let scanning: Promise<void> | undefined
  let scanAgain = false
  let receiver: ReturnType<typeof listen> | undefined
  let isLoaded = false

  const slots = new LaneSlots({
    ...{ redis, keys, log, troubles, processes, clock },
    sinks: () => [...registry.keys()],
    onTaken: () => scan(),
    onLost: (lost) => owned.drop(lost),
    onGone(worker) {
      void forgetWakeUps(parts, worker).catch(() => {})
      void withdrawReport(redis, keys, worker).catch(() => {})
    },
    drain: (slot, ms) => withinMs(ms, owned.drain([slot])),
    onKept: (slot) => owned.resume(slot),
    onBeat() {
      if (closing || registry.size === 0) return
      if (former.size > 0 || ++beats % SCAN_BEATS === 0) scan()
      owned.pump()
      void empty
        .free()
        .catch((error) => log.debug({ error }, 'empty lanes were not freed; they are found again'))
    },
  })

  const context: LaneContext = {
    ...parts,
    ...{ caller, acks, budget, outages, jumps, parked },
    stateOf: (sink) => registry.get(sink),
    maxAgeMs: (sink) => parts.boundsOf?.(sink).maxAgeMs ?? policy.maxAgeMs,
    mayStart: () => !closing && slots.hasLease(),
    isFormer: (lane) => former.has(lane),
    waitsForFormer: (lane) => former.size > 0 && owned.waitsFor(lane, former),
    pausedUntilMs: (lane) => owned.pausedUntilMs(lane),
    formerChains: (lane) => owned.formerChains(lane, former),
    onFenced: (lane, token) => slots.lost(slotOf(lane), token),
    onEmpty: (lane) => owned.remove(lane),
    onOpen: openLater,
    onPassed: (state) => owned.pump(state.name),
  }
  const owned: OwnedLanes = new OwnedLanes({ context, slots, parked, empty, onGap: scanSoon })
  const bounds = createSinkBounds({
    ...parts,
    bounds: boundsInForce,
    deliveringSince: createDeliveringSince({ ...parts, jumps }),
    giverOf: (lane) => owned.giverOf(lane),
    lastError: (sink) => registry.get(sink)?.lastError,
    onDue: lookSoon,
    onGivenUp: (bytes) => parts.onGivenUp?.(bytes),
  })

  function boundsInForce(): Map<string, QueueBounds> {
    const [own, gone] = [new Map<string, number | undefined>(), new Map<string, number | undefined>()]
    for (const { name, removed } of registry.values())
      (removed ? gone : own).set(name, parts.boundsOf?.(name).maxBytes)
    const maxmemory = parts.maxmemory ? parts.maxmemory() : 0
    if (maxmemory === undefined) return new Map()
    const bytes = sinkBytes(maxmemory, own, gone)
    return new Map(
      bytes.entries().map(([sink, maxBytes]) => [sink, { maxAgeMs: context.maxAgeMs(sink), maxBytes }]),
    )
  }

  let boundsTimer: NodeJS.Timeout | undefined
  function lookSoon(): void {
    if (closing) return
    boundsTimer ??= setTimeout(() => {
      void register
        .read(registry)
        .then(({ waiting }) => bounds.look(waiting, true))
        .catch((error) => log.debug({ error }, 'the register of lanes was not read; it is read again'))
        .finally(() => {
          boundsTimer = undefined
        })
    }, BOUNDS_GAP_MS)
  }

  /** A sink that fails is asked again when its breaker admits a probe. */
  function openLater(state: SinkState): void {
    if (opened.has(state.name) || closing) return
    const ask = () => {
      opened.delete(state.name)
      owned.pump(state.name)
    }
    opened.set(state.name, setTimeout(ask, Math.max(1, state.breaker.waitMs())))
  }

  function scan(): void {
    scanAgain = true
    scanning ??= scanAll().finally(() => {
      scanning = undefined
      if (scanAgain && !closing) scan()
    })
  }

  let scanTimer: NodeJS.Timeout | undefined
  function scanSoon(): void {
    if (closing) return
    scanTimer ??= setTimeout(() => {
      scanTimer = undefined
      scan()
    }, SCAN_GAP_MS)
  }

  async function scanAll(): Promise<void> {
    while (scanAgain && !closing) {
      scanAgain = false
      try {
        if (!isLoaded) await outages.load()
        if (!isLoaded || former.size > 0) former = new Set(await redis.smembers(keys.formerLanes))
        isLoaded = true
        const seen = owned.beginScan()
        const { waiting, empty: found } = await register.read(registry)
        seen(waiting)
        empty.found(found)
        void bounds.look(waiting)
        await lookAfterSinks(new Set([...waiting.keys()].map(sinkOf)))
      } catch (error) {
        log.debug({ error }, 'the register of lanes was not read; it is read again')
        scanSoon()
      }
    }
  }

  async function lookAfterSinks(waiting: ReadonlySet<string>): Promise<void> {
    if (closing) return
    const before = registry.size
    registry.waiting(waiting)
    for (const sink of waiting) {
      if (registry.has(sink) || unknown.has(sink)) continue
      unknown.add(sink)
      log.warn({ sink }, 'deliveries wait for a sink that the configuration does not have (any more)')
    }
    await buryOrphans(waiting)
    if (registry.size !== before) slots.beat()
  }

  async function buryOrphans(waiting: ReadonlySet<string>): Promise<void> {
    const { maxAgeMs } = policy
    const limit = { beforeMs: jumps.agoMs(maxAgeMs), nowMs: clock.now() }
    // Standing in for a sink is not having it: the mark stays until a process takes it away that has.
    const own = { has: (sink: string) => registry.has(sink) && !registry.isBuried(sink) }
    const orphans = new Set(await findOrphans(redis, keys, waiting, own, limit))
    for (const sink of waiting) if (!orphans.has(sink)) registry.exhume(sink)
    for (const sink of orphans) {
      if (registry.has(sink)) continue
      log.warn({ sink }, 'no process has had this sink for too long: what waits for it becomes dead letters')
      registry.bury(sink, undertaker(sink, { maxAgeMs, jumps }))
    }
  }

  function listenWithSinks(): void {
    if (registry.size > 0) receiver ??= listen(parts, processes.id, (lane) => owned.wake([lane]))
  }
  listenWithSinks()
  processes.onReleased = () => slots.beat()
  slots.start()

  return {
    enqueued(lanes) {
      bounds.enqueued(lanes)
      waker.wake(owned.enqueued(lanes))
    },
    keepsUp: (lane) => owned.keepsUp(lane),
    wake(lanes) {
      waker.wake(owned.wake(lanes))
    },
    statuses: () =>
      [...registry.values()].map((state) => {
        const queue = bounds.status(state.name)
        return { ...statusOf(state, parked.count(state.name)), ...(queue && { queue }) }
      }),
    use(sinks, anew) {
      registry.use(sinks, anew)
      for (const sink of sinks) unknown.delete(sink)
      listenWithSinks()
      slots.beat()
      owned.pump()
    },
    tryNow(sinks) {
      for (const sink of sinks) {
        registry.get(sink)?.breaker.reset()
        parked.hurry(sink)
        owned.hurry(sink)
      }
    },
    async close(graceMs) {
      closing = true
      for (const timer of opened.values()) clearTimeout(timer)
      clearTimeout(scanTimer)
      clearTimeout(boundsTimer)
      slots.pause()
      const drained = owned.drain()
      const hurry = setTimeout(() => caller.abort(), graceMs)
      await withinMs(graceMs + LAST_MS, drained)
      clearTimeout(hurry)
      caller.abort()
      await acks.idle(LAST_MS)
      acks.close()
      await withinMs(LAST_MS, scanning ?? Promise.resolve())
      await withinMs(LAST_MS, empty.free({ all: true }))
      await withinMs(LAST_MS, slots.close())
      owned.drop()
      parked.close()
      await withinMs(LAST_MS, Promise.all([receiver?.close(), waker.close()]))
      log.debug({}, 'lanes closed')
    },
  }
}

/** Waits no longer, and for no fault: what is left is Redis's to forget. Resolves to whether the work came to its end. */
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
