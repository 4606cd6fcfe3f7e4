import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '../../observe/log.ts'
import { ApiFault } from '../client/api-fault.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { JITTER } from '../schema.ts'
import { holderOf, type LeaseDescription, type LeaseObject, released, taken } from './lease.ts'
import { isRefusal, type LeaseApi, LeaseConflict, messageOf } from './lease-api.ts'

/** How long things take, in ms, and who asks. */
export interface HeldLeaseParts {
  api: LeaseApi
  client: Pick<ClusterClient, 'refresh'>
  log: Logger
  identity: string
  durationMs: number
  renewDeadlineMs: number
  retryPeriodMs: number
  /** Never goes back, and knows nothing of the time of day. */
  monotonic(): number
  /** The wall clock, for the times in the object. */
  clock: { now(): number }
  random(): number
}

/** This process does not hold the lease for certain (any more). */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
}

/** The operations of a lease that a source uses. */
export interface LeaseGuard {
  /** Throws LeaseLost unless the lease is valid at this moment, by the monotonic clock. */
  check(): void
  /** Resolves when the lease was renewed by a request that began after this call. */
  renewed(signal: AbortSignal): Promise<void>
}

const RELEASE_LIMIT_MS = 3_000
const RETRY_MS = 200

/**
 * One lease that this process holds: renewed until it is released, lost to somebody else, or could not be renewed within
 * the deadline, which counts from the moment at which the last successful request was sent.
 */
export class HeldLease implements LeaseGuard {
  readonly #parts: HeldLeaseParts
  readonly #describe: () => LeaseDescription
  readonly #ended = new AbortController()
  readonly #lost = new AbortController()
  readonly #loop: Promise<void>
  #lease: LeaseObject
  #renewedMs: number
  #watchdog: NodeJS.Timeout | undefined
  #hurry = Promise.withResolvers<void>()
  #renewal = Promise.withResolvers<void>()
  #failures = 0
  #lastError = ''

  private constructor(
    parts: HeldLeaseParts,
    describe: () => LeaseDescription,
    lease: LeaseObject,
    sentMs: number,
  ) {
    this.#parts = parts
    this.#describe = describe
    this.#lease = lease
    this.#renewedMs = sentMs
    this.#arm()
    this.#loop = this.#keep()
  }

  /** Takes a lease that is free, or one's own: `before` is how it was read. Throws LeaseConflict when another was faster. */
  static async take(
    parts: HeldLeaseParts,
    describe: () => LeaseDescription,
    before: LeaseObject | undefined,
    signal: AbortSignal,
  ): Promise<HeldLease> {
    const sentMs = parts.monotonic()
    const lease = await write(parts, describe(), before, signal)
    if (parts.monotonic() - sentMs >= parts.renewDeadlineMs) throw new LeaseLost('the answer came too late')
    return new HeldLease(parts, describe, lease, sentMs)
  }

  /** Aborted, with a LeaseLost, when it is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  get name(): string {
    return this.#lease.metadata.name
  }

  get isValid(): boolean {
    return !this.#ended.signal.aborted && !this.lost.aborted && this.#leftMs > 0
  }

  check(): void {
    if (!this.isValid) throw new LeaseLost(`the lease ${this.name} is not certain`)
  }

  async renewed(signal: AbortSignal): Promise<void> {
    const askedMs = this.#parts.monotonic()
    const end = AbortSignal.any([signal, this.lost, this.#ended.signal])
    while (this.#renewedMs < askedMs || !this.isValid) {
      this.renewNow()
      await Promise.race([this.#renewal.promise, aborted(end)])
    }
  }

  /** Instead of after the usual pause. */
  renewNow(): void {
    this.#hurry.resolve()
  }

  /** Leaves the lease free for others; false when it was not to be had, or the API server is away: then it expires. */
  release(): Promise<boolean> {
    const { api, clock } = this.#parts
    return this.#finish((lease, limit) => api.update(released(lease, clock.now()), limit))
  }

  /** Takes the lease away altogether. */
  remove(): Promise<boolean> {
    return this.#finish((lease, limit) => this.#parts.api.remove(lease, limit))
  }

