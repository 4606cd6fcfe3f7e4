import { sinkLoader } from '../../sink-types.ts'
import { findKubeconfig } from '../../watch/kubeconfig.ts'
import { kubeconfigOptions } from '../cluster-access.ts'
import type { Configuration } from '../reading/configuration.ts'
import type { CheckOptions } from './check.ts'
import { askCluster } from './check-cluster.ts'
import { checkRedisOf } from './check-redis.ts'
import type { CheckReport, CheckResult } from './check-report.ts'
import { checkSinks } from './check-sinks.ts'

/** What the cluster said, or why it was not asked. */
export interface Asked {
  cluster?: CheckResult['cluster']
  notAsked?: string
}

/** Asks sinks, Redis and the cluster, and tells what is wrong with them. */
export async function ask(
  configuration: Configuration,
  { context }: CheckOptions,
  report: CheckReport,
): Promise<Asked> {
  const { config } = configuration
  const kubeconfig = kubeconfigOptions(config.kubernetes, context)
  const name = config.cluster ?? 'check'
  // First: a cluster that cannot be asked ends the check.
  for (const it of await checkSinks(config, sinkLoader(configuration.sinkTypes), name))
    report.tell('warning', it)
  for (const it of await checkRedisOf(config, name)) report.tell('warning', it)
  if (!context && !findKubeconfig(kubeconfig)) return { notAsked: NO_KUBECONFIG }
  return { cluster: await askCluster(configuration, kubeconfig, report) }
}

const NO_KUBECONFIG = 'there is no kubeconfig ($KUBECONFIG, ~/.kube/config), and this is no pod'
