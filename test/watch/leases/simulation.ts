import {
  holderOf,
  type LeaseObject,
  leaseId,
  MEMBER,
  memberLeaseName,
  released,
  taken,
  WATCH,
  watchLeaseName,
} from '../../../src/watch/leases/lease.ts'
import { type Board, decide, NOTHING_SEEN, observe } from '../../../src/watch/leases/lease-decision.ts'

/** Leases of an API server that keeps to resourceVersions. */
export class FakeLeases {
  readonly leases = new Map<string, LeaseObject>()
  #version = 0
  /** How often a watch went from one holder to another. */
  moves = 0
  #last = new Map<string, string>()

  list(): LeaseObject[] {
    return structuredClone([...this.leases.values()])
  }

  /** False when `lease` is of an older version, or exists already. */
  put(lease: LeaseObject): boolean {
    const { name, resourceVersion } = lease.metadata
    const current = this.leases.get(name)
    if (current?.metadata.resourceVersion !== resourceVersion) return false
    const metadata = { ...lease.metadata, uid: name, resourceVersion: String(++this.#version) }
    this.leases.set(name, { ...lease, metadata })
    const holder = holderOf(lease)
    if (holder !== '' && this.#last.get(name) !== holder) {
      if (this.#last.has(name)) this.moves++
      this.#last.set(name, holder)
    }
    return true
  }

  remove({ metadata }: LeaseObject): void {
    const current = this.leases.get(metadata.name)
    if (current?.metadata.resourceVersion === metadata.resourceVersion) this.leases.delete(metadata.name)
  }
}

export const DURATION_MS = 15_000
const RENEW_DEADLINE_MS = 10_000
const POLL_MS = 1_000
const GROUP = { cluster: 'test', store: 'one' }

/** A process in simulated time: the decisions are the real ones, each of its requests is a step of its own. */
export class Agent {
  readonly identity: string
  readonly #api: FakeLeases
  readonly #sources: readonly { key: string; title: string }[]
  /** Its monotonic clock and its wall clock are its own. */
  readonly #startMs: number
  readonly #wallMs: number
  #board: Board = NOTHING_SEEN
  #member: { lease: LeaseObject; renewedMs: number } | undefined
  #steps: (() => void)[] = []
  #lookMs = 0
  #joinedMs = Number.POSITIVE_INFINITY
  readonly held = new Map<string, { lease: LeaseObject; renewedMs: number; nextMs: number }>()

  constructor(
    api: FakeLeases,
    identity: string,
    sources: readonly { key: string; title: string }[],
    nowMs: number,
    wallMs: number,
  ) {
    this.#api = api
    this.identity = identity
    this.#sources = sources
    this.#startMs = nowMs
    this.#wallMs = wallMs
  }

  /** What it knows that it holds, by its own clock. */
  holds(nowMs: number): string[] {
    const now = nowMs - this.#startMs
    return [...this.held].filter(([, it]) => now - it.renewedMs < RENEW_DEADLINE_MS).map(([id]) => id)
  }

  /** One thing that it does; a look at all leases may be older than the moment at which it is acted upon. */
  step(nowMs: number, random: () => number): void {
    const now = nowMs - this.#startMs
    for (const [id, it] of this.held) if (now - it.renewedMs >= RENEW_DEADLINE_MS) this.held.delete(id)
    const next = this.#steps.shift()
    if (next) return next()
    if (!this.#member || now - this.#member.renewedMs >= 2_000 * (1 + random())) return this.#join(now)
    for (const it of this.held.values()) if (now >= it.nextMs) return this.#renew(it, now, random)
    if (now >= this.#lookMs) this.#look(now)
  }

  /** SIGTERM: releases all, and is not counted on any more. */
  leave(): void {
    if (this.#member) this.#api.remove(this.#member.lease)
    for (const { lease } of this.held.values()) this.#api.put(released(lease, this.#wallMs))
    this.held.clear()
  }

  #take(before: LeaseObject | undefined, name: string, purpose: 'member' | 'watch'): LeaseObject | undefined {
    const wants = purpose === MEMBER ? { wants: this.#sources.map(idOf) } : {}
    const next = taken(
      before,
      { name, group: GROUP, purpose, ...wants },
      { holder: this.identity, durationMs: DURATION_MS, nowMs: this.#wallMs },
    )
    return this.#api.put(next) ? this.#api.leases.get(name) : undefined
  }

  #join(now: number): void {
    const name = memberLeaseName(GROUP, this.identity)
    const lease = this.#take(this.#api.leases.get(name), name, MEMBER)
    if (!this.#member) this.#joinedMs = now
    if (lease) this.#member = { lease, renewedMs: now }
  }

  #renew(
    it: { lease: LeaseObject; renewedMs: number; nextMs: number },
    now: number,
    random: () => number,
  ): void {
    const { name } = it.lease.metadata
    const lease = this.#take(it.lease, name, WATCH)
    it.nextMs = now + 2_000 * (1 + 1.2 * random())
    if (lease) Object.assign(it, { lease, renewedMs: now })
    else if (holderOf(this.#api.leases.get(name) ?? it.lease) !== this.identity)
      this.held.delete(leaseId(name))
    else it.lease = this.#api.leases.get(name) ?? it.lease
  }

  #look(now: number): void {
    this.#lookMs = now + POLL_MS
    const times = { sentMs: now, receivedMs: now, maxGapMs: DURATION_MS / 3 }
    this.#board = observe(this.#board, this.#api.list(), times)
    const board = this.#board
    const me = { identity: this.identity, wants: new Set(this.#sources.map(idOf)) }
    const { claim, giveUp, remove } = decide({ board, me, durationMs: DURATION_MS })
    if (now - this.#joinedMs >= POLL_MS)
      for (const id of claim) this.#steps.push(() => this.#claim(id, board, now))
    for (const lease of giveUp) this.#steps.push(() => this.#giveUp(lease))
    for (const lease of remove) this.#steps.push(() => this.#api.remove(lease))
  }

  #claim(id: string, board: Board, now: number): void {
    const source = this.#sources.find((it) => idOf(it) === id)
    if (!source || this.held.has(id)) return
    const name = watchLeaseName(GROUP, source)
    const lease = this.#take(board.seen.get(name)?.lease, name, WATCH)
    if (lease) this.held.set(id, { lease, renewedMs: now, nextMs: now + 1_000 })
  }

  #giveUp(lease: LeaseObject): void {
    const id = leaseId(lease.metadata.name)
    const own = this.held.get(id)?.lease ?? lease
    this.held.delete(id)
    this.#api.put(released(own, this.#wallMs))
  }
}

export function idOf(source: { key: string; title: string }): string {
  return leaseId(watchLeaseName(GROUP, source))
}
