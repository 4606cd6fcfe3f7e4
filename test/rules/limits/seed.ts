import * as fc from 'fast-check'
import { onTestFailed } from 'vitest'

/** The numbers that properties are tried with; `SEED` of the environment repeats those of another run. */
const SEED = Number(process.env['SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
/** So many times as many runs as usual. */
const TIMES = Number(process.env['TIMES'] ?? 1)

fc.configureGlobal({ seed: SEED })

/** Parameters of a property. A test that fails, also one that takes too long, tells its seed. */
export function numRuns(count: number): { numRuns: number } {
  onTestFailed(() => console.error(`repeat with SEED=${SEED} TIMES=${TIMES}`))
  return { numRuns: count * TIMES }
}
