/** So many are looked for in one pass. */
const AT_ONCE = 500

/** Longer ones would make a pattern too large. */
const MAX_LENGTH = 200

/** A text without some words; there may be thousands. The longest go first, as one may be a part of another. */
export function hiding(words: readonly string[], stars: (word: string) => string): (text: string) => string {
  const sorted = words.toSorted((a, b) => b.length - a.length)
  const firstShort = sorted.findIndex(({ length }) => length <= MAX_LENGTH)
  const long = sorted.splice(0, firstShort === -1 ? sorted.length : firstShort)
  const patterns = Array.from({ length: Math.ceil(sorted.length / AT_ONCE) }, (_, i) => {
    const some = sorted.slice(i * AT_ONCE, (i + 1) * AT_ONCE)
    return new RegExp(some.map((word) => word.replace(SPECIAL, '\\$&')).join('|'), 'g')
  })
  return (text) => {
    const open = long.reduce((rest, word) => rest.replaceAll(word, () => stars(word)), text)
    return patterns.reduce((rest, pattern) => rest.replace(pattern, stars), open)
  }
}

const SPECIAL = /[\\^$.*+?()[\]{}|/]/g
