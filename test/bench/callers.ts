/** Callers of the API: one may have a quarter of the streams. */
export const CALLERS = ['one', 'two', 'three', 'four'] as const

export function tokenOf(caller: (typeof CALLERS)[number]): string {
  return `token-of-${caller}-for-benches`
}
