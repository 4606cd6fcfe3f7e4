import { existsSync, writeFileSync } from 'node:fs'
import type { ClusterFacts } from '../init/facts.ts'
import { lookAt } from '../init/look.ts'
import { type SinkChoice, starterFile } from '../init/starter-file.ts'
import { userAgent } from '../version.ts'
import { connectCluster } from '../watch/connect.ts'
import { findKubeconfig } from '../watch/kubeconfig.ts'
import { kubeconfigOptions, loadCluster } from './cluster-access.ts'
import { clusterName } from './cluster-name.ts'
import { invocation } from './invocation.ts'
import { fileFault } from './reading/file-fault.ts'
import { rightsOf } from './rights/rbac.ts'
import { UsageError } from './usage-error.ts'

interface InitOptions {
  context?: string
  output: string
  sink: SinkChoice
  force?: boolean
  offline?: boolean
}

/** Looks at the cluster, where there is one, and writes a configuration to begin with, and the rights that it needs. */
export async function init(options: InitOptions): Promise<number> {
  const { output, sink, force = false } = options
  if (output === '-') {
    process.stdout.write(starterFile({ facts: await look(options), sink }))
    return 0
  }
  const rightsFile = output.replace(/(\.ya?ml)?$/, '-rbac.yaml')
  if (!force) for (const file of [output, rightsFile]) refuseExisting(file)
  const facts = await look(options)
  write(output, starterFile({ facts, sink, rightsFile }))
  write(rightsFile, await rightsOf({ ...options, config: output, name: 'kubeherald', format: 'yaml' }))
  const how = facts ? `for the cluster ${facts.cluster}` : 'without a look at a cluster'
  process.stdout.write(
    `${output} is written ${how}, and ${rightsFile} with the rights that it needs.\n${nextCommands(output)}\n`,
  )
  return 0
}

/** Commands that read the file that was written, also where it is not the default one. */
function nextCommands(output: string): string {
  const named = output === 'kubeherald.yaml' ? '' : ` --config ${output}`
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
    const hint = '(--offline writes a file without a look at it)'
    throw new Error(`the cluster at ${client.url} cannot be asked: ${(error as Error).message} ${hint}`, {
      cause: error,
    })
  } finally {
    await client.close()
  }
}

function refuseExisting(file: string): void {
  if (existsSync(file))
    throw new UsageError(`${file} is there already: --force writes over it, --output takes another name`)
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${fileFault(error)}`)
  }
}
