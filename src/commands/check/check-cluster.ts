import { isToldMisplaced } from '../../config/check-container-paths.ts'
import { rulePaths } from '../../config/rule-paths.ts'
import { pathsInExpression } from '../../rules/cel/paths-in.ts'
import { compilePattern } from '../../rules/pattern.ts'
import { userAgent } from '../../version.ts'
import { ApiFault } from '../../watch/api-fault.ts'
import type { ClusterClient } from '../../watch/cluster-client.ts'
import { connectCluster } from '../../watch/connect.ts'
import { type Catalogue, discover } from '../../watch/discovery.ts'
import type { KubeconfigOptions } from '../../watch/kubeconfig.ts'
import { type PlannedSource, planSources, type WatchPlan } from '../../watch/plan.ts'
import { titleOf } from '../../watch/resolve.ts'
import { offersShards } from '../../watch/shard-offer.ts'
import { loadCluster } from '../cluster-access.ts'
import { clusterName } from '../cluster-name.ts'
import { invocation } from '../invocation.ts'
import type { Configuration } from '../reading/configuration.ts'
import { showProblems } from '../reading/shown-problems.ts'
import { neededMetadata } from '../rights/needed-metadata.ts'
import type { Unresolved } from '../rights/watched-resources.ts'
import { checkPaths } from './check-paths.ts'
import type { CheckReport, CheckResult } from './check-report.ts'
import { checkRights, type RightsAnswer } from './check-rights.ts'

/** Asks the cluster whether the kinds exist, may be read, and have the fields that rules ask for. */
export async function askCluster(
  { config, document, texts, warnings }: Pick<Configuration, 'config' | 'document' | 'texts' | 'warnings'>,
  kubeconfig: KubeconfigOptions,
  report: CheckReport,
): Promise<NonNullable<CheckResult['cluster']>> {
  const { context, namespace } = loadCluster(kubeconfig)
  const client = connectCluster({ ...kubeconfig, userAgent })
  const signal = AbortSignal.timeout(15_000)
  try {
    const catalogue = await discover(client, signal)
    const plan = planSources(config.watch, catalogue, '', compilePattern)
    const rights = await checkRights(config, { client, catalogue, namespace }, signal)
    const name = clusterName(config, () => context)
    const notSplit = await unsplit(plan, client, signal)
    const unknown = await checkPaths(
      rulePaths(document, pathsInExpression),
      { client, catalogue },
      document,
      signal,
    )
    const paths = unknown.filter((it) => !isToldMisplaced(it, warnings))
    tellPlan(plan, name, report)
    tellMetadata(config, catalogue, report)
    for (const { title } of notSplit)
      report.tell(
        'warning',
        `the API server does not split ${title} (feature gate ShardedListAndWatch): it is read in one`,
      )
    tellRights(rights, report)
    report.tellProblems(paths, showProblems(paths, texts))
    return { name, watches: plan.sources.map(describeSource) }
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

/** What rules ask for besides what is watched. */
function tellMetadata(config: Configuration['config'], catalogue: Catalogue, report: CheckReport): void {
  const { metadata, unresolved } = neededMetadata(config, () => undefined, catalogue)
  const forRules = (rules: readonly string[]) =>
    `for ${rules.length === 1 ? 'rule' : 'rules'} ${rules.join(', ')}`
  for (const { group, resource, namespaces, name, rules } of metadata) {
    const title = titleOf({ plural: resource, group })
    const where = namespaces ? ` in ${namespaces.join(', ')}` : ''
    const which = name === undefined ? '' : ` ${name}`
    report.say(`  reads metadata of ${title}${which}${where} ${forRules(rules.map((it) => it.name))}\n`)
  }
  const problemOf = (kind: string, why: Unresolved) =>
    typeof why === 'string'
      ? `the cluster has no kind ${kind} (yet)`
      : `"${kind}" is ambiguous (write ${why.join(' or ')})`
  for (const { kind, rules, why } of unresolved)
    report.tell('warning', `${problemOf(kind, why)}: its metadata is asked ${forRules(rules)}`)
}

function tellRights({ missing, unknown }: RightsAnswer, report: CheckReport): void {
  if (unknown !== undefined) return report.say(`  (whether it may be read is not known: ${unknown})\n`)
  for (const { sentence, required } of missing) report.tell(required ? 'error' : 'warning', sentence)
  if (missing.length > 0)
    report.say(`  ("${invocation(process.env)} rbac" prints the rights that are needed)\n`)
}

function tellPlan({ sources, waiting, problems }: WatchPlan, cluster: string, report: CheckReport): void {
  report.say(`cluster ${cluster}:\n`)
  for (const { title, labelSelector, fieldSelector, shards } of sources) {
    const parts = [title, labelSelector, fieldSelector, shards && `in ${shards} shards`]
    report.say(`  watches ${parts.filter(Boolean).join(', ')}\n`)
  }
  for (const { kind } of waiting)
    report.tell('warning', `waits for ${kind}, which the cluster does not know (yet)`)
  for (const { message } of problems) report.tell('error', message)
}

function describeSource({ title, labelSelector, fieldSelector, shards }: PlannedSource) {
  return {
    title,
    ...(labelSelector !== undefined && { labels: labelSelector }),
    ...(fieldSelector !== undefined && { fields: fieldSelector }),
    ...(shards !== undefined && { shards }),
  }
}
