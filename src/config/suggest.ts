/** The known word that is nearest to what was written, if it is near enough to be meant. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** `; did you mean "x"?`, or what there is to choose from. */
export function suggestion(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  if (near !== undefined) return `; did you mean "${near}"?`
  return known.length > 0 && known.length <= 12 ? `; known: ${known.join(', ')}` : ''
}

/** Levenshtein, with neighbouring letters that changed places as one step. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let steps = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        steps = Math.min(steps, (beforeLast[j - 2] ?? 0) + 1)
      row.push(steps)
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
