import type { Context } from 'liquidjs'

/**
 * The budget of a rendering, in characters written or read: about 50 ms. It is counted instead of timed, so that a
 * template that works once also works on a slow machine.
 */
const TOTAL = 16_000_000

/** The cost of a step (a text, an output, a tag, an iteration of a loop), in characters. */
export const STEP = 1_000
/** The cost of an element of a list. */
export const ELEMENT = 200
/** The cost of a nested value where all data is read or written. */
const NODE = 100

/** The rendering takes more than its budget. */
export class TooMuchWork extends Error {}

/** Replaces the engine's memory limit, which its ranges and filters check before they allocate. */
export class Budget {
  #left = TOTAL
  #weight = ELEMENT

  charge(cost: number): void {
    if (!(cost > 0)) return
    this.#left -= cost
    if (this.#left < 0) throw new TooMuchWork()
  }

  /** Charges the cost of writing a whole value as text, with this indentation, in advance. */
  chargeAll(value: unknown, indent = 0): void {
    const left: { value: unknown; depth: number }[] = [{ value, depth: 0 }]
    for (let next = left.pop(); next; next = left.pop()) {
      const { value, depth } = next
      // Writing JSON compares each object with all those around it.
      this.charge(NODE + depth * (1 + indent) + (typeof value === 'string' ? value.length : 0))
      if (typeof value !== 'object' || value === null) continue
      if (Array.isArray(value)) this.check(value.length * NODE)
      for (const key in value) {
        this.charge(key.length)
        left.push({ value: (value as Record<string, unknown>)[key], depth: depth + 1 })
      }
    }
  }

  /** For the engine: lists count by elements, but inside a filter of texts it counts characters. */
  use(count: number): void {
    this.charge(Number(count) * this.#weight)
  }

  check(count: number): void {
    if (Number(count) > this.#left) throw new TooMuchWork()
  }

  /** Runs a filter, whose counts are characters as long as it does not wait. */
  inCharacters<T>(work: () => T): T {
    this.#weight = 1
    try {
      return work()
    } finally {
      this.#weight = ELEMENT
    }
  }
}

export function budgetOf({ memoryLimit }: Context): Budget {
  return memoryLimit as unknown as Budget
}
