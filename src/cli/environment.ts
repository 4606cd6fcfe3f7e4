import { accessSync, constants, statSync } from 'node:fs'
import type { Config } from '../config/schema.ts'
import {
  type ClusterAccess,
  findKubeconfig,
  type KubeconfigOptions,
  loadAccess,
} from '../watch/kubeconfig.ts'
import { fileFault } from './reading/file-fault.ts'
import { UsageError } from './usage-error.ts'

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
  if (found && found !== 'in-cluster') for (const file of found.files) requireReadable(file)
  try {
    return loadAccess(options)
  } catch (error) {
    throw new UsageError((error as Error).message)
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
