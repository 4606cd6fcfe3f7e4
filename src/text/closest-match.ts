/** Nobody means a word that is longer; to compare letters takes the product of both lengths. */
const MAX_LETTERS = 100

/** The known word that is nearest to what was written, if it is near enough. */
export function nearest(
  word: string,
  known: Iterable<string>,
  maxDistance = Math.max(1, Math.floor(word.length / 3)),
): string | undefined {
  if (word.length > MAX_LETTERS) return undefined
  const written = word.toLowerCase()
  let best: string | undefined
  let bestDistance = maxDistance + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue
    const distance = editDistance(written, candidate.toLowerCase(), bestDistance)
    if (distance >= bestDistance) continue
    best = candidate
    bestDistance = distance
  }
  return best
}

/** Letters to add, leave out, change or swap with their neighbour to make one word of the other; from `enough` on not exact. */
function editDistance(a: string, b: string, enough: number): number {
  let previous: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const change = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const letters = Math.min(
        last[j]! + 1,
        row[j - 1]! + 1,
        change,
        isSwap ? previous[j - 2]! + 1 : Infinity,
      )
      row.push(letters)
      if (letters < least) least = letters
    }
    if (least > enough) return enough
    previous = last
    last = row
  }
  return last[b.length]!
}
