/** The newest `size` values; older ones make room. */
export interface Ring<T> {
  readonly length: number
  push(value: T): void
  /** 0 is the newest. */
  newest(index: number): T | undefined
  clear(): void
}

export function createRing<T>(size: number): Ring<T> {
  const values: (T | undefined)[] = new Array(size)
  let next = 0
  let length = 0
  return {
    get length() {
      return length
    },
    push(value) {
      values[next] = value
      next = (next + 1) % size
      length = Math.min(size, length + 1)
    },
    newest: (index) => (index < length ? values[(next - 1 - index + 2 * size) % size] : undefined),
    clear() {
      values.fill(undefined)
      next = 0
      length = 0
    },
  }
}
