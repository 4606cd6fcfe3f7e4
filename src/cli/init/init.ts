import { lstatSync, writeFileSync } from 'node:fs'
import { findConfig } from '../../config/starter.ts'
import { allSinks, builtInSinks, DEFAULT_SINK } from '../../sink-types.ts'
import { userAgent } from '../../version.ts'
import type { ClusterClient } from '../../watch/client/cluster-client.ts'
import { connectCluster } from '../../watch/client/connect.ts'
import { discover } from '../../watch/client/discovery.ts'
import { findKubeconfig } from '../../watch/client/kubeconfig.ts'
import { clusterName, invocation, kubeconfigOptions, loadCluster } from '../environment.ts'
import { countOf, itemsOf, type Json, smallGet } from '../kinds/object-count.ts'
import { fileFault } from '../load-config/file-reads.ts'
import { permissionsOf } from '../rbac/rbac.ts'
import { UsageError } from '../usage-error.ts'
import type { ClusterFacts, NamespaceFacts } from './starter-file.ts'
import { starterFile } from './starter-file.ts'

interface InitOptions {
  context?: string
  output: string
  /** A sink type. */
  sink: string
  force?: boolean
  offline?: boolean
}

/** Asks the cluster, if there is one, and writes a configuration to begin with and the permissions that it needs. */
export async function init(options: InitOptions): Promise<number> {
  const { output, force = false } = options
  const sinks = await sinkExamples(options.sink)
  if (output === '-') {
    process.stdout.write(starterFile({ facts: await look(options), ...sinks }))
    return 0
  }
  const permissionsFile = output.replace(/(\.ya?ml)?$/, '-rbac.yaml')
  if (!force) for (const file of [output, permissionsFile]) refuseExisting(file)
  const facts = await look(options)
  write(output, starterFile({ facts, ...sinks, permissionsFile }), force)
  write(
    permissionsFile,
    await permissionsOf({ ...options, config: output, name: 'kubeherald', format: 'yaml' }),
    force,
  )
  const how = facts ? `for the cluster ${facts.cluster}` : 'without a cluster'
  process.stdout.write(
    `${output} is written ${how}, and ${permissionsFile} with the permissions that it needs.\n${nextCommands(output)}\n`,
  )
  return 0
}

/** The section of the chosen sink type, and those of others that could replace it. */
async function sinkExamples(chosen: string): Promise<{ sink: string; otherSinks: string[] }> {
  const loaded = Object.entries(builtInSinks).map(
    async ([type, load]) => [type, (await load()).example] as const,
  )
  const examples = new Map(await Promise.all(loaded))
  const { example } = await allSinks[chosen as keyof typeof allSinks]()
  const others = [...examples].filter(([type]) => type !== chosen && type !== DEFAULT_SINK)
  return {
    sink: example ?? `{ type: ${chosen} }`,
    otherSinks: others.flatMap(([, it]) => it ?? []),
  }
}

/** Commands that read the file that was written, also where another one is the default. */
function nextCommands(output: string): string {
  const named = findConfig(undefined, process.env) === output ? '' : ` --config ${output}`
  const program = invocation(process.env)
  return `Next: ${program} check${named}, ${program} tail${named}`
}

/** Undefined where there is no cluster to look at. */
async function look({ context, offline }: InitOptions): Promise<ClusterFacts | undefined> {
  const kubeconfig = kubeconfigOptions({}, context)
  if (offline || (context === undefined && !findKubeconfig(kubeconfig))) return undefined
  const access = loadCluster(kubeconfig)
  const client = connectCluster({ ...kubeconfig, userAgent })
  try {
    const cluster = clusterName({ cluster: undefined }, () => access.context)
    return await lookAt(
      client,
      { cluster, namespace: access.namespace ?? 'default' },
      AbortSignal.timeout(15_000),
    )
  } catch (error) {
    const hint = '(--offline writes a file without it)'
    throw new Error(`the cluster at ${client.url} cannot be asked: ${(error as Error).message} ${hint}`, {
      cause: error,
    })
  } finally {
    await client.close()
  }
}

function refuseExisting(file: string): void {
  // A link that leads nowhere is there, too: to write would create what it names.
  if (isThere(file)) throw existing(file)
}

function isThere(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    throw unwritable(file, error)
  }
}

function unwritable(file: string, error: unknown): UsageError {
  return new UsageError(`cannot write ${file}: ${fileFault(error)}`)
}

function existing(file: string): UsageError {
  return new UsageError(`${file} already exists: --force overwrites it, --output writes another file`)
}

function write(file: string, text: string, force: boolean): void {
  try {
    writeFileSync(file, text, { flag: force ? 'w' : 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw existing(file)
    throw unwritable(file, error)
  }
}

interface LookOptions {
  /** The name that it will have. */
  cluster: string
  /** Where to look when not all of the cluster may be read. */
  namespace: string
}

const MAX_NAMESPACES = 500

/** Looks at a cluster with a handful of small requests. What may not be read is left out. Throws when it does not answer. */
async function lookAt(
  client: ClusterClient,
  { cluster, namespace }: LookOptions,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const { resources } = await discover(client, signal)
  const read = async (path: string) => (await smallGet(client, path, signal)).json
  const [version, namespaces, nodes, pods] = await Promise.all([
    read('/version'),
    read(`/api/v1/namespaces?limit=${MAX_NAMESPACES}`),
    read('/api/v1/nodes?limit=1'),
    read('/api/v1/pods?limit=1'),
  ])
  const gitVersion = version?.['gitVersion']
  const nodeCount = nodes && countOf(nodes)
  const podCount = pods && (countOf(pods) ?? 1)
  return {
    cluster,
    ...(typeof gitVersion === 'string' && /^v[\w.+-]{1,40}$/.test(gitVersion) && { version: gitVersion }),
    ...(nodeCount !== undefined && { nodes: nodeCount }),
    ...(podCount !== undefined ? { pods: podCount } : { onlyNamespace: namespace }),
    ...(namespaces && { namespaces: itemsOf(namespaces).map(namespaceOf) }),
    resources: new Set(resources.map(({ plural, group }) => (group === '' ? plural : `${plural}.${group}`))),
  }
}

function namespaceOf({ metadata }: Json): NamespaceFacts {
  const { name = '', labels = {} } = (metadata ?? {}) as { name?: string; labels?: Record<string, string> }
  return { name, labels }
}
