import { builtInSinks, sinkLoader } from '../app.ts'
import type { Config } from '../config/schema.ts'
import { compilePattern } from '../rules/pattern.ts'
import { userAgent } from '../version.ts'
import { ApiFault } from '../watch/api-fault.ts'
import type { ClusterClient } from '../watch/cluster-client.ts'
import { connectCluster } from '../watch/connect.ts'
import { type Catalogue, discover } from '../watch/discovery.ts'
import { findKubeconfig, type KubeconfigOptions } from '../watch/kubeconfig.ts'
import { type PlannedSource, planSources, type WatchPlan } from '../watch/plan.ts'
import { titleOf } from '../watch/resolve.ts'
import { offersShards } from '../watch/shard-offer.ts'
import { checkWithoutAbsent, describeAbsent, STAND_IN } from './check-absent.ts'
import { checkRedisOf } from './check-redis.ts'
import { checkRights, type RightsAnswer } from './check-rights.ts'
import { checkSinks } from './check-sinks.ts'
import { kubeconfigOptions, loadCluster } from './cluster-access.ts'
import { clusterName } from './cluster-name.ts'
import { type Configuration, configurationFile, pluginsOff, readConfiguration } from './configuration.ts'
import { invocation } from './invocation.ts'
import { neededMetadata } from './needed-metadata.ts'
import { missingToShare } from './shared.ts'
import { counted } from './table.ts'
import type { Unresolved } from './watched-resources.ts'

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
 * Tells everything that is wrong with the configuration; asks the cluster, when there is one, whether the kinds exist and
 * may be read, the sinks whether deliveries could succeed, and Redis whether a start would take it.
 */
export async function check(options: CheckOptions): Promise<number> {
  const named = configurationFile(options.config)
  const standIn = options.offline ? STAND_IN : undefined
  let configuration: Configuration
  try {
    configuration = await readConfiguration(named, builtInSinks, undefined, pluginsOff(options), standIn)
  } catch (error) {
    return checkWithoutAbsent(error, named ?? 'the built-in starter', options.strict)
  }
  const { config, file } = configuration
  const warnings = configuration.warnings.filter(({ absent }) => !absent)
  process.stdout.write(configuration.shownWarnings)
  const kubeconfig = kubeconfigOptions(config.kubernetes, options.context)
  const typeOf = sinkLoader(configuration.sinkTypes)
  // First: a cluster that cannot be asked ends the check.
  const sinks = options.offline ? undefined : await checkSinks(config, typeOf, config.cluster ?? 'check')
  if (sinks) process.stdout.write(sinks.text)
  const redis = options.offline ? undefined : await checkRedisOf(config, config.cluster ?? 'check')
  if (redis) process.stdout.write(redis.text)
  const unasked = reasonNotToAsk(options, kubeconfig)
  const cluster = unasked === undefined ? await askCluster(config, kubeconfig) : undefined
  const name = file ?? 'the built-in starter'
  const { plan, rights, notSplit = 0 } = cluster ?? {}
  const forbidden = rights?.missing.filter(({ required }) => required).length ?? 0
  const problems = (plan?.problems.length ?? 0) + forbidden
  if (problems > 0) {
    process.stdout.write(`${name} has ${counted(problems, 'problem')}\n`)
    return 2
  }
  const doubts = notSplit + (plan?.waiting.length ?? 0) + (rights?.missing.length ?? 0)
  const count = warnings.length + doubts + (sinks?.warnings ?? 0) + (redis?.warnings ?? 0)
  const parts = [
    counted(config.watch.length, 'watch entry', 'watch entries'),
    counted(Object.keys(config.written?.['sinks'] ?? {}).length, 'sink'),
    counted(config.rules.length, 'rule'),
  ]
  const verdict = count === 0 ? 'good' : `good, with ${counted(count, 'warning')}`
  process.stdout.write(`${name} is ${verdict}: ${parts.join(', ')}\n`)
  process.stdout.write(describeAbsent(configuration.warnings) + describeMissing(config))
  if (unasked) process.stdout.write(`(the cluster was not asked whether the kinds exist: ${unasked})\n`)
  return options.strict && count > 0 ? 1 : 0
}

/** Not counted: the chart has it beside what is checked here. */
function describeMissing(config: Config): string {
  const missing = config.leases ? missingToShare(config) : []
  if (missing.length === 0) return ''
  return `(a start needs more, for "leases" shares its work with other processes: ${missing.join(', ')})\n`
}

