import type { ConfigDocument } from '../../config/document.ts'
import {
  type OpenApiSchemas,
  type PathFault,
  pathFault,
  schemaOfKind,
} from '../../config/lint/field-paths.ts'
import { isReportedMisplaced, type RulePath, rulePaths } from '../../config/lint/rule-paths.ts'
import type { Problem } from '../../config/problem.ts'
import type { Config } from '../../config/schema.ts'
import type { Resource } from '../../model/event.ts'
import { compilePattern } from '../../rules/pattern.ts'
import { userAgent } from '../../version.ts'
import { ApiFault } from '../../watch/client/api-fault.ts'
import type { ClusterClient } from '../../watch/client/cluster-client.ts'
import { connectCluster } from '../../watch/client/connect.ts'
import { type Catalogue, discover, resolveKind, titleOf } from '../../watch/client/discovery.ts'
import type { KubeconfigOptions } from '../../watch/client/kubeconfig.ts'
import { type PlannedSource, planSources, type WatchPlan } from '../../watch/plan/plan.ts'
import { offersShards } from '../../watch/plan/split.ts'
import { leaseNamespace } from '../../watch/schema.ts'
import { clusterName, invocation, loadCluster } from '../environment.ts'
import type { Configuration } from '../load-config/configuration.ts'
import { showProblems } from '../load-config/read-configuration.ts'
import { neededLogs, neededMetadata, watchedResources } from '../rbac/needed-resources.ts'
import {
  describeMissing,
  type MissingPermissions,
  type Permission,
  permissionsNeeded,
  reviewOf,
} from '../rbac/permissions.ts'
import type { CheckReport, CheckResult } from './check-report.ts'

/** Checks that the kinds exist, may be read, and have the fields that rules use. */
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
    const permissions = await checkPermissions(config, { client, catalogue, namespace }, signal)
    const name = clusterName(config, () => context)
    const notSplit = await unsplit(plan, client, signal)
    const unknown = await checkPaths(rulePaths(document), { client, catalogue }, document, signal)
    const paths = unknown.filter((it) => !isReportedMisplaced(it, warnings))
    reportPlan(plan, name, report)
    reportMetadata(config, catalogue, report)
    for (const { title } of notSplit)
      report.add(
        'warning',
        `the API server does not split ${title} (feature gate ShardedListAndWatch): it is read in one`,
      )
    reportPermissions(permissions, report)
    report.addProblems(paths, showProblems(paths, texts))
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

/** Returns the sources with shards that the server does not split. A source without permissions is reported elsewhere. */
async function unsplit({ sources }: WatchPlan, client: ClusterClient, signal: AbortSignal) {
  const sharded = sources.filter(({ shards }) => shards !== undefined)
  const offered = await Promise.all(
    sharded.map((it) =>
      offersShards(client, it, it.shards ?? 1, signal).catch((error) => {
        if (error instanceof ApiFault) return true
        throw error
      }),
    ),
  )
  return sharded.filter((_, i) => !offered[i])
}

/** Reports the kinds whose metadata rules need in addition to what is watched. */
function reportMetadata(config: Config, catalogue: Catalogue, report: CheckReport): void {
  const { metadata, unresolved } = neededMetadata(config, () => undefined, catalogue)
  const forRules = (rules: readonly string[]) =>
    `for ${rules.length === 1 ? 'rule' : 'rules'} ${rules.join(', ')}`
  for (const { group, resource, namespaces, name, rules } of metadata) {
    const title = titleOf({ plural: resource, group })
    const where = namespaces ? ` in ${namespaces.join(', ')}` : ''
    const which = name === undefined ? '' : ` ${name}`
    report.print(`  reads metadata of ${title}${which}${where} ${forRules(rules.map((it) => it.name))}\n`)
  }
  for (const { kind, rules, why } of unresolved) {
    const problem =
      typeof why === 'string'
        ? `the cluster has no kind ${kind} (yet)`
        : `"${kind}" is ambiguous (write ${why.join(' or ')})`
    report.add('warning', `${problem}: its metadata is needed ${forRules(rules)}`)
  }
}

function reportPlan({ sources, waiting, problems }: WatchPlan, cluster: string, report: CheckReport): void {
  report.print(`cluster ${cluster}:\n`)
  for (const { title, labelSelector, fieldSelector, shards } of sources) {
    const parts = [title, labelSelector, fieldSelector, shards && `in ${shards} shards`]
    report.print(`  watches ${parts.filter(Boolean).join(', ')}\n`)
  }
  for (const { kind } of waiting)
    report.add('warning', `waits for ${kind}, which the cluster does not know (yet)`)
  for (const { message } of problems) report.add('error', message)
}

function reportPermissions({ missing, unknown }: Permissions, report: CheckReport): void {
  if (unknown !== undefined) return report.print(`  (whether it may be read is not known: ${unknown})\n`)
  for (const { sentence, required } of missing) report.add(required ? 'error' : 'warning', sentence)
  if (missing.length > 0)
    report.print(`  ("${invocation(process.env)} rbac" prints the permissions that are needed)\n`)
}

function describeSource({ title, labelSelector, fieldSelector, shards }: PlannedSource) {
  return {
    title,
    ...(labelSelector !== undefined && { labels: labelSelector }),
    ...(fieldSelector !== undefined && { fields: fieldSelector }),
    ...(shards !== undefined && { shards }),
  }
}

