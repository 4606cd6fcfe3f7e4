/** How much one rule may hold: nobody honest meets these, and each keeps a rule from holding the event loop. */
export const MOST_PATTERNS = 1_000
export const MOST_KEYS = 100
export const MOST_PATHS = 100
export const MOST_SINKS = 100
export const MOST_WINDOWS = 100
export const MOST_ENTRIES = 20
export const LONGEST_SELECTOR = 10_000

/** For a schema: `has more than 1,000 patterns: split the rule`. */
export function tooMany(most: number, what: string): string {
  return `has more than ${most.toLocaleString('en')} ${what}: split the rule`
}

/** For maps, with `refine`. */
export function hasAtMost(most: number): (map: object) => boolean {
  return (map) => Object.keys(map).length <= most
}
