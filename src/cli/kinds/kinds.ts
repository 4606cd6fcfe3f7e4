import { printable } from '../../text/printable.ts'
import { userAgent } from '../../version.ts'
import type { ClusterClient } from '../../watch/client/cluster-client.ts'
import { connectCluster } from '../../watch/client/connect.ts'
import {
  apiVersionOf,
  type Catalogue,
  type DiscoveredResource,
  discover,
  pathOf,
  titleOf,
} from '../../watch/client/discovery.ts'
import { findKubeconfig, noKubeconfig } from '../../watch/client/kubeconfig.ts'
import { kubeconfigOptions, loadCluster } from '../environment.ts'
import { configurationFile } from '../load-config/configuration.ts'
import { readStorageSettings } from '../load-config/settings.ts'
import { dataText, type OutputOptions, table } from '../output/format.ts'
import { UsageError } from '../usage-error.ts'
import { countOf, smallGet } from './object-count.ts'

interface KindsOptions extends OutputOptions {
  config?: string
  context?: string
  count?: boolean
}

/** Prints the kinds that the cluster offers to watch, each in the version that the API server prefers. */
export async function kinds(options: KindsOptions): Promise<number> {
  const file = configurationFile(options.config)
  const settings = file === undefined ? {} : (await readStorageSettings(file)).kubernetes
  const kubeconfig = kubeconfigOptions(settings, options.context)
  if (options.context === undefined && !findKubeconfig(kubeconfig))
    throw new UsageError(noKubeconfig(process.env))
  loadCluster(kubeconfig)
  const client = connectCluster({ ...kubeconfig, userAgent })
  try {
    const catalogue = await discoverFrom(client)
    const rows = kindRows(catalogue)
    if (options.count) await countAll(rows, client)
    process.stdout.write(
      options.output === 'table' ? asTable(rows, options.count) : dataText(rows.map(shown), options.output),
    )
    for (const group of catalogue.silentGroups)
      process.stderr.write(`warning: ${printable(group)} does not answer: its kinds may be missing\n`)
    return 0
  } finally {
    await client.close()
  }
}

const DISCOVERY_MS = 15_000

async function discoverFrom(client: ClusterClient): Promise<Catalogue> {
  try {
    return await discover(client, AbortSignal.timeout(DISCOVERY_MS))
  } catch (error) {
    throw new Error(`the cluster at ${client.url} cannot be asked: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** A kind, with what asking for its objects gave. */
interface KindRow {
  resource: DiscoveredResource
  objects?: Objects
}

/** A number, or why there is none; `more than 1` where the server counts nothing. */
type Objects = number | 'more than 1' | 'forbidden' | 'unknown'

/** One row for each resource, in the order of the server: its preferred version, else the first. */
export function kindRows({ resources }: Pick<Catalogue, 'resources'>): KindRow[] {
  const byTitle = Map.groupBy(resources, titleOf)
  return [...byTitle.values()].flatMap((versions) => {
    const resource = versions.find(({ preferred }) => preferred) ?? versions[0]
    return resource ? [{ resource }] : []
  })
}

const CONCURRENCY = 8
/** Time limit of a request; a kind whose API hangs is unknown, and stops no other. */
const COUNT_MS = 10_000

async function countAll(rows: KindRow[], client: ClusterClient): Promise<void> {
  const waiting = [...rows]
  async function work(): Promise<void> {
    for (let row = waiting.shift(); row; row = waiting.shift())
      row.objects = await count(row.resource, client)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}

async function count(resource: DiscoveredResource, client: ClusterClient): Promise<Objects> {
  try {
    const path = `${pathOf(resource, '')}?limit=1`
    const { status, json } = await smallGet(client, path, AbortSignal.timeout(COUNT_MS))
    if (status === 401 || status === 403) return 'forbidden'
    return json ? (countOf(json) ?? 'more than 1') : 'unknown'
  } catch {
    return 'unknown'
  }
}

function shown({ resource, objects }: KindRow) {
  const { kind, namespaced, shortNames } = resource
  return {
    name: titleOf(resource),
    kind,
    apiVersion: apiVersionOf(resource),
    shortNames,
    namespaced,
    ...(objects !== undefined && { objects }),
  }
}

function asTable(rows: readonly KindRow[], hasCount = false): string {
  const header = [
    'NAME',
    'KIND',
    'API VERSION',
    'SHORT NAMES',
    'NAMESPACED',
    ...(hasCount ? ['OBJECTS'] : []),
  ]
  const cells = rows
    .map(shown)
    .map(({ name, kind, apiVersion, shortNames, namespaced, objects }) => [
      ...[name, kind, apiVersion, shortNames.join(','), namespaced ? 'yes' : 'no'],
      ...(hasCount ? [String(objects)] : []),
    ])
  return table([header, ...cells])
}
