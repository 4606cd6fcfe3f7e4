import type { WatchStatus } from '../../model/status.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { HeldLease, type HeldLeaseParts, type LeaseLost } from './held-lease.ts'
import {
  type Group,
  type LeaseDescription,
  type LeaseObject,
  leaseId,
  relabelled,
  watchLeaseName,
} from './lease.ts'
import { LeaseConflict, messageOf } from './lease-api.ts'

interface LeaseCandidateParts extends HeldLeaseParts {
  group: Group
  metrics: Metrics
}

/** How long a source may wait for its lease without being stuck; reported again at each poll. */
const ALIVE_MS = 120_000

/** A watch that this process can work on: while it holds the lease, somebody runs it. */
export class LeaseCandidate {
  readonly #parts: LeaseCandidateParts
  readonly #source: { key: string; title: string }
  readonly #report: (status: Partial<WatchStatus>) => void
  readonly name: string
  #hold: HeldLease | undefined
  #given: AbortController | undefined
  #arrival = Promise.withResolvers<void>()
  /** Nobody wants it here any more. */
  #ended = false
  /** Why the API server does not let this process have it. */
  #refusal: { message: string; untilMs: number } | undefined

  constructor(
    parts: LeaseCandidateParts,
    source: { key: string; title: string },
    report: (status: Partial<WatchStatus>) => void,
  ) {
    this.#parts = parts
    this.#source = source
    this.#report = report
    this.name = watchLeaseName(parts.group, source)
    parts.metrics.leaseHeld.set({ watch: source.title }, 0)
    for (const transition of ['acquired', 'released', 'lost'])
      parts.metrics.leaseTransitions.inc({ watch: source.title, transition }, 0)
  }

  get id(): string {
    return leaseId(this.name)
  }

  /** Also while a run under a hold that was lost comes to its end. */
  get isHeld(): boolean {
    return this.#hold !== undefined
  }

  /** True if the lease may be claimed at this moment. */
  get isOpen(): boolean {
    return !this.isHeld && (this.#refusal?.untilMs ?? 0) <= this.#parts.monotonic()
  }

  /** Takes the lease; throws the API server's fault. */
  async claim(before: LeaseObject | undefined, signal: AbortSignal): Promise<void> {
    const { group } = this.#parts
    const { title } = this.#source
    const describe = () => ({ name: this.name, group, purpose: 'watch' as const, title })
    const hold = await HeldLease.take(this.#parts, describe, before, signal).catch(async (error: unknown) => {
      if (error instanceof LeaseConflict && !before) await this.#relabel(describe(), signal)
      throw error
    })
    // The watch went while the answer was under way: a lease that no run ever ends would be renewed for ever.
    if (this.#ended) return void (await hold.release())
    this.#refusal = undefined
    this.#hold = hold
    this.#given = new AbortController()
    hold.lost.addEventListener('abort', () => this.#onLost(hold.lost.reason as LeaseLost), { once: true })
    this.#count('acquired', 1)
    const from = before?.spec?.holderIdentity
    this.#parts.log.info(
      { watch: title, lease: this.name, ...(from && { from }) },
      'acquired the lease of a watch',
    )
    this.#report({ holder: this.#parts.identity, phase: 'listing' })
    this.#arrival.resolve()
  }

  /** It exists, and no list shows it: its labels were removed. The next list begins to count how long it is unchanged. */
  async #relabel(description: LeaseDescription, signal: AbortSignal): Promise<void> {
    const { api, log } = this.#parts
    const found = await api.get(this.name, signal)
    const next = found && relabelled(found, description)
    if (!next) return
    log.warn(
      { watch: this.#source.title, lease: this.name },
      'a lease lacks its labels: they are written again',
    )
    await api.update(next, signal)
  }

  /** The API server does not let this process have it: reported, and retried later. */
  refuse(message: string, untilMs: number): void {
    if (this.#refusal?.message !== message)
      this.#parts.log.error({ watch: this.#source.title, error: message }, 'cannot take the lease of a watch')
    this.#refusal = { message, untilMs }
  }

  /** Lets the run end, and then leaves the lease to others. */
  giveUp(): void {
    this.#given?.abort()
  }

  /** What others do, as the last look at the leases showed. */
  reportWaiting(holder: string, trouble: { message: string; refused: boolean } | undefined): void {
    const aliveUntilMs = performance.now() + ALIVE_MS
    if (this.isHeld) return
    const why = trouble ?? (this.#refusal && { message: this.#refusal.message, refused: true })
    if (why?.refused)
      return this.#report({ phase: 'failing', ready: false, lastError: why.message, aliveUntilMs })
    if (why) return this.#report({ phase: 'reconnecting', lastError: why.message, aliveUntilMs })
    this.#report({ phase: 'standby', holder, aliveUntilMs })
  }

  /** Resolves with the lease once it is held; `signal` is aborted when it has to be given up or is lost. */
  async arrived(signal: AbortSignal): Promise<{ hold: HeldLease; signal: AbortSignal }> {
    for (;;) {
      signal.throwIfAborted()
      if (this.#hold && this.#given)
        return { hold: this.#hold, signal: AbortSignal.any([signal, this.#hold.lost, this.#given.signal]) }
      const stop = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => stop.resolve(), { once: true })
      await Promise.race([this.#arrival.promise, stop.promise])
    }
  }

  /** The run under the lease has ended: nothing of it can still write. */
  async leave(): Promise<void> {
    const hold = this.#hold
    if (!hold) return
    if (await hold.release()) {
      this.#count('released', 0)
      this.#parts.log.info({ watch: this.#source.title, lease: this.name }, 'released the lease of a watch')
    }
    this.#arrival = Promise.withResolvers()
    this.#hold = undefined
    this.#given = undefined
  }

  /** It is not wanted any more. */
  end(): void {
    this.#ended = true
    this.#parts.metrics.leaseHeld.set({ watch: this.#source.title }, 0)
  }

  #onLost(reason: LeaseLost): void {
    this.#count('lost', 0)
    this.#parts.log.warn({ watch: this.#source.title, error: messageOf(reason) }, 'the watch stops')
    this.#report({ phase: 'reconnecting', lastError: messageOf(reason) })
  }

  #count(transition: 'acquired' | 'released' | 'lost', held: 0 | 1): void {
    const watch = this.#source.title
    this.#parts.metrics.leaseTransitions.inc({ watch, transition })
    this.#parts.metrics.leaseHeld.set({ watch }, held)
  }
}
