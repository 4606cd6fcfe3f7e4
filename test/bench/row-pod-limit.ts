import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { createMemoryCgroup, missingForMemoryCgroup } from '../servers/memory-cgroup.ts'
import { buildBundle } from './bundle.ts'
import { median } from './pairs.ts'
import type { BenchContext, Row } from './row.ts'
import { drain } from './row-backlog.ts'
import { burst } from './row-burst.ts'
import { memoryWith } from './row-memory.ts'

const MIB = 2 ** 20

/** What a process in the chart's limit of memory (that of compose is the same) has to survive; each throws where it ends. */
const TRIALS: readonly [
  what: string,
  run: (context: BenchContext, launcher: readonly string[]) => unknown,
][] = [
  ['a burst of 20,000 Events', burst],
  ['a start on 60,000 Events', drain],
  [
    'a start with 50,000 pods, 100 changes/s',
    (context, launcher) => memoryWith(50_000, context, { launcher }),
  ],
]

export const podLimitRow: Row = {
  name: 'pod-limit',
  title: `within the chart's limit of memory: ${TRIALS.map(([what]) => what).join('; ')}`,
  async measure(context) {
    const missing = missingForMemoryCgroup()
    const limit = limitBytes()
    const target = `≤ ${mebibytes(limit)}, none killed`
    if (missing) return { ours: `not measured: no ${missing}`, yardstick: '-', target, met: false }
    buildBundle()
    const peaks: number[] = []
    for (const [, run] of TRIALS) {
      const some: number[] = []
      for (let i = 0; i < context.pairs; i++) {
        using cgroup = createMemoryCgroup(limit)
        await run(context, cgroup.launcher)
        some.push(cgroup.peakBytes() ?? Number.NaN)
      }
      peaks.push(median(some))
    }
    return { ours: `${peaks.map(mebibytes).join(', ')} at most`, yardstick: '–', target, met: true }
  },
}

function limitBytes(): number {
  const values = new URL('../../deploy/helm/kubeherald/values.yaml', import.meta.url)
  return Number.parseInt(parse(readFileSync(values, 'utf8')).resources.limits.memory, 10) * MIB
}

function mebibytes(bytes: number): string {
  return `${(bytes / MIB).toFixed(0)} MiB`
}
