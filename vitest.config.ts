import { defineConfig } from 'vitest/config'
import { hasKubernetes } from './test/servers/kubernetes.ts'

/** Without kube-apiserver they cannot run; the summary says so. */
const needsKubernetes = ['test/cluster/**', 'test/watch/real.test.ts']

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', 'test/crash/**', ...(hasKubernetes() ? [] : needsKubernetes)],
    pool: 'forks',
    // Most of the time tests wait for servers.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/summary-reporter.ts'],
  },
})
