/** A terminal, npm and the set-up each pass one Ctrl-C on: what comes so soon is the same wish. */
const SAME_WISH_MS = 500

/** Resolves with the first SIGINT, SIGTERM or SIGHUP; a later one ends the process at once. */
export function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | undefined
    const onSignal = (name: NodeJS.Signals) => {
      firstMs ??= performance.now()
      if (performance.now() - firstMs > SAME_WISH_MS) process.exit(130)
      resolve(name)
    }
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal)
  })
}

/**
 * Resolves when whoever read our output went away, as `head` does: the end, not an error, of a process that does nothing but
 * print.
 */
export function outputClosed(onlyPrints: () => boolean): Promise<string> {
  return new Promise((resolve) => {
    process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'EPIPE' && onlyPrints()) resolve('nobody reads the output any more')
    })
  })
}
