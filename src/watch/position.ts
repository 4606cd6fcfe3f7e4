/** True when both are comparable resourceVersions (KEP-5504) and `a` is the older one. */
export function isOlder(a: string, b: string): boolean {
  if (!COMPARABLE.test(a) || !COMPARABLE.test(b)) return false
  return a.length === b.length ? a < b : a.length < b.length
}

const COMPARABLE = /^[1-9][0-9]*$/
