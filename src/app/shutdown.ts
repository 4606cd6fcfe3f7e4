/**
 * The stages of a shutdown: the last one of this list is closed first. Each is a stack of its own, because what outlives a part may have to
 * start later, as the reports that count what the lanes leave. A stage is closed although one before it failed.
 */
export function stagesOf(opened: AsyncDisposableStack) {
  const stage = () => opened.use(new AsyncDisposableStack())
  return {
    connections: stage(),
    /** What the others use: the server, the cluster's client, the opened sinks. */
    base: stage(),
    /** The last counts and traces, when nothing is delivered any more. */
    reports: opened.use(new ClosedTogether()),
    deadLetters: stage(),
    lanes: stage(),
    /** No delivery in flight waits for a log. */
    logs: stage(),
    /** Everything that commits: each part may have to wait for Redis. */
    sources: opened.use(new ClosedTogether()),
    site: stage(),
    readiness: stage(),
  }
}

export type Stages = ReturnType<typeof stagesOf>

/** Closes its parts at the same time, and fails with the first error when all are closed. */
class ClosedTogether implements AsyncDisposable {
  readonly #closes: (() => unknown)[] = []

  defer(close: () => unknown): void {
    this.#closes.push(close)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closing = this.#closes.splice(0).toReversed()
    const ends = await Promise.allSettled(closing.map(async (close) => close()))
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed) throw failed.reason
  }
}

/** Closes everything; fails with the first error. */
export async function closeAll(opened: AsyncDisposableStack): Promise<void> {
  try {
    await opened.disposeAsync()
  } catch (error) {
    throw firstOf(error)
  }
}

/** A stack reports the last error; that one has those before it. */
function firstOf(error: unknown): unknown {
  return error instanceof SuppressedError ? firstOf(error.suppressed) : error
}
