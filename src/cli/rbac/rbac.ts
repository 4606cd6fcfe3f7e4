import { userAgent } from '../../version.ts'
import { connectCluster } from '../../watch/client/connect.ts'
import { type Catalogue, discover } from '../../watch/client/discovery.ts'
import { findKubeconfig, type KubeconfigOptions } from '../../watch/client/kubeconfig.ts'
import { kubeconfigOptions, loadCluster } from '../environment.ts'
import { configurationFile } from '../load-config/configuration.ts'
import { readWatchSettings, type WatchSettings } from '../load-config/settings.ts'
import { UsageError } from '../usage-error.ts'
import { rulesOf, toManifests, toValues } from './manifest.ts'
import { neededLogs, neededMetadata, type Unresolved, watchedResources } from './needed-resources.ts'
import { type Features, permissionsNeeded } from './permissions.ts'

interface RbacOptions {
  config?: string
  context?: string
  offline?: boolean
  serviceAccount?: string
  name: string
  format: 'yaml' | 'values'
}

/** Prints the permissions that a configuration needs, and no others. */
export async function rbac(options: RbacOptions): Promise<number> {
  process.stdout.write(await permissionsOf(options))
  return 0
}

/** The same as text: manifests, or values for the chart. */
export async function permissionsOf(options: RbacOptions): Promise<string> {
  const serviceAccount = accountOf(options.serviceAccount, process.env)
  const name = checkRoleName(options.name)
  const settings = await readWatchSettings(configurationFile(options.config))
  const wants = await resolve(settings, options)
  const isValues = options.format === 'values'
  const leaseNamespace = isValues ? undefined : leaseNamespaceOf(settings.leases, serviceAccount.namespace)
  const rules = rulesOf(
    permissionsNeeded({ ...wants, ...(leaseNamespace !== undefined && { leaseNamespace }) }),
  )
  const heading = [
    `The permissions that ${settings.file} needs: kubeherald rbac printed them.`,
    'Every authenticated user may list the kinds (ClusterRole system:discovery).',
  ]
  return isValues
    ? toValues(rules, [...heading, 'The chart adds those for leases itself.'])
    : toManifests(rules, { name, serviceAccount, heading })
}

async function resolve(settings: WatchSettings, options: RbacOptions): Promise<Features> {
  const alone = resourcesOf(settings)
  if (alone.unresolved.length === 0) return alone
  const kubeconfig = kubeconfigOptions(settings.kubernetes, options.context)
  const hasCluster = !options.offline && (options.context !== undefined || findKubeconfig(kubeconfig))
  const all = hasCluster ? resourcesOf(settings, await catalogueOf(kubeconfig)) : alone
  if (all.unresolved.length > 0) throw new UsageError(all.unresolved.join('\n'))
  return all
}

/** What is watched, and what rules ask for besides; of what cannot be resolved, why. */
function resourcesOf(settings: WatchSettings, catalogue?: Catalogue): Features & { unresolved: string[] } {
  const { watch, rules, placeOf, placeOfRule } = settings
  const watched = watchedResources(watch, placeOf, catalogue)
  const needed = neededMetadata(settings, placeOfRule, catalogue)
  return {
    watches: watched.watches,
    metadata: needed.metadata,
    logs: neededLogs(rules, watched.watches, placeOfRule),
    unresolved: [
      ...watched.unresolved.map(
        ({ index, kind, why }) => `${placeOf(index)}: watch[${index}]: ${sentenceOf(kind, why)}`,
      ),
      ...needed.unresolved.map(({ kind, rules: asking, why }) => {
        const first = rules.findIndex(({ name }) => name === asking[0])
        return `${placeOfRule(first)}: rule "${asking[0]}": ${sentenceOf(kind, why)}`
      }),
    ],
  }
}

function sentenceOf(kind: string, why: Unresolved): string {
  const plural = 'write its plural and its group, such as databases.stable.example.com'
  if (why === 'needs-cluster')
    return `only a cluster knows which resource "${kind}" is: ${plural}, or run this where there is a kubeconfig`
  if (why === 'unknown') return `the cluster has no kind "${kind}" (yet): ${plural}`
  return `"${kind}" is ambiguous: write ${why.join(' or ')}`
}

async function catalogueOf(kubeconfig: KubeconfigOptions): Promise<Catalogue> {
  loadCluster(kubeconfig)
  const client = connectCluster({ ...kubeconfig, userAgent })
  try {
    return await discover(client, AbortSignal.timeout(15_000))
  } catch (error) {
    throw new Error(`the cluster at ${client.url} cannot be asked: ${(error as Error).message}`, {
      cause: error,
    })
  } finally {
    await client.close()
  }
}

/** Where Leases lie when the process runs as the service account; undefined without Leases. */
function leaseNamespaceOf(leases: WatchSettings['leases'], own: string): string | undefined {
  return leases ? (leases.namespace ?? own) : undefined
}

interface ServiceAccount {
  namespace: string
  name: string
}

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Takes `NAMESPACE/NAME` apart; without it, the name is kubeherald, in the pod's own namespace. Throws UsageError. */
function accountOf(text: string | undefined, env: NodeJS.ProcessEnv): ServiceAccount {
  const own = env['POD_NAMESPACE'] || 'kubeherald'
  const [namespace = '', name, ...rest] = (text ?? `${own}/kubeherald`).split('/')
  if (name === undefined || rest.length > 0)
    throw new UsageError(`--service-account ${text}: write NAMESPACE/NAME, such as kubeherald/kubeherald`)
  if (!LABEL.test(namespace))
    throw new UsageError(
      text === undefined
        ? `POD_NAMESPACE="${own}" is not a namespace: give --service-account NAMESPACE/NAME`
        : `--service-account ${text}: "${namespace}" is not a namespace: use a-z, 0-9 and "-", up to 63`,
    )
  if (name.length > 253 || !SUBDOMAIN.test(name))
    throw new UsageError(
      `--service-account ${text}: "${name}" is not a name of a service account: use a-z, 0-9, "-" and "."`,
    )
  return { namespace, name }
}

/** Gives the name back. Throws UsageError when objects cannot have it. */
function checkRoleName(name: string): string {
  if (name.length <= 253 && SUBDOMAIN.test(name)) return name
  throw new UsageError(`--name ${name}: is not a name of a role: use a-z, 0-9, "-" and "."`)
}
