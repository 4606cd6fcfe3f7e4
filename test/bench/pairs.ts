/** Measures two things in turn, A B A B, so that both see the same machine. */
export async function pairs<T>(
  count: number,
  a: () => Promise<T>,
  b: () => Promise<T>,
): Promise<{ a: T; b: T }[]> {
  const results: { a: T; b: T }[] = []
  for (let i = 0; i < count; i++) results.push({ a: await a(), b: await b() })
  return results
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((x, y) => x - y)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

/** The value that a share of all values does not exceed. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((x, y) => x - y)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}

export function perSecond(n: number): string {
  return `${Math.round(n).toLocaleString('en-US')}/s`
}
