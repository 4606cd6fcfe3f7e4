import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { WatchStatus } from '../../model/status.ts'
import type { Logger } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { ApiFault } from '../client/api-fault.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { DEFAULT_TIMING } from '../reflector/timing.ts'
import { type LeaseSettings, leaseNamespace } from '../schema.ts'
import { HeldLease, type HeldLeaseParts, type LeaseGuard } from './held-lease.ts'
import {
  type Group,
  holderOf,
  type LeaseDescription,
  type LeaseObject,
  leaseId,
  MEMBER,
  memberLeaseName,
  newIdentity,
  released,
} from './lease.ts'
import { createLeaseApi, isRefusal, LeaseConflict, messageOf } from './lease-api.ts'
import { LeaseCandidate } from './lease-candidate.ts'
import { type Board, decide, isFree, NOTHING_SEEN, observe } from './lease-decision.ts'

interface SourceLeasesParts extends HeldLeaseParts {
  group: Group
  namespace: string
  metrics: Metrics
  /** For how long nothing could be written: Redis does not answer this process. */
  silentMs(): number
  /** Between two looks at all leases, one request each. */
  pollMs: number
  /** Between tries of what needs a person: forbidden. */
  slowRetryMs: number
}

type Report = (status: Partial<WatchStatus>) => void

/** Leases of all watches, shared evenly among the processes that want them. */
export interface SourceLeases {
  /** Runs `job` whenever this process holds the source's lease, until `job` ends by itself or `signal` is aborted. */
  run<End>(
    source: { key: string; title: string },
    report: Report,
    signal: AbortSignal,
    job: (guard: LeaseGuard, signal: AbortSignal) => Promise<End>,
  ): Promise<End>
  /** Others need not count on this process any more; what it holds is released as its runs end. */
  leave(): Promise<void>
}

/** Concurrent requests. */
const PARALLEL = 8
const LEAVE_LIMIT_MS = 1_000
/** Durations of the lease. */
const CUT_OFF_AFTER = 4 / 3
const NEVER = new AbortController().signal

