/** Returns the iteration; it calls `close` also if it is ended before it began: a generator then ends without its `finally`. */
export function closeUnbegun<T>(
  iteration: AsyncGenerator<T, void>,
  close: () => Promise<void>,
): AsyncGenerator<T, void> {
  let isBegun = false
  const { next, return: end, throw: fail } = iteration
  return Object.assign(iteration, {
    next() {
      isBegun = true
      return next.call(iteration)
    },
    async return() {
      if (!isBegun) await close()
      return end.call(iteration, undefined)
    },
    async throw(error: unknown) {
      if (!isBegun) await close().catch(() => {})
      return fail.call(iteration, error)
    },
  })
}
