import { resourceOf } from '../api/request.ts'
import type { Store } from '../api/store.ts'
import { type Event, type EventOptions, event, repeated } from '../manifests/cluster.ts'
import type { Chance } from '../objects.ts'
import { type KubeObject, type Stored, timeOf } from '../objects.ts'

/** A sequence of changes; it yields wherever time passes. */
export type Scene<T = void> = Generator<void, T, void>

/** Writes to the demo cluster as users, controllers and kubelets do. */
export interface World {
  readonly store: Store
  readonly chance: Chance
  /** Now, RFC 3339. */
  now(): string
  nowMs(): number
  /** All objects of a kind. */
  all<T extends KubeObject>(apiVersion: string, kind: string): Stored<T>[]
  /** Throws when it is not there. */
  find<T extends KubeObject>(apiVersion: string, kind: string, namespace: string, name: string): Stored<T>
  /** Writes a changed version of an object as it is now. */
  change<T extends KubeObject>(object: Stored<T>, how: (current: Stored<T>) => T): Stored<T>
  /** Writes an Event of a component about an object; a repeated one raises its count. */
  event(about: Stored, component: string, reason: string, message: string, options?: EventOptions): void
  /** Deletes the Events whose time to live is over. */
  forgetEvents(): void
}

/** A real API server keeps Events for an hour; a day here is shorter. */
const EVENT_TTL_MS = 600_000

export function createWorld(store: Store, chance: Chance, clock: { now(): number }): World {
  const recorded = new Map<string, { event: Stored<Event>; atMs: number }>()
  return {
    store,
    chance,
    now: () => timeOf(clock.now()),
    nowMs: () => clock.now(),
    all: <T extends KubeObject>(apiVersion: string, kind: string) =>
      store.list(resourceOf({ apiVersion, kind })) as Stored<T>[],
    find<T extends KubeObject>(apiVersion: string, kind: string, namespace: string, name: string) {
      const found = store.get<T>({ apiVersion, kind, metadata: { namespace, name } })
      if (!found) throw new Error(`the demo cluster has no ${kind} ${namespace}/${name}`)
      return found
    },
    change<T extends KubeObject>(object: Stored<T>, how: (current: Stored<T>) => T) {
      const current = store.get<T>(object)
      if (!current) throw new Error(`${object.kind} ${object.metadata.name} is gone`)
      return store.put(how(current))
    },
    event(about, component, reason, message, options = {}) {
      const key = [about.metadata.uid, reason, message].join('/')
      const before = recorded.get(key)?.event
      const metadata = { name: `${about.metadata.name}.${chance.hex(16)}`, nowMs: clock.now() }
      const next = before
        ? repeated(before, clock.now())
        : event(about, { ...metadata, component, reason, message, ...options })
      recorded.set(key, { event: store.put(next) as Stored<Event>, atMs: clock.now() })
    },
    forgetEvents() {
      for (const [key, { event: old, atMs }] of recorded) {
        if (clock.now() - atMs < EVENT_TTL_MS) continue
        recorded.delete(key)
        store.remove(old)
      }
    },
  }
}