interface Permissions {
  missing: MissingPermissions[]
  /** Why the permissions are not known. */
  unknown?: string
}

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const CONCURRENCY = 8

/** Asks the API server for each permission that `kubeherald rbac` would print. */
export async function checkPermissions(
  config: Config,
  {
    client,
    catalogue,
    namespace,
  }: { client: ClusterClient; catalogue: Catalogue; namespace: string | undefined },
  signal: AbortSignal,
): Promise<Permissions> {
  const { watches } = watchedResources(config.watch, (index) => config.placeOf?.(['watch', index]), catalogue)
  const { metadata } = neededMetadata(config, (index) => config.placeOf?.(['rules', index]), catalogue)
  const permissions = permissionsNeeded({
    watches,
    metadata,
    logs: neededLogs(config.rules, watches, (index) => config.placeOf?.(['rules', index])),
    ...(config.leases && { leaseNamespace: leaseNamespace(config.leases, process.env, namespace) }),
  })
  const missing: Permission[] = []
  const waiting = [...permissions]
  let unknown: string | undefined
  async function work(): Promise<void> {
    for (
      let permission = waiting.shift();
      permission && unknown === undefined;
      permission = waiting.shift()
    ) {
      const answer = await ask(client, permission, signal)
      if (typeof answer === 'string') unknown = answer
      else if (!answer) missing.push(permission)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  if (unknown !== undefined) return { missing: [], unknown }
  return { missing: describeMissing(permissions.filter((it) => missing.includes(it))) }
}

/** Returns whether a permission is granted, or why that is not known. */
async function ask(
  client: ClusterClient,
  permission: Permission,
  signal: AbortSignal,
): Promise<boolean | string> {
  const { status, body } = await client.send('POST', REVIEWS, reviewOf(permission), {}, signal)
  if (status !== 200 && status !== 201) return `the API server answered ${status}`
  const { status: review } = JSON.parse(body.toString()) as { status?: { allowed?: boolean } }
  return review?.allowed === true
}

/** A kind of the cluster with its OpenAPI schemas. */
interface Described extends Resource {
  schemas: OpenApiSchemas
}

/** Finds paths of rules that no object of their kinds can have, by the cluster's OpenAPI; none without OpenAPI. */
export async function checkPaths(
  paths: readonly RulePath[],
  { client, catalogue }: { client: ClusterClient; catalogue: Catalogue },
  document: ConfigDocument,
  signal: AbortSignal,
): Promise<Problem[]> {
  if (paths.length === 0) return []
  const index = await groupVersions(client, signal)
  const reading = new Map<string, Promise<OpenApiSchemas | undefined>>()
  async function describe(spelling: string): Promise<Described | undefined> {
    const resolution = resolveKind(spelling, catalogue)
    if (resolution.kind !== 'found') return undefined
    const { group, version } = resolution.resource
    const url = index[group === '' ? `api/${version}` : `apis/${group}/${version}`]
    if (url === undefined) return undefined
    const schemas = await (reading.get(url) ?? reading.set(url, readSchemas(client, url, signal)).get(url))
    return schemas && { ...resolution.resource, schemas }
  }
  const problems = await Promise.all(
    paths.map(async (it) => {
      const described = await Promise.all(it.kinds.map(describe))
      const faults = described.map((kind) => kind && faultIn(kind, it.path))
      const [first] = faults
      // One kind that may have it is enough; an unknown kind may have it.
      if (!first || faults.some((fault) => fault === undefined)) return []
      return [problemOf(it, first, document)]
    }),
  )
  return problems.flat()
}

function faultIn({ schemas, ...resource }: Described, path: string): PathFault | undefined {
  const schema = schemaOfKind(schemas, resource)
  return schema && pathFault(schemas, resource.kind, schema, path)
}

function problemOf({ place, offset, atKey }: RulePath, fault: PathFault, document: ConfigDocument): Problem {
  const { message, hint, length } = fault
  return document.problem('unknown-path', place, message, {
    ...(atKey ? { atKey } : { offset: offset + fault.offset, length }),
    hint,
    severity: 'warning',
  })
}

type Index = Readonly<Record<string, string>>

async function groupVersions(client: ClusterClient, signal: AbortSignal): Promise<Index> {
  const { paths = {} } = ((await getJson(client, '/openapi/v3', signal)) ?? {}) as {
    paths?: Record<string, { serverRelativeURL?: string }>
  }
  return Object.fromEntries(
    Object.entries(paths).flatMap(([name, { serverRelativeURL: url }]) => (url ? [[name, url]] : [])),
  )
}

async function readSchemas(
  client: ClusterClient,
  url: string,
  signal: AbortSignal,
): Promise<OpenApiSchemas | undefined> {
  const answer = (await getJson(client, url, signal)) as
    | { components?: { schemas?: OpenApiSchemas } }
    | undefined
  return answer?.components?.schemas
}

async function getJson(client: ClusterClient, path: string, signal: AbortSignal): Promise<unknown> {
  const { status, body } = await client.get(path, { accept: 'application/json', timeoutMs: 10_000 }, signal)
  return status === 200 ? JSON.parse(body.toString()) : undefined
}
