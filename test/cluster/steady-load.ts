import { setTimeout as pause } from 'node:timers/promises'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { CONFIG_MAPS, churn } from './workload.ts'

/** Bursts with pauses: a load that lasts for as long as what it is for costs little. */
const BURST = 8
const PAUSE_MS = 100

/** Creates, changes and deletes ConfigMaps of `default`, some hundred changes a second at most, until it is stopped. */
export function startSteadyLoad(kubernetes: Pick<Kubernetes, 'request'>): { stop(): Promise<void> } {
  return repeatUntilStopped(PAUSE_MS, (i) =>
    churn(kubernetes, [CONFIG_MAPS], { count: BURST, parallel: BURST, prefix: `load-${i}` }),
  )
}

/** Repeats a step, with a pause behind each. `stop` waits for the last one, and fails with the error of one that failed. */
export function repeatUntilStopped(
  pauseMs: number,
  step: (i: number) => Promise<unknown>,
): { stop(): Promise<void> } {
  let isGoing = true
  const done = (async () => {
    for (let i = 0; isGoing; i++) {
      await step(i)
      await pause(pauseMs)
    }
  })()
  done.catch(() => {})
  return {
    async stop() {
      isGoing = false
      await done
    },
  }
}
