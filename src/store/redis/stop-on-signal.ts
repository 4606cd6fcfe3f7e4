const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Calls `stop` before one of these signals ends the process: Node emits no `exit` then. Where others listen to the signal, they end
 * the process. Returns a function that stops listening.
 */
export function stopOnSignal(stop: () => Promise<void>): () => void {
  let isStopping = false
  const onSignal = async (name: NodeJS.Signals) => {
    // A terminal and npm forward one Ctrl-C each.
    if (isStopping || process.listenerCount(name) > 1) return
    isStopping = true
    await stop().catch(() => {}) // the signal ends the process all the same
    release()
    process.kill(process.pid, name)
  }
  const release = () => {
    for (const name of SIGNALS) process.off(name, onSignal)
  }
  for (const name of SIGNALS) process.on(name, onSignal)
  return release
}
