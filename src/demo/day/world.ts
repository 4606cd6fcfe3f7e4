import { resourceOf } from '../api/catalogue.ts'
import type { Store } from '../api/store.ts'
import type { Chance } from '../chance.ts'
import { type Event, event, type Remark, repeated } from '../manifests/event.ts'
import { type KubeObject, type Stored, timeOf } from '../objects.ts'

/** What happens one after the other; it yields wherever time passes. */
export type Scene<T = void> = Generator<void, T, void>

/** The hands of everybody who works in the demo cluster: people, controllers, kubelets. */
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
  /** Writes an Event about an object; what was said before of it is counted, not said again. */
  tell(about: Stored, remark: Remark): void
  /** Deletes the Events whose time to live is over. */
  forgetEvents(): void
}

/** A real API server keeps Events for an hour; a day here is shorter. */
const EVENT_TTL_MS = 600_000

export function createWorld(store: Store, chance: Chance, clock: { now(): number }): World {
  const said = new Map<string, { event: Stored<Event>; atMs: number }>()
  const world: World = {
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
    tell(about, remark) {
      const key = [about.metadata.uid, remark.reason, remark.message].join('/')
      const before = said.get(key)?.event
      const name = `${about.metadata.name}.${chance.hex(16)}`
      const next = before ? repeated(before, clock.now()) : event(about, remark, name, clock.now())
      said.set(key, { event: store.put(next) as Stored<Event>, atMs: clock.now() })
    },
    forgetEvents() {
      for (const [key, { event: old, atMs }] of said) {
        if (clock.now() - atMs < EVENT_TTL_MS) continue
        said.delete(key)
        store.remove(old)
      }
    },
  }
  return world
}