  /** A renewal whose answer did not come any more may have made another version of it. */
  async #finish(act: (lease: LeaseObject, limit: AbortSignal) => Promise<unknown>): Promise<boolean> {
    this.#ended.abort()
    clearTimeout(this.#watchdog)
    await this.#loop
    const { api, identity, retryPeriodMs, log } = this.#parts
    const limit = AbortSignal.timeout(RELEASE_LIMIT_MS)
    let lease: LeaseObject | undefined = this.lost.aborted ? undefined : this.#lease
    while (lease && holderOf(lease) === identity) {
      try {
        await act(lease, limit)
        return true
      } catch (error) {
        if (limit.aborted || isRefusal(error)) {
          log.warn({ lease: this.name, error: messageOf(error) }, 'could not release a lease; it expires')
          return false
        }
        if (!(error instanceof LeaseConflict)) await pause(Math.min(RETRY_MS, retryPeriodMs))
        lease = await api.get(this.name, limit).catch(() => lease)
      }
    }
    return false
  }

  get #leftMs(): number {
    return this.#renewedMs + this.#parts.renewDeadlineMs - this.#parts.monotonic()
  }

  /** A timer that comes late, after the process was frozen, still comes before anything that waits for an answer. */
  #arm(): void {
    clearTimeout(this.#watchdog)
    this.#watchdog = setTimeout(() => {
      if (this.#leftMs > 0) return this.#arm()
      this.#lose(`it could not be renewed in time${this.#lastError && `: ${this.#lastError}`}`)
    }, this.#leftMs)
  }

  #lose(why: string): void {
    if (this.#ended.signal.aborted || this.lost.aborted) return
    clearTimeout(this.#watchdog)
    this.#lost.abort(new LeaseLost(`the lease ${this.name} is lost: ${why}`))
  }

  async #keep(): Promise<void> {
    const { retryPeriodMs, random } = this.#parts
    const end = AbortSignal.any([this.#ended.signal, this.lost])
    // The first comes at any time, so that many leases that were taken together are not renewed together.
    let delayMs = retryPeriodMs * (0.2 + 0.8 * random())
    while (!end.aborted) {
      await this.#rest(delayMs, end)
      if (end.aborted) return
      const done = await this.#renew(end)
      delayMs = retryPeriodMs * (done ? 1 + random() * JITTER : 0.5 + random() / 2)
    }
  }

  async #rest(ms: number, end: AbortSignal): Promise<void> {
    const timer = new AbortController()
    const signal = AbortSignal.any([end, timer.signal])
    await Promise.race([pause(ms, undefined, { signal }).catch(() => {}), this.#hurry.promise])
    timer.abort()
  }

  async #renew(end: AbortSignal): Promise<boolean> {
    const { log, monotonic, client } = this.#parts
    this.#hurry = Promise.withResolvers()
    const sentMs = monotonic()
    try {
      this.#lease = await this.#write(end)
    } catch (error) {
      if (end.aborted) return false
      if (error instanceof LeaseLost) this.#lose(error.message)
      this.#lastError = messageOf(error)
      const fields = { lease: this.name, error: this.#lastError }
      log[++this.#failures === 1 ? 'warn' : 'debug'](fields, 'could not renew a lease; trying again')
      if (error instanceof ApiFault && error.status.code === 401) await client.refresh().catch(() => {})
      return false
    }
    if (end.aborted) return false
    this.#failures = 0
    this.#lastError = ''
    this.#renewedMs = sentMs
    this.#arm()
    this.#renewal.resolve()
    this.#renewal = Promise.withResolvers()
    return true
  }

  /** An update whose answer was lost has succeeded, perhaps: then the version is another one, and the holder is not. */
  async #write(signal: AbortSignal): Promise<LeaseObject> {
    const { api, identity } = this.#parts
    try {
      return await write(this.#parts, this.#describe(), this.#lease, signal)
    } catch (error) {
      if (!(error instanceof LeaseConflict)) throw error
      const current = await api.get(this.name, signal)
      const holder = current && holderOf(current)
      if (current && holder !== identity)
        throw new LeaseLost(holder ? `${holder} holds it` : 'somebody released it')
      return write(this.#parts, this.#describe(), current, signal)
    }
  }
}

/** A lease that was deleted is created again. */
async function write(
  { api, identity, durationMs, clock }: HeldLeaseParts,
  description: LeaseDescription,
  before: LeaseObject | undefined,
  signal: AbortSignal,
): Promise<LeaseObject> {
  const next = taken(before, description, { holder: identity, durationMs, nowMs: clock.now() })
  const written = before && (await api.update(next, signal))
  return written ?? api.create(next, signal)
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
