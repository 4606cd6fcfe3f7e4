import { type ChildProcessByStdio, type SpawnOptions, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import type { User } from '@kubernetes/client-node/dist/config_types.js'
import { parse } from 'yaml'
import { cutText, redactSecrets } from '../../text/redact.ts'
import { ClusterError, NoCredentials } from './cluster-client.ts'

export interface KubeconfigOptions {
  /** A file, or several separated as in $KUBECONFIG. */
  kubeconfig?: string | undefined
  context?: string | undefined
  env: NodeJS.ProcessEnv
}

/** Where the cluster is, and how to introduce oneself to it. */
export interface ClusterAccess {
  server: string
  /** The context's name. */
  context: string
  /** Where the configuration came from, for messages. */
  origin: string
  proxyUrl?: string
  /** Namespace of the context. */
  namespace?: string
  /** Headers and certificates, read again: tokens and certificates rotate. */
  credentials(): Promise<Credentials>
}

export interface Credentials {
  headers: Record<string, string | string[]>
  tls: { ca?: string; cert?: string; key?: string; rejectUnauthorized?: boolean; servername?: string }
}

/** Which configuration would be used, or undefined when this machine knows of no cluster. */
export function findKubeconfig({
  kubeconfig,
  env,
}: KubeconfigOptions): { files: string[] } | 'in-cluster' | undefined {
  const named = kubeconfig ?? env['KUBECONFIG']
  if (named) return { files: named.split(delimiter).filter(Boolean) }
  const usual = join(env['HOME'] ?? homedir(), '.kube', 'config')
  if (existsSync(usual)) return { files: [usual] }
  return env['KUBERNETES_SERVICE_HOST'] && existsSync(SERVICE_ACCOUNT_TOKEN) ? 'in-cluster' : undefined
}

/** Returns why `findKubeconfig` finds nothing. In a pod without a token only the address of the API server is known. */
export function noKubeconfig(env: NodeJS.ProcessEnv): string {
  const here = env['KUBERNETES_SERVICE_HOST']
    ? 'this pod has no token of a service account'
    : 'this is not a pod'
  return `there is no kubeconfig ($KUBECONFIG, ~/.kube/config), and ${here}`
}

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'

/** Loads the configuration as kubectl would. Throws ClusterError in one line. */
export function loadAccess(options: KubeconfigOptions): ClusterAccess {
  const found = findKubeconfig(options)
  if (!found) throw new ClusterError(`no cluster: ${noKubeconfig(options.env)}`)
  const config = new KubeConfig()
  if (found === 'in-cluster') {
    config.loadFromCluster()
    return accessOf(config, SERVICE_ACCOUNT_TOKEN, 'the pod’s service account', [])
  }
  const files = existingFiles(found.files)
  loadFiles(config, files)
  boundPlugins(config)
  const context = options.context ?? config.getCurrentContext()
  config.setCurrentContext(context)
  if (!config.getCurrentCluster()) throw noContext(config, context, files)
  const user = userExtras(files, config.getCurrentUser()?.name)
  return accessOf(config, user.tokenFile, files.join(delimiter), user.groups)
}

/** Returns those of the files that exist, as kubectl does; all of them if none does. */
export function existingFiles(files: readonly string[]): readonly string[] {
  const there = files.filter((file) => existsSync(file))
  return there.length > 0 ? there : files
}

function loadFiles(config: KubeConfig, files: readonly string[]): void {
  for (const [i, file] of files.entries()) {
    try {
      // Nothing but comments: client-node refuses it, kubectl does not.
      if (parse(readFileSync(file, 'utf8')) === null) continue
      if (i === 0) config.loadFromFile(file)
      else {
        const more = new KubeConfig()
        more.loadFromFile(file)
        merge(config, more)
      }
    } catch (error) {
      throw new ClusterError(`cannot read the kubeconfig ${file}: ${(error as Error).message.split('\n')[0]}`)
    }
  }
}

/** Adds what the earlier files do not have, as kubectl does it: client-node refuses names that several files have. */
function merge(config: KubeConfig, more: KubeConfig): void {
  const isNew = (there: readonly { name: string }[]) => (it: { name: string }) =>
    !there.some(({ name }) => name === it.name)
  more.clusters = more.clusters.filter(isNew(config.clusters))
  more.users = more.users.filter(isNew(config.users))
  more.contexts = more.contexts.filter(isNew(config.contexts))
  config.mergeConfig(more, Boolean(config.getCurrentContext()))
}

function noContext(config: KubeConfig, context: string, files: readonly string[]): ClusterError {
  const names = config.getContexts().map(({ name }) => name)
  const known = names.length > 0 ? `; it has ${names.join(', ')}` : ''
  const missing = context ? `no context "${context}" with a cluster` : 'no current context'
  return new ClusterError(
    `the kubeconfig ${files.join(delimiter)} has ${missing}${known || ', and no context at all'}`,
  )
}

/** What client-node does not read of a user: `tokenFile` and the groups to impersonate. */
function userExtras(
  files: readonly string[],
  name: string | undefined,
): { tokenFile?: string; groups: string[] } {
  for (const file of files) {
    const content = parse(readFileSync(file, 'utf8')) as {
      users?: { name: string; user?: UserExtras }[]
    } | null
    const user = content?.users?.find((it) => it.name === name)?.user
    if (!user) continue
    const tokenFile = user.tokenFile && resolve(dirname(file), user.tokenFile)
    return { groups: user['as-groups'] ?? [], ...(tokenFile && { tokenFile }) }
  }
  return { groups: [] }
}

interface UserExtras {
  tokenFile?: string
  'as-groups'?: string[]
}

function accessOf(
  config: KubeConfig,
  tokenFile: string | undefined,
  origin: string,
  groups: string[],
): ClusterAccess {
  const cluster = config.getCurrentCluster()
  if (!cluster) throw new ClusterError(`${origin} names no cluster`)
  // client-node refuses plain http unless TLS verification is off; plain http has none.
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace
  const plain = cluster.server.startsWith('http://')
  if (plain)
    config.clusters = config.clusters.map((it) => (it === cluster ? { ...it, skipTLSVerify: true } : it))
  return {
    server: cluster.server.replace(/(?<!\/)\/+$/, ''),
    context: config.getCurrentContext(),
    origin,
    ...(cluster.proxyUrl && { proxyUrl: cluster.proxyUrl }),
    ...(namespace && { namespace }),
    async credentials() {
      const options: RequestOptions = {}
      await config.applyToHTTPSOptions(options).catch((error) => {
        throw noCredentials(error, config, origin)
      })
      const headers = headersOf(options)
      if (tokenFile) headers['authorization'] = `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`
      // The API server reads each as one group: it does not split at commas.
      if (groups.length > 0) headers['impersonate-group'] = groups
      return { headers, tls: plain ? {} : tlsOf(options) }
    },
  }
}

function noCredentials(error: unknown, config: KubeConfig, origin: string): NoCredentials {
  const cause = error instanceof Error ? error.message : String(error)
  const user = config.getCurrentUser()
  // client-node cannot renew these, and its message does not help.
  const isOpenId = user?.authProvider?.name === 'oidc'
  const [, command] = /^spawn (.+) ENOENT$/.exec(cause) ?? []
  if (command !== undefined)
    return new NoCredentials(
      `the command ${command}, from which the kubeconfig ${origin} gets credentials, is not installed here`,
    )
  return new NoCredentials(
    isOpenId
      ? `the OpenID Connect token of the kubeconfig ${origin} has expired and cannot be renewed (${cause}); sign in again, or use an exec plug-in such as kubelogin`
      : (pluginFailure(user, origin, cause) ?? cause),
  )
}

function headersOf(options: RequestOptions): Credentials['headers'] {
  const headers: Credentials['headers'] = {}
  for (const [name, value] of Object.entries(options.headers ?? {}))
    headers[name.toLowerCase()] = String(value).trim()
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`
  return headers
}

function tlsOf({ ca, cert, key, rejectUnauthorized, servername }: RequestOptions): Credentials['tls'] {
  return {
    ...(ca && { ca: String(ca) }),
    ...(cert && { cert: String(cert) }),
    ...(key && { key: String(key) }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    ...(servername && { servername }),
  }
}

/** Longer than a person needs to sign in in a browser. */
const MAX_RUN_MS = 180_000
const MAX_REASON = 500

/**
 * Starts an exec plug-in of a kubeconfig without input: where it asks for some, it fails instead of waiting. It is killed after
 * `maxRunMs`; its output then ends, too, also if a process that it started keeps it open.
 */
export function startPlugin(
  command: string,
  args: readonly string[] | undefined,
  options: SpawnOptions,
  maxRunMs = MAX_RUN_MS,
): ChildProcessByStdio<null, Readable, Readable> {
  const plugin = spawn(command, args ?? [], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const timer = setTimeout(() => {
    plugin.kill('SIGKILL')
    plugin.stdout.destroy()
    plugin.stderr.destroy()
  }, maxRunMs)
  plugin.once('close', () => clearTimeout(timer))
  return plugin
}

/** client-node starts exec plug-ins with an input that never ends, and waits for them without limit. */
function boundPlugins(config: KubeConfig): void {
  const { authenticators } = config as unknown as { authenticators: { execFn?: unknown }[] }
  for (const it of authenticators) {
    if (it.execFn)
      it.execFn = (command: string, args: string[] | undefined, options: SpawnOptions) =>
        startPlugin(command, args, options)
  }
}

/** Returns why the plug-in of a user gave no credentials; `reason` is what it wrote. Undefined if the user has none. */
function pluginFailure(user: User | null, origin: string, reason: string): string | undefined {
  const { command } = (user?.exec ?? {}) as { command?: string }
  if (command === undefined) return undefined
  const text = redactSecrets(cutText(reason, MAX_REASON)).trim().replace(/\s+/g, ' ')
  return `the exec plug-in ${command} of the kubeconfig ${origin} gave no credentials${text && `: ${text}`}`
}
