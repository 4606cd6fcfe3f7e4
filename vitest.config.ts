import { defineConfig } from 'vitest/config'
import { leftOut } from './test/components.ts'
import { CLUSTER_FILES, OWN_PROCESS_FILES, SLOW_FILES, SLOW_OWN_PROCESS_FILES } from './test/slow-files.ts'
import { SlowestFirst } from './test/slowest-first.ts'

const EXCLUDED = ['test/bench/**', 'test/crash/**', ...leftOut().flatMap(({ files }) => files)]

// Files share the processes of the workers, but for those that cannot: one for each file takes a second of processor time more.
const cluster = {
  extends: true,
  test: { name: 'cluster', include: [...CLUSTER_FILES], exclude: EXCLUDED, isolate: false },
} as const

const slow = {
  extends: true,
  test: {
    name: 'slow',
    include: [...SLOW_FILES],
    exclude: [...EXCLUDED, ...SLOW_OWN_PROCESS_FILES],
    isolate: false,
  },
} as const

const slowOwnProcess = {
  extends: true,
  test: { name: 'slow, own process', include: [...SLOW_OWN_PROCESS_FILES], exclude: EXCLUDED },
} as const

const ownProcess = {
  extends: true,
  test: { name: 'own process', include: [...OWN_PROCESS_FILES], exclude: EXCLUDED },
} as const

const fast = {
  extends: true,
  test: {
    name: 'fast',
    include: ['test/**/*.test.ts'],
    exclude: [...EXCLUDED, ...CLUSTER_FILES, ...SLOW_FILES, ...SLOW_OWN_PROCESS_FILES, ...OWN_PROCESS_FILES],
    isolate: false,
  },
} as const

/** `--mode fast` leaves out the slow files. */
export default defineConfig(({ mode }) => ({
  test: {
    projects: mode === 'fast' ? [ownProcess, fast] : [cluster, slow, slowOwnProcess, ownProcess, fast],
    globalSetup: ['./test/build-program.ts'],
    pool: 'forks',
    sequence: { sequencer: SlowestFirst },
    // Most of the time tests wait for servers.
    maxWorkers: 6,
    // They end what hangs, and are longer than the waits inside, which report what did not come.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    reporters: ['default', './test/summary-reporter.ts'],
  },
}))
