import { sinkLoader } from '../../sink-types.ts'
import { findKubeconfig } from '../../watch/kubeconfig.ts'
import { kubeconfigOptions } from '../cluster-access.ts'
import type { Configuration } from '../reading/configuration.ts'
import { askCluster } from './check-cluster.ts'
import { checkRedisOf } from './check-redis.ts'
import type { Asked, CheckReport } from './check-report.ts'
import { checkSinks } from './check-sinks.ts'

/** Asks sinks, Redis and the cluster, and tells what is wrong with them. */
export async function ask(
  configuration: Configuration,
  { context }: { context?: string },
  report: CheckReport,
): Promise<Asked> {
  const { config } = configuration
  const kubeconfig = kubeconfigOptions(config.kubernetes, context)
  const name = config.cluster ?? 'check'
  // First: a cluster that cannot be asked ends the check.
  for (const it of await checkSinks(config, sinkLoader(configuration.sinkTypes), name))
    report.tell('warning', it)
  for (const { severity, message } of await checkRedisOf(config, name)) report.tell(severity, message)
  if (!context && !findKubeconfig(kubeconfig)) return { notAsked: NO_KUBECONFIG }
  return { cluster: await askCluster(configuration, kubeconfig, report) }
}

const NO_KUBECONFIG = 'there is no kubeconfig ($KUBECONFIG, ~/.kube/config), and this is no pod'
