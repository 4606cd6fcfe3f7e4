/** A function was called with an invalid argument. */
export class CelValueError extends Error {
  override name = 'CelValueError'
}

/** An evaluation exceeded the cost limit of an event. */
export class TooMuchWork extends Error {
  override name = 'TooMuchWork'
}

/** The limit of one evaluation; a unit is about half a microsecond on a slow machine. */
const UNITS = 40_000
/** The longest text that an evaluation may build, in UTF-16 units. */
const MAX_TEXT = 2_000_000

let left = 0

/** Resets the budget before an evaluation. */
export function refill(): void {
  left = UNITS
}

/** Charges work before it is done. Throws if the budget is exceeded, then and at every later call. */
export function charge(units: number): void {
  left -= units
  if (left < 0) throw new TooMuchWork('takes too many steps')
}

/** Returns whether the budget was exceeded: `||` and `&&` may have absorbed the error. */
export function isSpent(): boolean {
  return left < 0
}

/** Charges a text before it is built. */
export function chargeText(length: number): void {
  charge(length / 256)
  if (length <= MAX_TEXT) return
  left = -1
  throw new TooMuchWork('builds a text that is too long')
}

/** Charges reading a whole value. */
export function chargeValue(value: unknown): void {
  if (typeof value === 'string') charge(value.length / 256)
  else if (typeof value === 'object' && value !== null) chargeMembers(value)
}

function chargeMembers(value: object): void {
  if (Array.isArray(value)) {
    charge(1 + value.length)
    for (const item of value) chargeValue(item)
  } else if (value instanceof Map) {
    charge(1 + 2 * value.size)
    for (const item of value.values()) chargeValue(item)
  } else {
    for (const key in value) {
      charge(2)
      chargeValue((value as Record<string, unknown>)[key])
    }
  }
}
