/** A terminal, npm and the set-up each forward one Ctrl-C: signals within this time are one. */
const SAME_SIGNAL_MS = 500

/** Resolves with the first of these signals; a later one ends the process immediately. */
export function firstSignal(names: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | undefined
    const onSignal = (name: NodeJS.Signals) => {
      firstMs ??= performance.now()
      if (performance.now() - firstMs > SAME_SIGNAL_MS) process.exit(130)
      resolve(name)
    }
    for (const name of names) process.on(name, onSignal)
  })
}

/** Whether SIGHUP means a reload, as for any daemon: a terminal sends it when it is closed, and without a file there is nothing to read. */
export function hangUpReloads(
  file: string | undefined,
  isTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY === true),
): boolean {
  return file !== undefined && file !== '-' && !isTerminal
}

/** Resolves when the reader closes the pipe of our output, as `head` does: the normal end of a process that only prints. */
export function outputClosed(onlyPrints: () => boolean): Promise<string> {
  return new Promise((resolve) => {
    process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'EPIPE' && onlyPrints()) resolve('nobody reads the output any more')
    })
  })
}