function reasonNotToAsk({ offline, context }: CheckOptions, kubeconfig: KubeconfigOptions) {
  if (offline) return '--offline'
  if (context || findKubeconfig(kubeconfig)) return undefined
  return 'there is no kubeconfig ($KUBECONFIG, ~/.kube/config), and this is no pod'
}

async function askCluster(
  config: Config,
  kubeconfig: KubeconfigOptions,
): Promise<{ plan: WatchPlan; rights: RightsAnswer; notSplit: number }> {
  const { context, namespace } = loadCluster(kubeconfig)
  const client = connectCluster({ ...kubeconfig, userAgent })
  const signal = AbortSignal.timeout(15_000)
  try {
    const catalogue = await discover(client, signal)
    const plan = planSources(config.watch, catalogue, '', compilePattern)
    const rights = await checkRights(config, { client, catalogue, namespace }, signal)
    const cluster = clusterName(config, () => context)
    const notSplit = await unsplit(plan, client, signal)
    const metadata = describeMetadata(config, catalogue)
    process.stdout.write(
      describe(plan, cluster) + metadata + describeUnsplit(notSplit) + describeRights(rights),
    )
    return { plan, rights, notSplit: notSplit.length }
  } catch (error) {
    throw new Error(
      `the cluster at ${client.url} cannot be asked: ${(error as Error).message} (--offline checks the file alone)`,
      { cause: error },
    )
  } finally {
    await client.close()
  }
}

/** What is to be read in shards, and is not split by the server. One that may not be read is told elsewhere. */
async function unsplit(
  { sources }: WatchPlan,
  client: ClusterClient,
  signal: AbortSignal,
): Promise<PlannedSource[]> {
  const asked = sources.filter(({ shards }) => shards !== undefined)
  const offered = await Promise.all(
    asked.map((it) =>
      offersShards(client, it, it.shards ?? 1, signal).catch((error) => {
        if (error instanceof ApiFault) return true
        throw error
      }),
    ),
  )
  return asked.filter((_, i) => !offered[i])
}

function describeUnsplit(sources: readonly PlannedSource[]): string {
  return sources
    .map(
      ({ title }) =>
        `  warning: the API server does not split ${title} (feature gate ShardedListAndWatch): it is read in one\n`,
    )
    .join('')
}

/** What rules ask for besides what is watched. */
function describeMetadata(config: Config, catalogue: Catalogue): string {
  const { metadata, unresolved } = neededMetadata(config, () => undefined, catalogue)
  const rulesOf = (rules: readonly string[]) =>
    `for ${rules.length === 1 ? 'rule' : 'rules'} ${rules.join(', ')}`
  const lines = metadata.map(({ group, resource, namespaces, name, rules }) => {
    const title = titleOf({ plural: resource, group })
    const where = namespaces ? ` in ${namespaces.join(', ')}` : ''
    return `  reads metadata of ${title}${name === undefined ? '' : ` ${name}`}${where} ${rulesOf(rules.map((it) => it.name))}\n`
  })
  const problemOf = (kind: string, why: Unresolved) =>
    typeof why === 'string'
      ? `the cluster has no kind ${kind} (yet)`
      : `"${kind}" is ambiguous (write ${why.join(' or ')})`
  const missing = unresolved.map(
    ({ kind, rules, why }) => `  warning: ${problemOf(kind, why)}: its metadata is asked ${rulesOf(rules)}\n`,
  )
  return [...lines, ...missing].join('')
}

function describeRights({ missing, unknown }: RightsAnswer): string {
  if (unknown !== undefined) return `  (whether it may be read is not known: ${unknown})\n`
  if (missing.length === 0) return ''
  const lines = missing.map(({ sentence, required }) => `  ${required ? 'error' : 'warning'}: ${sentence}\n`)
  return `${lines.join('')}  ("${invocation(process.env)} rbac" prints the rights that are needed)\n`
}

function describe({ sources, waiting, problems }: WatchPlan, cluster: string): string {
  return [
    `cluster ${cluster}:\n`,
    ...sources.map(
      ({ title, labelSelector, fieldSelector, shards }) =>
        `  watches ${[title, labelSelector, fieldSelector, shards && `in ${shards} shards`].filter(Boolean).join(', ')}\n`,
    ),
    ...waiting.map(({ kind }) => `  warning: waits for ${kind}, which the cluster does not know (yet)\n`),
    ...problems.map(({ message }) => `  error: ${message}\n`),
  ].join('')
}
