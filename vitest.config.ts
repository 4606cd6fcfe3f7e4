import { defineConfig } from 'vitest/config'
import { missingForKafka } from './test/servers/kafka.ts'
import { hasKubernetes } from './test/servers/kubernetes.ts'

/** Without kube-apiserver they cannot run; the summary says so. */
const needsKubernetes = ['test/cluster/**', 'test/watch/real.test.ts']
/** The same without Kafka; where everything has to run (CI=true) they fail. */
const needsKafka =
  missingForKafka() === undefined || process.env['CI'] ? [] : ['test/sinks/kafka/real-*.test.ts']

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', 'test/crash/**', ...(hasKubernetes() ? [] : needsKubernetes), ...needsKafka],
    pool: 'forks',
    // Most of the time tests wait for servers.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/summary-reporter.ts'],
  },
})
