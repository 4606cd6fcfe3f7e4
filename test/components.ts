import { existsSync } from 'node:fs'
import { missingForPods } from './deploy/missing-for-pods.ts'
import { findChromium } from './servers/chromium.ts'
import { hasDeployTools } from './servers/deploy-tools.ts'
import { missingForExim } from './servers/exim.ts'
import { missingForKafka } from './servers/kafka.ts'
import { hasKubernetes } from './servers/kubernetes.ts'
import { missingForMemoryCgroup } from './servers/memory-cgroup.ts'
import { hasPrometheus } from './servers/prometheus.ts'

const VITEPRESS = new URL('../docs/.vitepress/node_modules/vitepress', import.meta.url)

/** Suites that need something which not every machine has. */
export interface NeedySuites {
  files: readonly string[]
  /** What is not there, in words; undefined when they can run. */
  missing: string | undefined
}

export const needySuites = (): NeedySuites[] => [
  {
    files: ['test/cluster/**', 'test/watch/real.test.ts'],
    missing: hasKubernetes()
      ? undefined
      : 'what needs kube-apiserver and etcd; they are built when Go is installed',
  },
  {
    files: ['test/deploy/**', 'test/docs/commands.test.ts'],
    missing:
      hasDeployTools() && hasKubernetes()
        ? undefined
        : 'what needs Helm, kustomize and kube-apiserver; they are built when Go is installed',
  },
  {
    files: ['test/deploy/whole-job.test.ts'],
    missing:
      missingForPods() && `what starts processes as pods; there is no ${missingForPods()} on this machine`,
  },
  {
    files: [
      'test/sinks/kafka/real-*.test.ts',
      'test/image/real-kafka.test.ts',
      'test/observe/tracing/real-kafka.test.ts',
    ],
    missing: missingForKafka() && `what needs Kafka; there is no ${missingForKafka()} on this machine`,
  },
  {
    files: ['test/sinks/email/real-server.test.ts'],
    missing:
      missingForExim() && `what needs the mail server Exim; there is no ${missingForExim()} on this machine`,
  },
  {
    files: ['test/page/{answers,browser,live}.test.ts', 'test/cluster/six-questions.test.ts'],
    missing: findChromium() ? undefined : 'what needs a browser; there is no Chromium on this machine',
  },
  {
    files: ['test/prometheus/**', 'test/cluster/dashboard.test.ts'],
    missing: hasPrometheus() ? undefined : 'what needs promtool and prometheus',
  },
  {
    files: ['test/docs/site.test.ts'],
    missing: existsSync(VITEPRESS)
      ? undefined
      : 'what builds the documentation; VitePress comes from the npm registry',
  },
  {
    files: ['test/store/large-backlog.test.ts'],
    missing:
      missingForMemoryCgroup() &&
      `what runs within a pod’s limit of memory; there is no ${missingForMemoryCgroup()} on this machine`,
  },
]

/** Those that are left out here: none where everything has to run (CI=true); there they fail. */
export function leftOut(
  suites: readonly NeedySuites[] = needySuites(),
  env: NodeJS.ProcessEnv = process.env,
): NeedySuites[] {
  return env['CI'] ? [] : suites.filter(({ missing }) => missing !== undefined)
}

/** For tests of a real API server that stand beside others. */
export const leavesOutKubernetes = (): boolean => !hasKubernetes() && !process.env['CI']
