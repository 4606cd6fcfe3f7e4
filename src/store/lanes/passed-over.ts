import type { FailingNamespaces } from './failing-namespaces.ts'
import type { Item } from './lane-entries.ts'

/** How long a namespace that was not failing when its deliveries were passed over, because their chains wait, is not looked for again. */
const AGAIN_MS = 60_000

/**
 * Deliveries that a lane has let go of to look behind them, and those behind them that would overtake one: deliveries of an object whose
 * namespace, or of a group whose chain, was passed over.
 */
export class PassedOver {
  /** Namespace → when its deliveries may be looked for, by a clock that never jumps. */
  readonly #namespaces = new Map<string, number>()
  /** Namespaces of objects. */
  readonly #ofObjects = new Set<string>()
  /** Chains of groups: each may have several namespaces. */
  readonly #ofGroups = new Set<string>()

  add(items: readonly Item[], failing: FailingNamespaces | undefined, nowMs: number): void {
    for (const { chain, delivery } of items) {
      const { namespace = '' } = delivery.event
      if (delivery.order === undefined) this.#ofObjects.add(namespace)
      else this.#ofGroups.add(chain)
      if (this.#namespaces.has(namespace)) continue
      this.#namespaces.set(namespace, failing?.has(namespace) === false ? nowMs + AGAIN_MS : nowMs)
    }
  }

  /** Returns true if a delivery may be taken into memory: it is not of a failing namespace, and overtakes none that was passed over. */
  takes({ chain, delivery }: Item, failing: FailingNamespaces | undefined): boolean {
    const { namespace = '' } = delivery.event
    if (failing?.has(namespace)) return false
    return delivery.order === undefined ? !this.#ofObjects.has(namespace) : !this.#ofGroups.has(chain)
  }

  /** Returns the namespaces whose deliveries may be looked for again: they do not fail any more, or were not failing a while ago. */
  mayBeTried(failing: FailingNamespaces, nowMs: number): string[] {
    return [...this.#namespaces]
      .filter(([namespace, dueMs]) => dueMs <= nowMs && !failing.has(namespace))
      .map(([namespace]) => namespace)
  }
}
