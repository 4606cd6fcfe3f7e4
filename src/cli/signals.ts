/** A terminal, npm and the set-up each pass one Ctrl-C on: what comes so soon is the same wish. */
const SAME_WISH_MS = 500

/** Resolves with the first of these signals; a later one ends the process at once. */
export function firstSignal(names: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | undefined
    const onSignal = (name: NodeJS.Signals) => {
      firstMs ??= performance.now()
      if (performance.now() - firstMs > SAME_WISH_MS) process.exit(130)
      resolve(name)
    }
    for (const name of names) process.on(name, onSignal)
  })
}

/**
 * What SIGHUP asks for: to read the file again, as of any daemon; on a terminal it says that this was closed, and without a file
 * there is nothing to read.
 */
export function hangUpReloads(
  file: string | undefined,
  isTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY === true),
): boolean {
  return file !== undefined && file !== '-' && !isTerminal
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
