/** An evaluation asked for more work than one event may cost. */
export class TooMuchWork extends Error {
  override name = 'TooMuchWork'
}

/** One unit is about half a microsecond on a slow machine. Each evaluation is counted by itself. */
const UNITS = 40_000
/** Of what an evaluation may build: a text, in UTF-16 units. */
export const MAX_TEXT = 2_000_000

let left = 0

/** Begins the count of an evaluation. */
export function refill(): void {
  left = UNITS
}

/** Counts work before it is done. Throws when there was too much of it, then and at every later call. */
export function charge(units: number): void {
  left -= units
  if (left < 0) throw new TooMuchWork('takes too many steps')
}

/** Had the evaluation to be stopped? `||` and `&&` may have swallowed the error. */
export function isSpent(): boolean {
  return left < 0
}

/** Counts a text that is about to be built. */
export function chargeText(length: number): void {
  charge(length / 256)
  if (length <= MAX_TEXT) return
  left = -1
  throw new TooMuchWork('builds a text that is too long')
}

/** Counts what reading a value costs: texts by their length, lists and maps by all that is in them. */
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
