import { builtInSinks } from '../app.ts'
import { clusterName } from '../cluster-name.ts'
import type { Config } from '../config/schema.ts'
import { compilePattern } from '../rules/pattern.ts'
import { userAgent } from '../version.ts'
import { connectCluster } from '../watch/connect.ts'
import { discover } from '../watch/discovery.ts'
import { findKubeconfig, loadAccess } from '../watch/kubeconfig.ts'
import { planSources, type WatchPlan } from '../watch/plan.ts'
import { readConfiguration } from './configuration.ts'

interface CheckOptions {
  config?: string
  context?: string
  offline?: boolean
}

/** Tells everything that is wrong with the configuration; asks the cluster, when there is one, whether the kinds exist. */
export async function check(options: CheckOptions): Promise<number> {
  const { config, file, warnings } = await readConfiguration(options.config, builtInSinks)
  process.stdout.write(warnings)
  const summary = summaryOf(config)
  const access = { ...kubernetesOf(config, options), env: process.env }
  if (options.offline || !findKubeconfig(access)) {
    process.stdout.write(
      `${file ?? 'the built-in starter'} is good: ${summary}\n(the cluster was not asked whether the kinds exist)\n`,
    )
    return 0
  }
  const { context } = loadAccess(access)
  const client = connectCluster({ ...access, userAgent })
  try {
    const catalogue = await discover(client, AbortSignal.timeout(15_000))
    const plan = planSources(config.watch, catalogue, '', compilePattern)
    process.stdout.write(describe(plan, clusterName(config, context)))
    if (plan.problems.length > 0) return 2
    process.stdout.write(`${file ?? 'the built-in starter'} is good: ${summary}\n`)
    return 0
  } catch (error) {
    throw new Error(
      `the cluster at ${client.url} cannot be asked: ${(error as Error).message} (--offline checks the file alone)`,
      { cause: error },
    )
  } finally {
    await client.close()
  }
}

/** `1 watch entry, 2 sinks, 3 rules`. */
function summaryOf({ watch, sinks, rules }: Config): string {
  const count = (n: number, one: string, many: string) => `${n} ${n === 1 ? one : many}`
  return [
    count(watch.length, 'watch entry', 'watch entries'),
    count(sinks.length, 'sink', 'sinks'),
    count(rules.length, 'rule', 'rules'),
  ].join(', ')
}

function describe({ sources, waiting, problems }: WatchPlan, cluster: string): string {
  return [
    `cluster ${cluster}:\n`,
    ...sources.map(
      ({ title, labelSelector, fieldSelector }) =>
        `  watches ${[title, labelSelector, fieldSelector].filter(Boolean).join(', ')}\n`,
    ),
    ...waiting.map(({ kind }) => `  waits for ${kind}: the cluster does not know it (yet)\n`),
    ...problems.map(({ message }) => `  error: ${message}\n`),
  ].join('')
}

function kubernetesOf(
  { kubernetes }: Config,
  { context }: CheckOptions,
): { kubeconfig?: string; context?: string } {
  const chosen = context ?? kubernetes.context
  return {
    ...(kubernetes.kubeconfig && { kubeconfig: kubernetes.kubeconfig }),
    ...(chosen && { context: chosen }),
  }
}
