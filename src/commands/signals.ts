/** Resolves with the first SIGINT or SIGTERM; a second one ends the process at once. */
export function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let seen = false
    const onSignal = (name: NodeJS.Signals) => {
      if (seen) process.exit(130)
      seen = true
      resolve(name)
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
}
