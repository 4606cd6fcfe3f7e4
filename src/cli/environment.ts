import { accessSync, constants, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Config } from '../config/schema.ts'
import { targetOf } from '../store/redis/redis-target.ts'
import {
  type ClusterAccess,
  existingFiles,
  findKubeconfig,
  type KubeconfigOptions,
  loadAccess,
} from '../watch/client/kubeconfig.ts'
import { fileFault } from './load-config/file-reads.ts'
import { UsageError } from './usage-error.ts'

/** The cluster's name: the configuration's, else the kubeconfig context's (made fit for a key), else `kubernetes`. */
export function clusterName({ cluster }: Pick<Config, 'cluster'>, context: () => string | undefined): string {
  if (cluster) return cluster
  const fit = context()
    ?.replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
  return fit || 'kubernetes'
}

/** How the user calls the program: in a clone through npm, elsewhere by its name. */
export function invocation(env: NodeJS.ProcessEnv): string {
  return env['npm_lifecycle_event'] === 'start' ? 'npm start --' : 'kubeherald'
}

/**
 * Where a process keeps what must survive it when it has no Redis of its own: `--state-dir`, else
 * `$XDG_STATE_HOME/kubeherald`, else `~/.local/state/kubeherald` (XDG Base Directory Specification).
 */
export function stateDir(option: string | undefined, env: NodeJS.ProcessEnv): string {
  if (option) return resolve(option)
  const base = env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state')
  return join(base, 'kubeherald')
}

/** Which cluster a configuration and the arguments mean. */
export function kubeconfigOptions(
  { kubeconfig, context: configured }: Config['kubernetes'],
  context: string | undefined,
): KubeconfigOptions {
  const chosen = context ?? configured
  return { env: process.env, ...(kubeconfig && { kubeconfig }), ...(chosen && { context: chosen }) }
}

/** Loads it; a kubeconfig that is missing or broken, or lacks the context, is the user's mistake. */
export function loadCluster(options: KubeconfigOptions): ClusterAccess {
  const found = findKubeconfig(options)
  if (found && found !== 'in-cluster') for (const file of existingFiles(found.files)) requireReadable(file)
  try {
    return loadAccess(options)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Returns the context, as `run` uses it for the cluster's name; the given one also where the kubeconfig is unreadable. */
export function contextName(
  { kubernetes }: Pick<Config, 'kubernetes'>,
  context: string | undefined,
): string | undefined {
  const options = kubeconfigOptions(kubernetes, context)
  try {
    return findKubeconfig(options) ? loadCluster(options).context : context
  } catch {
    return context
  }
}

function requireReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw new UsageError(`cannot read the kubeconfig ${file}: ${fileFault(error)}`)
  }
  if (statSync(file).isDirectory())
    throw new UsageError(`cannot read the kubeconfig ${file}: it is a directory`)
}

/** Returns the keys that a configuration lacks to share its work: processes meet in Redis under the cluster's name. */
export function missingToShare({ redis, cluster }: Pick<Config, 'redis' | 'cluster'>): string[] {
  return [
    ...(targetOf(redis, '') ? [] : ['redis: { url: "redis://HOST:6379" }']),
    ...(cluster ? [] : ['cluster: NAME']),
  ]
}
