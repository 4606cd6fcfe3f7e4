/** Random choices; the same `random` gives the same choices. */
export interface Chance {
  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number
  pick<T>(from: readonly [T, ...T[]]): T
  hex(digits: number): string
  /** A version 4 UUID. */
  uid(): string
  /** A name's ending as controllers make it: no vowels, so that it spells no words. */
  suffix(length: number): string
}

const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789'

export function chanceOf(random: () => number): Chance {
  const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1))
  const letters = (from: string, length: number) =>
    Array.from({ length }, () => from[between(0, from.length - 1)]).join('')
  const hex = (digits: number) => letters('0123456789abcdef', digits)
  return {
    between,
    hex,
    pick: (from) => from[between(0, from.length - 1)] ?? from[0],
    uid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-${letters('89ab', 1)}${hex(3)}-${hex(12)}`,
    suffix: (length) => letters(SUFFIX_LETTERS, length),
  }
}
