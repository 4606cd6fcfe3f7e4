/** Version of the key layout; `schema.ts` converts older ones. */
export const LAYOUT = 2

/** The keys have another layout now. A process that does not know it writes and delivers nothing any more. */
export class LayoutChangedError extends Error {
  override name = 'LayoutChangedError'

  constructor(stored: unknown) {
    super(
      `the keys in Redis have layout ${String(stored)} now, this version of kubeherald knows layout ${LAYOUT}: a newer one took over`,
    )
  }
}

/** Nothing stored means that nothing is there which could be spoilt. */
export function isForeign(stored: unknown): boolean {
  return stored !== null && stored !== undefined && String(stored) !== String(LAYOUT)
}
