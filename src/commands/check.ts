import { builtInSinks, sinkLoader } from '../app.ts'
import type { Config } from '../config/schema.ts'
import { compilePattern } from '../rules/pattern.ts'
import { userAgent } from '../version.ts'
import { connectCluster } from '../watch/connect.ts'
import { discover } from '../watch/discovery.ts'
import { findKubeconfig, type KubeconfigOptions } from '../watch/kubeconfig.ts'
import { planSources, type WatchPlan } from '../watch/plan.ts'
import { checkRedisOf } from './check-redis.ts'
import { checkSinks } from './check-sinks.ts'
import { kubeconfigOptions, loadCluster } from './cluster-access.ts'
import { clusterName } from './cluster-name.ts'
import { configurationFile, pluginsOff, readConfiguration } from './configuration.ts'
import { counted } from './table.ts'

interface CheckOptions {
  config?: string
  context?: string
  offline?: boolean
  /** Warnings are failures. */
  strict?: boolean
  /** False with --no-plugins. */
  plugins?: boolean
}

/**
 * Tells everything that is wrong with the configuration; asks the cluster, when there is one, whether the kinds exist, and
 * the sinks whether deliveries could succeed, and Redis whether a start would take it.
 */
export async function check(options: CheckOptions): Promise<number> {
  const named = configurationFile(options.config)
  const configuration = await readConfiguration(named, builtInSinks, undefined, pluginsOff(options))
  const { config, file, warnings } = configuration
  process.stdout.write(configuration.shownWarnings)
  const kubeconfig = kubeconfigOptions(config.kubernetes, options.context)
  const typeOf = sinkLoader(configuration.sinkTypes)
  // First: a cluster that cannot be asked ends the check.
  const sinks = options.offline ? undefined : await checkSinks(config, typeOf, config.cluster ?? 'check')
  if (sinks) process.stdout.write(sinks.text)
  const redis = options.offline ? undefined : await checkRedisOf(config, config.cluster ?? 'check')
  if (redis) process.stdout.write(redis.text)
  const unasked = reasonNotToAsk(options, kubeconfig)
  const plan = unasked === undefined ? await planOf(config, kubeconfig) : undefined
  const name = file ?? 'the built-in starter'
  if (plan && plan.problems.length > 0) {
    process.stdout.write(`${name} has ${counted(plan.problems.length, 'problem')}\n`)
    return 2
  }
  const count =
    warnings.length + (plan?.waiting.length ?? 0) + (sinks?.warnings ?? 0) + (redis?.warnings ?? 0)
  const parts = [
    counted(config.watch.length, 'watch entry', 'watch entries'),
    counted(config.sinks.length, 'sink'),
    counted(config.rules.length, 'rule'),
  ]
  const verdict = count === 0 ? 'good' : `good, with ${counted(count, 'warning')}`
  process.stdout.write(`${name} is ${verdict}: ${parts.join(', ')}\n`)
  if (unasked) process.stdout.write(`(the cluster was not asked whether the kinds exist: ${unasked})\n`)
  return options.strict && count > 0 ? 1 : 0
}

function reasonNotToAsk({ offline, context }: CheckOptions, kubeconfig: KubeconfigOptions) {
  if (offline) return '--offline'
  if (context || findKubeconfig(kubeconfig)) return undefined
  return 'there is no kubeconfig ($KUBECONFIG, ~/.kube/config), and this is no pod'
}

async function planOf(config: Config, kubeconfig: KubeconfigOptions): Promise<WatchPlan> {
  const { context } = loadCluster(kubeconfig)
  const client = connectCluster({ ...kubeconfig, userAgent })
  try {
    const catalogue = await discover(client, AbortSignal.timeout(15_000))
    const plan = planSources(config.watch, catalogue, '', compilePattern)
    process.stdout.write(
      describe(
        plan,
        clusterName(config, () => context),
      ),
    )
    return plan
  } catch (error) {
    throw new Error(
      `the cluster at ${client.url} cannot be asked: ${(error as Error).message} (--offline checks the file alone)`,
      { cause: error },
    )
  } finally {
    await client.close()
  }
}

function describe({ sources, waiting, problems }: WatchPlan, cluster: string): string {
  return [
    `cluster ${cluster}:\n`,
    ...sources.map(
      ({ title, labelSelector, fieldSelector }) =>
        `  watches ${[title, labelSelector, fieldSelector].filter(Boolean).join(', ')}\n`,
    ),
    ...waiting.map(({ kind }) => `  warning: waits for ${kind}, which the cluster does not know (yet)\n`),
    ...problems.map(({ message }) => `  error: ${message}\n`),
  ].join('')
}