export function createSourceLeases(parts: SourceLeasesParts): SourceLeases {
  const { api, log, identity, monotonic, durationMs, namespace, group } = parts
  const candidates = new Map<string, LeaseCandidate>()
  const stop = new AbortController()
  let board: Board = NOTHING_SEEN
  let member: HeldLease | undefined
  let joinedMs = Number.POSITIVE_INFINITY
  let trouble: { message: string; refused: boolean } | undefined
  let silent = false
  let leaving: Promise<void> | undefined
  let looping: Promise<void> | undefined

  const ids = () => [...candidates.keys()].sort()
  /** Others need not know, nor does this process act, before a short outage of Redis is over. */
  const isSilent = () => parts.silentMs() >= durationMs
  /** By now all who have lost Redis, too, have said so. */
  const isCutOff = () => parts.silentMs() >= durationMs * CUT_OFF_AFTER
  const describeMember = (): LeaseDescription => ({
    name: memberLeaseName(group, identity),
    group,
    purpose: MEMBER,
    wants: isSilent() ? [] : ids(),
  })

  async function keepLooking(): Promise<void> {
    while (!stop.signal.aborted) {
      let delayMs = parts.pollMs * (0.9 + 0.2 * parts.random())
      try {
        await look()
        if (trouble) log.info({ namespace }, 'leases can be used again')
        trouble = undefined
      } catch (error) {
        if (stop.signal.aborted) return
        if (await complain(error)) delayMs = parts.slowRetryMs * (0.8 + 0.4 * parts.random())
      }
      reportWaiting()
      await pause(delayMs, undefined, { signal: stop.signal }).catch(() => {})
    }
  }

  /** One look at all leases, and what follows from it. */
  async function look(): Promise<void> {
    await join()
    announceSilence()
    const sentMs = monotonic()
    const leases = await api.list(stop.signal)
    const receivedMs = monotonic()
    board = observe(board, leases, { sentMs, receivedMs, maxGapMs: durationMs / 3 })
    const me = { identity, wants: new Set(ids()) }
    const { claim, giveUp, remove } = decide({ board, me, durationMs, isCutOff: isCutOff() })
    // A process claims nothing in its first poll interval: processes that start together must see each other first,
    // or the first one takes all leases, only to give its surplus back.
    const settled = sentMs - joinedMs >= parts.pollMs
    await eachOf(settled && !leaving ? claim : [], take)
    await eachOf(giveUp, yieldUp)
    await eachOf(remove, (lease) => api.remove(lease, stop.signal).catch(() => {}))
  }

  /** With the next renewal others learn that they can do what this process cannot. */
  function announceSilence(): void {
    if (isSilent() === silent) return
    silent = !silent
    member?.renewNow()
    if (silent) log.warn({}, 'Redis does not answer: watches are left to processes that it answers')
  }

  /** Others see that this process is there and what it can watch. */
  async function join(): Promise<void> {
    if (member?.isValid || leaving || candidates.size === 0) return
    const before = await api.get(memberLeaseName(group, identity), stop.signal)
    member = await HeldLease.take(parts, describeMember, before, stop.signal)
    joinedMs = monotonic()
  }

  async function take(id: string): Promise<void> {
    const candidate = candidates.get(id)
    if (leaving || !candidate?.isOpen) return
    try {
      // A stop does not cut it off: a lease that was taken without knowing is released by nobody.
      await candidate.claim(board.seen.get(candidate.name)?.lease, NEVER)
    } catch (error) {
      if (error instanceof LeaseConflict) return
      const message = explain(error)
      if (isRefusal(error)) candidate.refuse(message, monotonic() + parts.slowRetryMs)
      else log.warn({ lease: candidate.name, error: message }, 'could not take a lease')
    }
  }

  /** A run here ends first; a lease that is held only in writing is given back immediately. */
  async function yieldUp(lease: LeaseObject): Promise<void> {
    const candidate = candidates.get(leaseId(lease.metadata.name))
    if (candidate?.isHeld) return candidate.giveUp()
    await api.update(released(lease, parts.clock.now()), stop.signal).catch(() => {})
  }

  async function complain(error: unknown): Promise<boolean> {
    const message = explain(error)
    const refused = isRefusal(error)
    if (trouble?.message !== message)
      log[refused ? 'error' : 'warn']({ namespace, error: message }, 'cannot use leases; trying again')
    trouble = { message, refused }
    if (error instanceof ApiFault && error.status.code === 401) await parts.client.refresh().catch(() => {})
    return refused
  }

  function explain(error: unknown): string {
    const message = messageOf(error)
    return isRefusal(error)
      ? `cannot use leases in namespace ${namespace}, and does not watch without: ${message}`
      : message
  }

  function reportWaiting(): void {
    for (const candidate of candidates.values()) {
      const seen = board.seen.get(candidate.name)
      const holder = seen && !isFree(board, seen, durationMs) ? holderOf(seen.lease) : ''
      // A lease that this process has lost may be its own for a while in writing: nobody works on the watch.
      candidate.reportWaiting(holder === identity ? '' : holder, trouble)
    }
  }

  async function withdraw(): Promise<void> {
    stop.abort()
    const limit = new AbortController()
    const late = pause(LEAVE_LIMIT_MS, undefined, { signal: limit.signal }).catch(() => {})
    const gone = Promise.resolve(looping).then(() => member?.remove())
    await Promise.race([gone, late])
    limit.abort()
  }

  return {
    async run(source, report, signal, job) {
      const candidate = new LeaseCandidate(parts, source, report)
      candidates.set(candidate.id, candidate)
      member?.renewNow()
      looping ??= keepLooking()
      const leave = async () => {
        // Others that still count on this process would leave what is free to it.
        await leaving
        await candidate.leave()
      }
      try {
        for (;;) {
          const { hold, signal: own } = await candidate.arrived(signal)
          const end = await job(hold, own)
          if (!own.aborted || signal.aborted) return end
          await leave()
        }
      } finally {
        await leave()
        candidate.end()
        candidates.delete(candidate.id)
        member?.renewNow()
      }
    },
    leave() {
      leaving ??= withdraw()
      return leaving
    },
  }
}

/** A few at a time. */
async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void> | void): Promise<void> {
  const rest = [...items]
  const work = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await act(item)
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, work))
}

interface OpenLeasesParts {
  client: ClusterClient
  group: Group
  metrics: Metrics
  log: Logger
  contextNamespace: string | undefined
  silentMs(): number
}

/** The leases of a configuration, as this process shares in them. */
export function openLeases(settings: LeaseSettings, parts: OpenLeasesParts): SourceLeases {
  const { client, group, metrics, log } = parts
  const namespace = leaseNamespace(settings, process.env, parts.contextNamespace)
  const renewDeadlineMs = settings.renewDeadlineSeconds * 1_000
  const retryPeriodMs = settings.retryPeriodSeconds * 1_000
  const identity = newIdentity(process.env, hostname())
  log.info({ namespace, identity }, 'shares its watches with other processes by leases')
  return createSourceLeases({
    api: createLeaseApi(client, { namespace, group, timeoutMs: renewDeadlineMs / 2 }),
    client,
    group,
    namespace,
    metrics,
    log,
    silentMs: parts.silentMs,
    identity,
    durationMs: settings.durationSeconds * 1_000,
    renewDeadlineMs,
    retryPeriodMs,
    pollMs: retryPeriodMs / 2,
    slowRetryMs: DEFAULT_TIMING.slowRetryMs,
    monotonic: () => performance.now(),
    clock: { now: () => Date.now() },
    random: Math.random,
  })
}
