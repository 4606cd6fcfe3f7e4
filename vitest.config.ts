import { defineConfig } from 'vitest/config'
import { leftOut } from './test/components.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', 'test/crash/**', ...leftOut().flatMap(({ files }) => files)],
    pool: 'forks',
    // Most of the time tests wait for servers.
    maxWorkers: 3,
    testTimeout: 30_000,
    // Longer than the waits inside: those say what did not come.
    hookTimeout: 180_000,
    reporters: ['default', './test/summary-reporter.ts'],
  },
})
