import { setTimeout as pause } from 'node:timers/promises'
import type { Metrics } from '../../metrics.ts'
import type { WatchStatus } from '../../status.ts'
import { ApiFault } from '../api-fault.ts'
import { decide } from './decide.ts'
import { isRefusal, messageOf } from './fault.ts'
import { Hold, type HoldParts, type Permit } from './hold.ts'
import { holderOf, type LeaseDescription, type LeaseObject, MEMBER, released } from './lease.ts'
import { LeaseConflict } from './lease-api.ts'
import { type Group, leaseId, memberLeaseName } from './names.ts'
import { type Board, NOTHING_SEEN, observe } from './observe.ts'
import { Wish } from './wish.ts'

export interface SourceLeasesParts extends HoldParts {
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
    job: (permit: Permit, signal: AbortSignal) => Promise<End>,
  ): Promise<End>
  /** Others need not count on this process any more; what it holds is released as its runs end. */
  leave(): Promise<void>
}

/** How many requests go out at once. */
const PARALLEL = 8
const LEAVE_LIMIT_MS = 1_000
/** Durations of the lease. */
const CUT_OFF_AFTER = 4 / 3
const NEVER = new AbortController().signal

export function createSourceLeases(parts: SourceLeasesParts): SourceLeases {
  const { api, log, identity, monotonic, durationMs, namespace, group } = parts
  const wishes = new Map<string, Wish>()
  const stop = new AbortController()
  let board: Board = NOTHING_SEEN
  let member: Hold | undefined
  let joinedMs = Number.POSITIVE_INFINITY
  let trouble: { message: string; refused: boolean } | undefined
  let silent = false
  let leaving: Promise<void> | undefined
  let looping: Promise<void> | undefined

  const ids = () => [...wishes.keys()].sort()
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
      tell()
      await pause(delayMs, undefined, { signal: stop.signal }).catch(() => {})
    }
  }

  /** One look at all leases, and what follows from it. */
  async function look(): Promise<void> {
    await join()
    tellSilence()
    const sentMs = monotonic()
    const leases = await api.list(stop.signal)
    const receivedMs = monotonic()
    board = observe(board, leases, { sentMs, receivedMs, maxGapMs: durationMs / 3 })
    const me = { identity, wants: new Set(ids()) }
    const { claim, giveUp, remove } = decide({ board, me, durationMs, isCutOff: isCutOff() })
    // Who starts together with others sees them first, instead of taking what it would give back at once.
    const settled = sentMs - joinedMs >= parts.pollMs
    await eachOf(settled && !leaving ? claim : [], take)
    await eachOf(giveUp, yieldUp)
    await eachOf(remove, (lease) => api.remove(lease, stop.signal).catch(() => {}))
  }

  /** With the next renewal others learn that they can do what this process cannot. */
  function tellSilence(): void {
    if (isSilent() === silent) return
    silent = !silent
    member?.renewNow()
    if (silent) log.warn({}, 'Redis does not answer: watches are left to processes that it answers')
  }

  /** Others see that this process is there and what it can watch. */
  async function join(): Promise<void> {
    if (member?.isValid || leaving || wishes.size === 0) return
    const before = await api.get(memberLeaseName(group, identity), stop.signal)
    member = await Hold.take(parts, describeMember, before, stop.signal)
    joinedMs = monotonic()
  }

  async function take(id: string): Promise<void> {
    const wish = wishes.get(id)
    if (leaving || !wish?.isOpen) return
    try {
      // A stop does not cut it off: a lease that was taken without knowing is released by nobody.
      await wish.claim(board.seen.get(wish.name)?.lease, NEVER)
    } catch (error) {
      if (error instanceof LeaseConflict) return
      const message = explain(error)
      if (isRefusal(error)) wish.refuse(message, monotonic() + parts.slowRetryMs)
      else log.warn({ lease: wish.name, error: message }, 'could not take a lease')
    }
  }

  /** What runs here ends first; what is ours in writing alone is given back at once. */
  async function yieldUp(lease: LeaseObject): Promise<void> {
    const wish = wishes.get(leaseId(lease.metadata.name))
    if (wish?.isHeld) return wish.giveUp()
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

  function tell(): void {
    for (const wish of wishes.values()) {
      const seen = board.seen.get(wish.name)
      wish.tell(seen ? holderOf(seen.lease) : '', trouble)
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
      const wish = new Wish(parts, source, report)
      wishes.set(wish.id, wish)
      member?.renewNow()
      looping ??= keepLooking()
      const leave = async () => {
        // Others that still count on this process would leave what is free to it.
        await leaving
        await wish.leave()
      }
      try {
        for (;;) {
          const { hold, signal: own } = await wish.arrived(signal)
          const end = await job(hold, own)
          if (!own.aborted || signal.aborted) return end
          await leave()
        }
      } finally {
        await leave()
        wish.end()
        wishes.delete(wish.id)
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
